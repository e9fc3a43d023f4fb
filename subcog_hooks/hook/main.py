"""The fail-open runner: one payload in, at most one JSON object out, exit 0, within the deadline, in any case.

`os._exit` saves 1.6 ms of tearing down modules.
"""

from __future__ import annotations

import _thread
import os
import sys

from subcog_hooks.core import light_json
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import find_home
from subcog_hooks.hook.payload import MAX_BYTES
from subcog_hooks.hook.watchdog import MAX_WORK_MS, Output, end_in_time, process_age_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.translation import Translator

# Milliseconds of the whole process, by event: the limit for waits, and the limit for own work, which a busy machine may slow
# down. Other events get no answer.
BUDGETS_MS = {
    "UserPromptSubmit": (200.0, 1_000.0),
    "SessionStart": (200.0, 1_000.0),
    "PreToolUse": (100.0, 500.0),
    "PostToolUseFailure": (100.0, 500.0),
    "Stop": (50.0, 500.0),
    "PreCompact": (50.0, 500.0),
    "SessionEnd": (50.0, 500.0),
}
TOOL_EVENT_ALIAS = "PreToolCall"  # its name in other descriptions of hooks
MAX_LOGGED_EVENT = 40  # characters
IN_COPILOT = "COPILOT_CLI"  # GitHub Copilot CLI sets it for its hooks.
READING_MS = 250.0  # A process that starts late still gets this time to read the payload.
NOTE_MS = 3_000.0  # The person waits for a typed note this long, and the client for 5 seconds.
FOREIGN_NOTE_MS = 2_500.0  # Codex waits for 3 seconds.
MAX_PAYLOAD = 16 * 1024 * 1024  # bytes; a larger payload gets no answer.
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark; the codec utf-8-sig is a module that costs .2 ms.
_ASKS_FOR_HELP = frozenset(("-h", "--help"))
_HELP = b"""Usage: subcog hook

  Answer one hook event of Claude Code. The client runs this, not you.

  It reads a JSON payload on standard input and prints one JSON object or
  nothing. The exit code is always 0, errors go to the log.

  `subcog init` registers it with the client. Other clients give --client NAME.
  `subcog doctor --prompt TEXT` shows what it would answer to a prompt.
"""
_READ_BYTES = 1 << 16

_home: list[Home] = []  # The payload's folder selects the home.


def main(translator: Translator | None = None) -> None:
    """Run the hook on this process's streams. Never returns and never raises: the process ends with exit code 0.

    translator: for another client than Claude Code.
    """
    try:
        if os.isatty(0) or not _ASKS_FOR_HELP.isdisjoint(sys.argv):
            os.write(2, _HELP)  # Standard output belongs to the client.
            return
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # A library that panics over a damaged file writes there.
        if "--second-look" in sys.argv[2:]:
            from subcog_hooks.hook import second_look  # It has a process of its own.

            second_look.main()
            return
        if "--late-answer" in sys.argv[2:]:
            from subcog_hooks.hook import late_answer  # It has a process of its own, too.

            late_answer.main()
            return
        age_ms = process_age_ms()
        output = Output(max(MAX_WORK_MS, age_ms + READING_MS))
        _thread.start_new_thread(end_in_time, (output, age_ms))
        try:
            _handle_payload(output, translator)
        except BaseException:
            output.give_up()
            raise
    except BaseException as error:  # noqa: BLE001 - a hook cannot hurt: not by an interrupt or a full memory either
        _log_error(error)
    finally:
        os._exit(0)


def _may_be_note(prompt: object) -> bool:
    return isinstance(prompt, str) and prompt.lstrip()[:9].lower().startswith(("remember:", "# "))


def _parse_payload() -> tuple[dict[str, object], str] | None:
    """Return the payload and its event, None for a faulty one, which is logged."""
    raw = _read_payload()
    if raw is None:
        _log_message(f"a payload of more than {MAX_PAYLOAD} bytes was refused")
        return None
    try:
        payload = light_json.loads(raw.removeprefix(_MARK).decode("utf-8", "replace"))
    except ValueError:
        if raw.strip():
            _log_message(f"a payload of {len(raw)} bytes is not JSON")
        return None
    event = payload.get("hook_event_name") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(event, str):
        _log_message(f"a payload of {len(raw)} bytes names no event")
        return None
    if event == TOOL_EVENT_ALIAS:
        payload["hook_event_name"] = event = "PreToolUse"
    return payload, event


