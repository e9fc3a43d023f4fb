"""The fail-open runner: one payload in, at most one JSON object out, exit 0, within the deadline, in any case.

A watchdog ends the process when its processor time or the last wall is over: SQLite, tantivy or a read from the client may hold
the main thread then. `os._exit` saves 1.6 ms of tearing down modules.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from subcog_hooks.core import light_json
from subcog_hooks.core.deadline import LAST_MS, Deadline
from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.core.paths import find_home
from subcog_hooks.hook.payload import session_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.translation import Translator
    from subcog_hooks.store.state import State


WORK_MS = 400.0  # processor time of the whole process: the longest prompts take 100, on a machine four times as slow 400
STARTUP_MS = 25.0  # The interpreter's start takes this time where the process's age cannot be read.
MAX_CUT_OFFS = 64 * 1024  # bytes of the file of cut-off calls
_WRITE_GRACE_S = 1.0  # A slow client gets this time to take an answer that has begun.


class Output:
    """The output of an event. The watchdog lets a begun write finish.

    trace: the event and the session for the file of cut-off calls, "" until the client has sent something; cut_offs: the path
    of that file, "" until it is known; end_ms, work_ms: the age and the processor time at which the process ends.
    """

    __slots__ = ("_changed", "_is_mine", "_prepared", "_writing", "_written", "cut_offs", "end_ms", "trace", "work_ms")

    def __init__(self, end_ms: float) -> None:
        self.trace = ""
        self.cut_offs = ""
        self.end_ms = end_ms
        self.work_ms = WORK_MS
        self._is_mine = False  # whether the main thread has taken the output
        self._prepared = b""
        self._writing = _thread.allocate_lock()
        self._written = _thread.allocate_lock()
        self._written.acquire()
        self._changed = _thread.allocate_lock()
        self._changed.acquire()

    def write(self, output: bytes) -> None:
        """Write the output. Raises OSError when nobody reads it, or when the deadline has passed."""
        if not self._take():
            raise TimeoutError("the deadline has passed")
        _write_stdout(output)
        self._written.release()

    def prepare(self, output: bytes) -> None:
        """Set the output for a process that ends before it has written any, b"" for none.

        Raises TimeoutError when the deadline has passed: the output then written tells nothing of later work.
        """
        self._prepared = output
        if self._writing.locked():
            raise TimeoutError("the deadline has passed")

    def end_at(self, age_ms: float, work_ms: float) -> None:
        """Let the watchdog end the process at another age, and at another processor time."""
        self.end_ms, self.work_ms = age_ms, work_ms
        if self._changed.locked():
            self._changed.release()

    def give_up_in_time(self, life: Deadline) -> bool:
        """Wait until the process is to end, then give up. Return whether no output had begun; a begun one is waited for."""
        while (left_ms := min(self.end_ms - life.spent_ms(), self.work_ms - time.process_time() * 1000.0)) > 0.0:
            self._changed.acquire(timeout=left_ms / 1000.0)
        if not self._writing.acquire(blocking=False):
            self._written.acquire(timeout=_WRITE_GRACE_S)
            return False
        _write_stdout(self._prepared)
        return True

    def give_up(self) -> None:
        """Write the prepared output, unless an output has begun. Raises OSError."""
        if self._take():
            _write_stdout(self._prepared)

    def finish(self) -> None:
        """Return where the main thread may end the process. A watchdog that has given up leaves its trace and ends it."""
        if not self._take() and not self._is_mine:
            self._writing.acquire()

    def _take(self) -> bool:
        """Take the output for the main thread, unless it is taken. Return whether it was free."""
        was_free = self._writing.acquire(blocking=False)
        self._is_mine = self._is_mine or was_free
        return was_free


def _write_stdout(output: bytes) -> None:
    while output:
        output = output[os.write(1, output) :]


def process_age_ms() -> float:
    """Return the age of this process in milliseconds, as Linux knows it: 12 on an idle machine, 80 on a busy one."""
    try:
        with open("/proc/self/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return min(LAST_MS, max(0.0, (time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000.0))
    except (OSError, ValueError, IndexError, AttributeError):
        return STARTUP_MS


def end_in_time(output: Output, age_ms: float) -> None:
    """End the process when its time is over, after a write that has begun. A cut-off event leaves a trace in a file.

    Nothing is imported: the main thread may hold the import lock.
    """
    try:
        if output.give_up_in_time(Deadline(LAST_MS, age_ms)) and output.trace:  # Else nothing is asked.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
            descriptor = os.open(output.cut_offs or find_home()[0].cut_offs, flags, 0o600)
            if os.fstat(descriptor).st_size < MAX_CUT_OFFS:
                os.write(descriptor, b"%d %s\n" % (time.time_ns() // 1_000_000, output.trace.encode()))
    except Exception:  # noqa: BLE001, S110 - the process ends anyway, and there is nowhere to report to
        pass
    finally:
        os._exit(0)


MIN_WAIT_MS = 5.0  # The hook waits this long for another writer, even where no time is left.

_left_open: list[State] = []  # Closing the last connection checkpoints and deletes the WAL: 2 ms each time.


def note_session_activity(payload: dict[str, object], home: Home, deadline: Deadline) -> None:
    """Note that the session is active, unless another process is writing. Raises StoreError."""
    session = session_of(payload)
    if not session or not os.path.exists(home.state_db):
        return
    from subcog_hooks.store.memory import now_ms
    from subcog_hooks.store.state import State

    state = State.open(home, max(MIN_WAIT_MS, deadline.left_ms()))
    _left_open.append(state)
    try:
        state.begin_briefly()
    except StoreBusy:
        return
    state.run("UPDATE sessions SET last_at = ? WHERE session = ?", (now_ms(), session))
    state.commit()


# Milliseconds of the whole process, by event: the age up to which it waits for others, and the processor time of its own work.
# A busy machine may take LAST_MS for that. Other events get no answer.
BUDGETS_MS = {
    "UserPromptSubmit": (200.0, WORK_MS),
    "SessionStart": (200.0, WORK_MS),
    "SubagentStart": (200.0, WORK_MS),
    "PreToolUse": (100.0, 300.0),
    "PostToolUseFailure": (100.0, WORK_MS),
    "Stop": (50.0, 200.0),
    "PreCompact": (50.0, 200.0),
    "SessionEnd": (50.0, 200.0),
}
TOOL_EVENT_ALIAS = "PreToolCall"  # its name in other descriptions of hooks
MAX_LOGGED_EVENT = 40  # characters
IN_COPILOT = "COPILOT_CLI"  # GitHub Copilot CLI sets it for its hooks.
OF_CURSOR = "cursor_version"  # Cursor puts it into each payload.
READING_MS = 250.0  # A process that starts late still gets this time to read the payload.
LATE_NOTE_MS = 1_000.0  # A note whose process starts late still gets this time.
FOREIGN_LAST_MS = 2_500.0  # Codex waits for 3 seconds.
_UNREAD = "hook"  # an event that is not known yet
MAX_PAYLOAD = 16 * 1024 * 1024  # bytes; a larger payload gets no answer.
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark; the codec utf-8-sig is a module that costs .2 ms.
_ASKS_FOR_HELP = frozenset(("-h", "--help"))
_HELP = b"""Usage: subcog hook

  Answer one hook event of Claude Code. The client runs this, not you.

  It reads a JSON payload on standard input and prints one JSON object or
  nothing. The exit code is always 0, errors go to the log.

  `subcog init` registers it with the client. Other clients give --client NAME.
  `subcog block TEXT` shows what it would answer to a prompt.
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
            from subcog_hooks.hook import detached  # It has a process of its own, too.

            detached.keep_late_answer()
            return
        age_ms = process_age_ms()
        output = Output(max(LAST_MS, age_ms + READING_MS))
        _thread.start_new_thread(end_in_time, (output, age_ms))
        try:
            _handle_payload(output, translator)
        except BaseException:
            output.give_up()
            raise
        finally:
            output.finish()
    except BaseException as error:  # noqa: BLE001 - a hook cannot hurt: not by an interrupt or a full memory either
        _log_error(error)
    finally:
        os._exit(0)


