"""The fail-open runner: one payload in, at most one JSON object out, exit 0, within the deadline, in any case.

A watchdog thread ends the process when the time for its own work is over: SQLite, tantivy or a read from the client may hold
the main thread then. `os._exit` saves 1.6 ms of tearing down modules.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from subcog_hooks.core import light_json
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.homes import find_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.core.paths import Home

# Milliseconds of the whole process, by event: the limit for waits, and the limit for own work, which a busy machine may slow
# down (DESIGN sections 2 and 10). Other events get no answer.
BUDGETS_MS = {
    "UserPromptSubmit": (200.0, 1_000.0),
    "SessionStart": (200.0, 1_000.0),
    "PreToolUse": (100.0, 500.0),
    "Stop": (50.0, 500.0),
    "PreCompact": (50.0, 500.0),
    "SessionEnd": (50.0, 500.0),
}
MAX_WORK_MS = 1_000.0  # the longest limit for own work
READING_MS = 250.0  # A process that starts late still gets this time to read the payload.
NOTE_MS = 3_000.0  # The person waits for a typed note this long, and the client for 5 seconds.
MAX_CUT_OFFS = 64 * 1024  # bytes of the file of cut-off calls
STARTUP_MS = 25.0  # The interpreter's start takes this time where the process's age cannot be read.
MAX_PAYLOAD = 16 * 1024 * 1024  # bytes; a larger payload gets no answer.
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark; the codec utf-8-sig is a module that costs .2 ms.
_ASKS_FOR_HELP = frozenset(("-h", "--help"))
_HELP = b"""Usage: subcog hook

  Answer one hook event of Claude Code. The client runs this, not you.

  It reads a JSON payload on standard input and prints one JSON object or
  nothing. The exit code is always 0, errors go to the log.

  `subcog init` registers it with the client.
  `subcog doctor --prompt TEXT` shows what it would answer to a prompt.
"""
_READ_BYTES = 1 << 16
_WRITE_GRACE_S = 1.0  # A slow client gets this time to take an answer that has begun.

_home: list[Home] = []  # The payload's folder selects the home.


class Output:
    """The output of an event. The watchdog lets a begun write finish.

    event: its name, "" until it is known; end_ms: the age at which the watchdog ends the process.
    """

    __slots__ = ("_changed", "_prepared", "_writing", "_written", "end_ms", "event")

    def __init__(self, end_ms: float) -> None:
        self.event = ""
        self.end_ms = end_ms
        self._prepared = b""
        self._writing = _thread.allocate_lock()
        self._written = _thread.allocate_lock()
        self._written.acquire()
        self._changed = _thread.allocate_lock()
        self._changed.acquire()

    def write(self, output: bytes) -> None:
        """Write the output. Raises OSError when nobody reads it, or when the deadline has passed."""
        if not self._writing.acquire(blocking=False):
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

    def end_at(self, age_ms: float) -> None:
        """Let the watchdog end the process at another age."""
        self.end_ms = age_ms
        if self._changed.locked():
            self._changed.release()

    def wait_for_end(self, life: Deadline) -> None:
        """Let the watchdog wait until the process is to end."""
        while (left_ms := self.end_ms - life.spent_ms()) > 0.0:
            self._changed.acquire(timeout=left_ms / 1000.0)

    def wait_until_written(self, seconds: float) -> None:
        self._written.acquire(timeout=seconds)

    def give_up(self) -> bool:
        """Write the prepared output, unless an output has begun. Return whether none had. Raises OSError."""
        if not self._writing.acquire(blocking=False):
            return False
        _write_stdout(self._prepared)
        return True


def _write_stdout(output: bytes) -> None:
    while output:
        output = output[os.write(1, output) :]


def main() -> None:
    """Run the hook on this process's streams. Never returns and never raises: the process ends with exit code 0."""
    try:
        if os.isatty(0) or not _ASKS_FOR_HELP.isdisjoint(sys.argv):
            os.write(2, _HELP)  # Standard output belongs to the client.
            return
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # A library that panics over a damaged file writes there.
        if "--second-look" in sys.argv[2:]:
            from subcog_hooks.hook import second_look  # It has a process of its own.

            second_look.main()
            return
        age_ms = _age_ms()
        output = Output(max(MAX_WORK_MS, age_ms + READING_MS))
        _thread.start_new_thread(_end_in_time, (output, age_ms))
        try:
            _handle_payload(output)
        except BaseException:
            output.give_up()
            raise
    except BaseException as error:  # noqa: BLE001 - a hook cannot hurt: not by an interrupt or a full memory either
        _log_error(error)
    finally:
        os._exit(0)


