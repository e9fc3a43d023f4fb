"""OpenCode's plugin in Node, with a program in place of the hook."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.cli.agents import other_agents
from tests.e2e.machine import posix, write_program

NODE = shutil.which("node")

pytestmark = [posix, pytest.mark.skipif(NODE is None, reason="Node is not installed")]

DRIVE = """
import { Subcog } from "./subcog.mjs"
const hooks = await Subcog({ directory: "/project" })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "child", parentID: "s" } } } })
const results = []
for (const sessionID of ["s", "s", "child"]) {
  const parts = [{ type: "text", text: "typed" }, { id: "prt_0123456789abZ", type: "text", text: "x", synthetic: true }]
  const output = { message: { id: "msg_1" }, parts }
  await hooks["chat.message"]({ sessionID }, output)
  results.push(output.parts.slice(2))
}
const tool = { output: "done", metadata: { exit: 3 } }
await hooks["tool.execute.after"]({ tool: "edit", sessionID: "s", args: { filePath: "a" } }, tool)
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
await hooks["chat.message"]({}, {})
console.log(JSON.stringify({ results, tool: tool.output }))
"""


def run_plugin(folder: Path, hook: str) -> dict[str, Any]:
    """Run OpenCode's plugin in Node with a program as its hook, and return its texts."""
    program = write_program(folder / "bin" / "subcog", hook)
    text = other_agents.add_hook(other_agents.CLIENTS["opencode"], ["/x/subcog"], None)
    command = json.dumps([str(program), "hook", "--client", "opencode"])
    (folder / "subcog.mjs").write_text(other_agents.PLUGIN_COMMAND.sub(lambda _: f"const COMMAND = {command}", text))
    (folder / "drive.mjs").write_text(DRIVE)
    assert NODE is not None
    done = subprocess.run([NODE, "drive.mjs"], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_opencode_plugin_hands_over_the_hooks_texts(tmp_path: Path) -> None:
    log = tmp_path / "payloads.jsonl"
    said = '{"hookSpecificOutput": {"additionalContext": "a note"}}'
    answer = run_plugin(tmp_path, f"cat >>'{log}'; echo >>'{log}'; echo '{said}'")
    first, second, child = answer["results"]
    part = {"sessionID": "s", "messageID": "msg_1", "type": "text", "text": "a note", "synthetic": True}
    assert [{**entry, "id": ""} for entry in (*first, *second)] == [{**part, "id": ""}] * 2
    assert "prt_0123456789abZ" < first[0]["id"] < second[0]["id"]
    assert (child, answer["tool"]) == ([], "done\na note")
    payloads = [json.loads(line) for line in log.read_text().splitlines()]
    prompt = {"hook_event_name": "chat.message", "session_id": "s", "cwd": "/project", "prompt": "typed"}
    tool = {"tool_name": "edit", "tool_input": {"filePath": "a"}, "error": "done"}
    assert payloads == [
        prompt,
        prompt,
        {"hook_event_name": "tool.execute.after", "session_id": "s", "cwd": "/project", **tool},
        {"hook_event_name": "session.compacted", "session_id": "s", "cwd": "/project"},
    ]


def test_the_opencode_plugin_answers_a_typed_note(tmp_path: Path) -> None:
    answer = run_plugin(tmp_path, """cat >/dev/null; echo '{"decision": "block", "reason": "remembered as 1"}'""")
    ((part,), *_) = answer["results"]
    assert part["text"].endswith("alone.\nremembered as 1")


@pytest.mark.parametrize("hook", ["exit 3", "echo broken", "echo '{}'", "exec sleep 5", "echo null", "kill -9 $$"])
def test_the_opencode_plugin_survives_a_bad_hook(tmp_path: Path, hook: str) -> None:
    assert run_plugin(tmp_path, hook) == {"results": [[], [], []], "tool": "done"}