def _parse_payload(output: Output) -> dict[str, object] | None:
    """Return the payload, which names its event; None for a faulty one, which is logged."""
    raw = bytearray()
    while chunk := os.read(0, _READ_BYTES):
        output.trace = _UNREAD
        raw += chunk
        if len(raw) > MAX_PAYLOAD:
            _log_message(f"a payload of more than {MAX_PAYLOAD} bytes was refused")
            return None
    try:
        payload = light_json.loads(raw.removeprefix(_MARK).decode("utf-8", "replace"))
    except ValueError:
        if raw.strip():
            _log_message(f"a payload of {len(raw)} bytes is not JSON")
        return None
    if not isinstance(payload, dict) or not isinstance(payload.get("hook_event_name"), str):
        _log_message(f"a payload of {len(raw)} bytes names no event")
        return None
    if payload["hook_event_name"] == TOOL_EVENT_ALIAS:
        payload["hook_event_name"] = "PreToolUse"
    return payload


def _handle_payload(output: Output, translator: Translator | None) -> None:
    payload = _parse_payload(output)
    if payload is None:
        return
    event = str(payload["hook_event_name"])
    if translator is None and (OF_CURSOR in payload or (IN_COPILOT in os.environ and "transcript_path" not in payload)):
        return  # Both run Claude Code's hooks beside their own. Copilot drops an answer in this form.
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
    last_ms = LAST_MS if translator is None else FOREIGN_LAST_MS
    deadline = Deadline(wait_ms - age_ms, age_ms, work_ms - time.process_time() * 1000.0, last_ms - age_ms)
    session = session_of(payloads[-1])
    output.trace = f"{answered_event} {session if session.isprintable() else ''}"
    if ignored:
        _log_message(ignored)
    message = None
    if answered_event == "UserPromptSubmit":
        message = _answer_note(payloads[-1], translator, home, output, max(last_ms, age_ms + LATE_NOTE_MS))
        if message is None:
            return
    output.end_at(last_ms, work_ms)

    def answer(payload: dict[str, object], write: Callable[[bytes], None]) -> None:
        _answer_event(payload, home, write, deadline)

    if translator is not None:
        translator.answer(event, payloads, answer, output.prepare, output.write, _log_error)
    elif message:
        from subcog_hooks.hook.block import answer_with_message  # Few prompts would be notes.

        answer_with_message(lambda write: answer(payload, write), output.write, message)
    else:
        answer(payload, output.write)


