// Gives OpenCode memories from subcog. Written by `subcog init --for opencode`, removed by `subcog uninstall --for opencode`.
import { spawn } from "node:child_process"

const COMMAND = []
const LIMIT_MS = 1500
const NOTE_LIMIT_MS = 3000 // for a note that the person types, which the hook stores
const NOTE = /^\s*(remember:|# )/i

let count = 0
const children = new Set() // sessions of subagents, whose prompts nobody typed

// Resolves to the hook's text for an event, "" for none; a stored note has a reply. It never throws: that would end the prompt.
const ask = (event, session_id, cwd, fields) =>
  new Promise((resolve) => {
    const nothing = { text: "", reply: "" }
    try {
      const hook = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      const late = setTimeout(() => {
        hook.kill("SIGKILL")
        resolve(nothing)
      }, NOTE.test(fields.prompt ?? "") ? NOTE_LIMIT_MS : LIMIT_MS)
      const chunks = []
      hook.stdout.on("data", (chunk) => chunks.push(chunk))
      hook.stdin.on("error", () => {})
      hook.on("error", () => {
        clearTimeout(late)
        resolve(nothing)
      })
      hook.on("close", () => {
        clearTimeout(late)
        try {
          const answer = JSON.parse(Buffer.concat(chunks).toString("utf8"))
          const [text, reply] = [answer.hookSpecificOutput?.additionalContext, answer.decision === "block" && answer.reason]
          resolve({ text: typeof text === "string" ? text : "", reply: typeof reply === "string" ? reply : "" })
        } catch {
          resolve(nothing)
        }
      })
      hook.stdin.end(JSON.stringify({ hook_event_name: event, session_id, cwd, ...fields }))
    } catch {
      resolve(nothing)
    }
  })

// A plugin cannot stop a prompt. The person sees the reply at once, and the model is told to leave it at that.
const showReply = (client, reply) => {
  client?.tui?.showToast({ body: { message: reply, variant: "info" } })?.catch?.(() => {})
  return `subcog has handled this message. Do nothing else: answer with these lines alone.\n${reply}`
}

export const Subcog = async (context) => ({
  "chat.message": async (input, output) => {
    try {
      if (children.has(input.sessionID)) return
      const typed = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = typed.map((part) => part.text).join("\n")
      const { text: found, reply } = await ask("chat.message", input.sessionID, context.directory, { prompt })
      const text = reply ? showReply(context.client, reply) : found
      if (!text) return
      const messageID = output.message.id
      const last = output.parts[output.parts.length - 1].id
      const id = `prt_${last.slice(4, 16)}zz${String(count++).padStart(12, "0")}` // parts are sorted by id: after the prompt
      output.parts.push({ id, sessionID: input.sessionID, messageID, type: "text", text, synthetic: true })
    } catch {}
  },
  "tool.execute.after": async (input, output) => {
    try {
      const error = output.metadata?.exit ? output.output : undefined // of a command that failed
      const fields = { tool_name: input.tool, tool_input: input.args, error }
      const { text } = await ask("tool.execute.after", input.sessionID, context.directory, fields)
      if (text) output.output += `\n${text}`
    } catch {}
  },
  event: async ({ event }) => {
    try {
      const { info, sessionID } = event.properties
      if (event.type === "session.created" && info.parentID) children.add(info.id)
      if (event.type === "session.compacted") await ask("session.compacted", sessionID, context.directory, {})
    } catch {}
  },
})