def _handle_payload(output: Output, translator: Translator | None) -> None:
    parsed = _parse_payload()
    if parsed is None:
        return
    payload, event = parsed
    if translator is None and IN_COPILOT in os.environ and "transcript_path" not in payload:
        return  # Copilot runs the hooks of a project's .claude/settings.json, too, and drops an answer in this form.
    payloads = [payload] if translator is None else translator.read(payload)
    if not payloads or (answered_event := str(payloads[-1]["hook_event_name"])) not in BUDGETS_MS:
        if translator is None:
            _log_message(f"nothing answers the event {event[:MAX_LOGGED_EVENT]!r}")
        return
    age_ms = process_age_ms()
    folder = payloads[-1].get("cwd")
    home, ignored = find_home(folder if isinstance(folder, str) and os.path.isabs(folder) else "")
    _home.append(home)
    output.cut_offs = home.cut_offs
    home.pause_background_jobs()
    wait_ms, work_ms = BUDGETS_MS[answered_event]
    deadline = Deadline(wait_ms - age_ms, age_ms, work_ms - age_ms)
    output.event = answered_event
    if ignored:
        _log_message(ignored)
    if answered_event == "UserPromptSubmit" and _may_be_note(payloads[-1].get("prompt")):
        note_ms = NOTE_MS if translator is None else FOREIGN_NOTE_MS
        output.end_at(max(note_ms, age_ms + MAX_WORK_MS))  # A late note is answered, too.
        if _answer_note(payloads[-1], translator, home, output):
            return
    output.end_at(work_ms)
    if translator is None:
        _answer_event(event, payload, home, output.write, deadline)
    else:
        _answer_client(translator, event, payloads, home, output, deadline)


def _answer_note(payload: dict[str, object], translator: Translator | None, home: Home, output: Output) -> bool:
    """Store the note that a person has typed, and stop the prompt. Return whether the prompt is a note."""
    from subcog_hooks.hook import typed_note  # Few prompts are notes.

    is_attended = typed_note.is_attended(payload) if translator is None else translator.is_attended(payload)
    return is_attended and typed_note.answer_typed_note(payload, home, output.write, output.prepare, _log_message)


def _answer_client(
    translator: Translator, event: str, payloads: Sequence[dict[str, object]], home: Home, output: Output, deadline: Deadline
) -> None:
    """Answer another client's event: the texts of all its payloads in one output, in the client's form."""
    texts: list[str] = []
    outputs = [b""]

    def add_text(answer: bytes) -> None:
        whole = light_json.loads(answer.decode("ascii"))
        fields = whole.get("hookSpecificOutput") if isinstance(whole, dict) else None
        fields = fields if isinstance(fields, dict) else {}
        text = fields.get("additionalContext")
        if "permissionDecision" in fields:
            outputs.append(translator.write_permission(event, str(fields["permissionDecisionReason"])))
        elif isinstance(text, str):
            receipt = whole.get("systemMessage") if isinstance(whole, dict) and event == "UserPromptSubmit" else None
            rendered = translator.write(event, "\n".join([*texts, text]), receipt if isinstance(receipt, str) else "")
            output.prepare(rendered)  # It raises where the text would come too late: then it does not count as given.
            texts.append(text)
            outputs.append(rendered)

    for payload in payloads:
        room = translator.contract.max_bytes - sum(len(text.encode()) + 1 for text in texts)
        try:
            _answer_event(str(payload["hook_event_name"]), {**payload, MAX_BYTES: room}, home, add_text, deadline)
        except OSError as error:  # The next payload may have a text that fits.
            _log_error(error)
    if outputs[-1]:
        output.write(outputs[-1])


def _answer_event(
    event: str, payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline
) -> None:
    """Answer an event. Each loads its own modules alone."""
    if event == "UserPromptSubmit":
        from subcog_hooks.hook import prompt

        prompt.respond(payload, home, write, deadline)
    elif event == "PreToolUse":
        from subcog_hooks.hook import tool

        tool.respond(payload, home, write, deadline)
    elif event == "PostToolUseFailure":
        from subcog_hooks.hook import tool_failure

        tool_failure.respond(payload, home, write, deadline)
    elif event == "SessionStart":
        from subcog_hooks.hook import session

        session.respond(payload, home, write, deadline)
    else:
        from subcog_hooks.hook import end_events

        end_events.note_session_activity(payload, home, deadline)


def _read_payload() -> bytes | None:
    """Return all of stdin, None when it is larger than a payload may be."""
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(0, _READ_BYTES):
        size += len(chunk)
        if size > MAX_PAYLOAD:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _log_error(error: BaseException) -> None:
    try:
        position = ""
        trace = error.__traceback__
        while trace is not None:
            position = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
            trace = trace.tb_next
        _log_message(f"{type(error).__name__} at {position}: {error}")
    except BaseException:  # noqa: BLE001, S110 - nothing is left to report to
        pass


def _log_message(message: str) -> None:
    from subcog_hooks.core import log  # Most calls log nothing.

    log.write_line(_home[0] if _home else find_home()[0], message)