def _age_ms() -> float:
    """Return the age of this process in milliseconds, as Linux knows it: 12 on an idle machine, 80 on a busy one."""
    try:
        with open("/proc/self/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return min(MAX_WORK_MS, max(0.0, (time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000.0))
    except (OSError, ValueError, IndexError, AttributeError):
        return STARTUP_MS


def _end_in_time(output: Output, age_ms: float) -> None:
    """End the process when its time is over, after a write that has begun. A cut-off event leaves a trace."""
    output.wait_for_end(Deadline(MAX_WORK_MS, age_ms))
    try:
        if not output.give_up():
            output.wait_until_written(_WRITE_GRACE_S)
        elif output.event:  # Without an event the client has asked for nothing.
            _note_cut_off(output.event)
    finally:
        os._exit(0)


def _may_be_note(prompt: object) -> bool:
    return isinstance(prompt, str) and prompt.lstrip()[:9].lower().startswith(("remember:", "# "))


def _note_cut_off(event: str) -> None:
    """Append the time and the event to the file of cut-offs. No import: the main thread may hold the import lock."""
    try:
        path = _home[0].cut_offs
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        if os.fstat(descriptor).st_size < MAX_CUT_OFFS:
            os.write(descriptor, b"%d %s\n" % (time.time_ns() // 1_000_000, event.encode()))
    except Exception:  # noqa: BLE001, S110 - the process ends anyway, and there is nowhere to report to
        pass


def _handle_payload(output: Output) -> None:
    raw = _read_payload()
    if raw is None:
        _log_message(f"a payload of more than {MAX_PAYLOAD} bytes was refused")
        return
    try:
        payload = light_json.loads(raw.removeprefix(_MARK).decode("utf-8", "replace"))
    except ValueError:
        if raw.strip():
            _log_message(f"a payload of {len(raw)} bytes is not JSON")
        return
    event = payload.get("hook_event_name") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(event, str):
        _log_message(f"a payload of {len(raw)} bytes names no event")
        return
    if event not in BUDGETS_MS:
        return
    age_ms = _age_ms()
    folder = payload.get("cwd")
    home, ignored = find_home(folder if isinstance(folder, str) and os.path.isabs(folder) else "")
    _home.append(home)
    home.pause_background_jobs()
    wait_ms, work_ms = BUDGETS_MS[event]
    deadline = Deadline(wait_ms - age_ms, age_ms, work_ms - age_ms)
    output.event = event
    may_be_note = event == "UserPromptSubmit" and _may_be_note(payload.get("prompt"))
    output.end_at(max(NOTE_MS, age_ms + MAX_WORK_MS) if may_be_note else work_ms)  # A late note is answered, too.
    if ignored:
        _log_message(ignored)
    if event == "UserPromptSubmit":
        if may_be_note:
            from subcog_hooks.hook import typed_note  # Few prompts are notes.

            if typed_note.answer_typed_note(payload, home, output.write, output.prepare, _log_message):
                return
            output.end_at(work_ms)
        from subcog_hooks.hook import prompt as hook_prompt  # Other events do not pay for its imports.

        hook_prompt.respond(payload, home, output.write, deadline)
    elif event == "PreToolUse":
        from subcog_hooks.hook import tool

        tool.respond(payload, home, output.write, deadline)
    elif event == "SessionStart":
        from subcog_hooks.hook import session

        session.respond(payload, home, output.write, deadline)
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