def _answer_note(
    payload: dict[str, object], translator: Translator | None, home: Home, output: Output, end_ms: float
) -> str | None:
    """Store the note that a person may have typed, and stop the prompt. Return as `typed_note.answer_typed_note` does."""
    prompt = text_of(payload, "prompt")
    start = prompt.lstrip()[:9].lower()
    if not start.startswith(("remember:", "remember\uff1a", "# ")) and not (start[:1] == "<" and "remember" in prompt.lower()):
        return ""
    output.end_at(end_ms, float("inf"))
    from subcog_hooks.hook import typed_note  # Few prompts are notes.

    is_attended = typed_note.is_attended(payload) if translator is None else translator.is_attended(payload)
    return typed_note.answer_typed_note(payload, home, output.write, output.prepare, _log_message) if is_attended else ""


def _answer_event(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer an event. Each loads its own modules alone."""
    event = payload["hook_event_name"]
    if event == "UserPromptSubmit":
        from subcog_hooks.hook.prompt import respond
    elif event == "PreToolUse":
        from subcog_hooks.hook.tool import respond
    elif event == "PostToolUseFailure":
        from subcog_hooks.hook.failed_call import respond
    elif event == "SessionStart":
        from subcog_hooks.hook.session import respond
    elif event == "SubagentStart":
        from subcog_hooks.hook.session import respond_to_subagent as respond
    else:
        note_session_activity(payload, home, deadline)
        return
    from subcog_hooks.hook.call import with_sound_state

    with_sound_state(home, lambda: respond(payload, home, write, deadline))


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
