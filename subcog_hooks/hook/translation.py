"""Translate a client's payloads into Claude Code's, and our answers into the client's form.

The contracts of clients that are tried were verified with the real ones, offline: Codex CLI 0.169.0, Gemini CLI 0.61.0, Qwen
Code 0.24.4, OpenCode 1.18.33 and GitHub Copilot CLI 1.0.102.
"""

from __future__ import annotations

import os

from subcog_hooks.clients.description import COMPACTED, NESTED, TO_BE_COMPACTED, find_client
from subcog_hooks.core import light_json
from subcog_hooks.core.paths import IN_AN_AGENT
from subcog_hooks.core.records import record
from subcog_hooks.hook.payload import (
    COMPACTING,
    FAILURE_EVENT,
    FIRST,
    FORGET,
    MAX_BYTES,
    OF_CLIENT,
    PROMPT_EVENT,
    RESUMED,
    START_EVENT,
    START_KIND,
    TOOL_EVENT,
    WITHOUT_CALLS,
    input_of,
    session_of,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from subcog_hooks.clients.description import Contract

    Payload = Mapping[str, object]

OPTION = "--client"
_KINDS = {COMPACTED: FORGET, TO_BE_COMPACTED: COMPACTING}
MAX_PATCHED = 3  # files of a patch that are answered
_HOOK_CONTEXT = "<hook_context>"
_OWN_BLOCKS = (  # the beginning of each, and its end
    (_HOOK_CONTEXT, "</hook_context>"),
    ("<subcog-memories", "</subcog-memories>"),
    ("[subcog-memories", "[/subcog-memories]"),
)
_EXIT_CODES = (  # the field of a call's result, the field of the output in it, and the words before the exit code
    ("tool_response", "llmContent", "\nExit Code: "),
    ("tool_result", "text_result_for_llm", " completed with exit code "),
)
_FILE_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")  # of a patch


@record
class Translator:
    """The translation between a client and our hook."""

    name: str
    contract: Contract

    def read(self, payload: Payload) -> list[dict[str, object]]:
        """Return the payloads of Claude Code that a payload means, in the order of their answers; [] for none."""
        event = self.contract.events.get(text_of(payload, "hook_event_name"), "")
        shared: dict[str, object] = {**payload, "hook_event_name": event, OF_CLIENT: self.name}
        if session := session_of(payload) or session_of({"session_id": payload.get("conversation_id")}):
            shared["session_id"] = f"{self.name}:{session}"  # Ids of two clients may be equal.
        roots = payload.get("workspace_roots")
        if "cwd" not in payload and isinstance(roots, list) and roots:
            shared["cwd"] = roots[0]
        if event in _KINDS and self.contract.announces_all and payload.get("trigger") == "auto":
            return []
        if kind := _KINDS.get(event):
            return [{**shared, "hook_event_name": START_EVENT, START_KIND: kind}]
        if event == PROMPT_EVENT:
            return self._read_prompt(shared)
        is_resumed = event == START_EVENT and payload.get("source", "resume") == "resume"  # Cursor names no source.
        if is_resumed and (self.contract.keeps_start or self.contract.drops_calls):
            return [{**shared, START_KIND: WITHOUT_CALLS if self.contract.drops_calls else RESUMED}]
        if event == START_EVENT and self.contract.drops_calls:
            return []  # The first prompt begins the session.
        if not event:
            return []
        return self._read_call(shared) if "tool_name" in payload else [shared]

    def is_attended(self, payload: Payload) -> bool:
        """Return whether a person has typed a prompt, and will see why it is stopped."""
        sees_person = self.contract.sees_person
        return sees_person is not None and not os.environ.get(IN_AN_AGENT) and sees_person(payload)

    def _read_prompt(self, payload: dict[str, object]) -> list[dict[str, object]]:
        whole = text_of(payload, "prompt")
        prompt = whole
        for begin, end in _OWN_BLOCKS:  # A client sends ours back.
            kept, position = [], 0
            while (at := prompt.find(begin, position)) >= 0 and (stop := prompt.find(end, at)) >= 0:
                kept.append(prompt[position:at])
                position = stop + len(end)
                while prompt[position : position + 1].isspace():
                    position += 1
            prompt = "".join((*kept, prompt[position:]))
        if not prompt.strip():
            return []
        # Gemini drops such prompts from a session that it resumes, and our texts with them.
        kinds = [FORGET] if whole.startswith(_HOOK_CONTEXT) else []
        kinds += [FIRST] if self.contract.begins_at_prompt else []
        start = {**payload, "hook_event_name": START_EVENT, "source": "startup"}
        return [*({**start, START_KIND: kind} for kind in kinds), {**payload, "prompt": prompt}]

    def _read_call(self, payload: dict[str, object]) -> list[dict[str, object]]:
        tool, tool_input = text_of(payload, "tool_name"), input_of(payload)
        response = payload.get("tool_response")
        if payload["hook_event_name"] == TOOL_EVENT and isinstance(response, dict) and response.get("error"):
            return []  # The client drops a text beside a failed tool.
        if tool == "apply_patch":
            return [
                {**payload, "tool_name": "Edit", "tool_input": edit} for edit in patched_files(text_of(tool_input, "command"))
            ]
        ours = {self.contract.fields.get(name, name): value for name, value in tool_input.items()}
        call = {**payload, "tool_name": self.contract.tools.get(tool, tool), "tool_input": ours}
        error = text_of(payload, "error") or _read_failure(payload)
        failed = [{**call, "hook_event_name": FAILURE_EVENT, "error": error}] if error else []
        return failed if call["hook_event_name"] == FAILURE_EVENT else [call, *failed]

    def write(self, event: str, text: str) -> bytes:
        """Return the output that hands a text to the model. event: the client's. Raises OSError for a text too long."""
        if self.contract.escapes:
            import re  # 4 ms, and few clients escape

            text = re.sub(r"\[(?=\s*/?\s*subcog)", "(", text, flags=re.IGNORECASE)  # No note may end the block.
            text = re.sub(r"<(/?)subcog-memories([^<>]*)>", r"[\1subcog-memories\2]", text)
        if len(text.encode()) > self.contract.max_bytes:
            raise OSError(f"{self.name} cuts a text of more than {self.contract.max_bytes} bytes")
        nested: light_json.Json = {"hookEventName": event, "additionalContext": text}
        output = {"hookSpecificOutput": nested} if self.contract.form == NESTED else {self.contract.form: text}
        return light_json.dumps(output).encode("ascii") + b"\n"

    def answer(
        self,
        event: str,
        payloads: Sequence[Payload],
        answer: Callable[[dict[str, object], Callable[[bytes], None]], None],
        prepare: Callable[[bytes], None],
        write: Callable[[bytes], None],
        log_error: Callable[[BaseException], None],
    ) -> None:
        """Write the texts that answer all payloads in one output, in the client's form.

        event: the client's; answer: answers one payload; prepare: sets the output of a process that ends before.
        """
        texts: list[str] = []
        output = b""

        def add_text(answered: bytes) -> None:
            nonlocal output
            whole = light_json.loads(answered.decode("ascii"))
            fields = whole.get("hookSpecificOutput") if isinstance(whole, dict) else None
            fields = fields if isinstance(fields, dict) else {}
            text = fields.get("additionalContext")
            if "permissionDecision" in fields and self.contract.heeds_permission:
                decision = {name: fields[name] for name in ("permissionDecision", "permissionDecisionReason")}
                nested: light_json.Json = {"hookSpecificOutput": {"hookEventName": event, **decision}}
                output = light_json.dumps(nested if self.contract.form == NESTED else decision).encode("ascii") + b"\n"
            elif isinstance(text, str):
                rendered = self.write(event, "\n".join([*texts, text]))
                prepare(rendered)  # It raises where the text would come too late: then it does not count as given.
                texts.append(text)
                output = rendered

        for payload in payloads:
            room = self.contract.max_bytes - sum(len(text.encode()) + 1 for text in texts)
            try:
                answer({**payload, MAX_BYTES: room}, add_text)
            except OSError as error:  # The next payload may have a text that fits.
                log_error(error)
        if output:
            write(output)


def _read_failure(payload: Payload) -> str:
    """Return the output of a command that failed, "" for another: Gemini and Copilot say the exit code in its last lines."""
    for result, member, mark in _EXIT_CODES:
        response = payload.get(result)
        output = text_of(response, member) if isinstance(response, dict) else ""
        code = output.rpartition(mark)[2] if mark in output else ""
        if code[:1].isdigit() and not code.startswith("0"):
            return output
    return ""


def patched_files(patch: str) -> list[dict[str, str]]:
    """Return the first files of a patch as the inputs of Claude Code's Edit: path, removed and added lines.

    >>> patched_files("*** Begin Patch\\n*** Update File: a.py\\n@@\\n-old\\n+new\\n*** End Patch")
    [{'file_path': 'a.py', 'old_string': 'old', 'new_string': 'new'}]
    """
    files: list[tuple[str, dict[str, list[str]]]] = []  # names, and lines by their sign
    for line in patch.split("\n"):
        name = next((line.removeprefix(start).strip() for start in _FILE_LINES if line.startswith(start)), "")
        if name:
            files.append((name, {"-": [], "+": []}))
        elif files and line[:1] in ("-", "+"):
            files[-1][1][line[0]].append(line[1:])
    return [
        {"file_path": name, "old_string": "\n".join(lines["-"]), "new_string": "\n".join(lines["+"])}
        for name, lines in files[:MAX_PATCHED]
    ]


def find_translator(arguments: Sequence[str]) -> Translator | None:
    """Return the translator for the client that `--client NAME` names, None without it. Raises ValueError for another name."""
    if OPTION not in arguments:
        return None
    name = "".join(arguments[arguments.index(OPTION) + 1 :][:1])
    client = find_client(name)
    if client is None or client.contract is None:
        raise ValueError(f"no client {name!r} has hooks")
    return Translator(client.name, client.contract)
