"""The fail-open runner: one payload in, at most one JSON object out, exit 0, within the deadline, whatever happens.

A watchdog thread ends the process when the time for its own work is over, because SQLite, tantivy or a read from the client may
hold the main thread at that moment. `os._exit` saves 1.6 ms of tearing down modules.
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

# milliseconds of the whole process, by event: until when others are waited for, and until when own work goes on, which a busy
# machine may slow down (DESIGN sections 2 and 10); what is not here is not answered
BUDGETS_MS = {
    "UserPromptSubmit": (200.0, 1_000.0),
    "SessionStart": (200.0, 1_000.0),
    "PreToolUse": (100.0, 500.0),
    "Stop": (50.0, 500.0),
    "PreCompact": (50.0, 500.0),
    "SessionEnd": (50.0, 500.0),
}
LONGEST_MS = 1_000.0  # of the latter
READING_MS = 250.0  # the payload has as long to be read where the process is as old before it has begun
NOTE_MS = 3_000.0  # of a note that is typed as a prompt: the person waits for it, and the client for 5 seconds
MAX_CUT_OFFS = 64 * 1024  # bytes of their file
STARTUP_MS = 25.0  # what the interpreter has used of it before the clock here starts, where that can not be read
MAX_PAYLOAD = 16 * 1024 * 1024  # bytes; larger ones are refused quietly
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark; the codec utf-8-sig is a module that costs .2 ms
_ASKS_FOR_HELP = frozenset(("-h", "--help"))
_HELP = b"""Usage: subcog hook

  Answer one hook event of Claude Code. The client runs this, not you.

  It reads a JSON payload on standard input and prints one JSON object or
  nothing. The exit code is always 0, errors go to the log.

  `subcog init` registers it with the client.
  `subcog doctor --prompt TEXT` shows what it would answer to a prompt.
"""
_READ_BYTES = 1 << 16
_WRITE_GRACE_S = 1.0  # for a client that is slow to take an answer that has begun

_home: list[Home] = []  # the one home, once the payload has said where we are


class Output:
    """The one output that an event may write; a write that has begun is let finish by the watchdog.

    event: the client's name of it, "" until it is known; end_ms: the age at which the watchdog ends the process.
    """

    __slots__ = ("_changed", "_in_any_case", "_writing", "_written", "end_ms", "event")

    def __init__(self, end_ms: float) -> None:
        self.event = ""
        self.end_ms = end_ms
        self._in_any_case = b""
        self._writing = _thread.allocate_lock()
        self._written = _thread.allocate_lock()
        self._written.acquire()
        self._changed = _thread.allocate_lock()
        self._changed.acquire()

    def write(self, output: bytes) -> None:
        """Write the output. Raises OSError when nobody reads it, or when the deadline has passed."""
        if not self._writing.acquire(blocking=False):
            raise TimeoutError("the deadline has passed")
        _write(output)
        self._written.release()

    def prepare(self, output: bytes) -> None:
        """Set the output for a process that ends before it has written any, b"" for none.

        Raises TimeoutError when the deadline has passed: what is then written says nothing of what is done later.
        """
        self._in_any_case = output
        if self._writing.locked():
            raise TimeoutError("the deadline has passed")

    def end_at(self, age_ms: float) -> None:
        """Let the watchdog end the process at another age."""
        self.end_ms = age_ms
        if self._changed.locked():
            self._changed.release()

    def wait_for_end(self, life: Deadline) -> None:
        """Wait, for the watchdog, until the process is to end."""
        while (left_ms := self.end_ms - life.spent_ms()) > 0.0:
            self._changed.acquire(timeout=left_ms / 1000.0)

    def wait_until_written(self, seconds: float) -> None:
        self._written.acquire(timeout=seconds)

    def give_up(self) -> bool:
        """Write what was prepared, unless an output has begun. Return whether none had. Raises OSError."""
        if not self._writing.acquire(blocking=False):
            return False
        _write(self._in_any_case)
        return True


def _write(output: bytes) -> None:
    while output:
        output = output[os.write(1, output) :]


def main() -> None:
    """Run the hook on this process's streams. Never returns and never raises: it ends the process with exit code 0."""
    try:
        if os.isatty(0) or not _ASKS_FOR_HELP.isdisjoint(sys.argv):
            os.write(2, _HELP)  # stdout is the client's
            return
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a library that panics over a damaged file says so there
        if "--second-look" in sys.argv[2:]:
            from subcog_hooks.hook import second_look  # a process of its own

            second_look.main()
            return
        age_ms = _age_ms()
        output = Output(max(LONGEST_MS, age_ms + READING_MS))
        _thread.start_new_thread(_watch, (output, age_ms))
        try:
            _run(output)
        except BaseException:
            output.give_up()
            raise
    except BaseException as error:  # noqa: BLE001 - a hook can not hurt: not by an interrupt or a full memory either
        _report(error)
    finally:
        os._exit(0)


def _age_ms() -> float:
    """Return how long this process has been there, in milliseconds: 12 on an idle machine, 80 on a busy one. Linux says so."""
    try:
        with open("/proc/self/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return min(LONGEST_MS, max(0.0, (time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000.0))
    except (OSError, ValueError, IndexError, AttributeError):
        return STARTUP_MS


def _watch(output: Output, age_ms: float) -> None:
    """End the process when its time is over, unless it is writing just then. What is cut off leaves a trace."""
    output.wait_for_end(Deadline(LONGEST_MS, age_ms))
    try:
        if not output.give_up():
            output.wait_until_written(_WRITE_GRACE_S)
        elif output.event:  # else the client has not said what it wants
            _note_cut_off(output.event)
    finally:
        os._exit(0)


def _may_be_note(prompt: object) -> bool:
    """Return whether a prompt begins as a typed note does."""
    return isinstance(prompt, str) and prompt.lstrip()[:9].lower().startswith(("remember:", "# "))


def _note_cut_off(event: str) -> None:
    """Append the time and the event to a file that `state.cut_offs` reads. No import: the main thread may be at one."""
    try:
        path = _home[0].cut_offs
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        if os.fstat(descriptor).st_size < MAX_CUT_OFFS:
            os.write(descriptor, b"%d %s\n" % (time.time_ns() // 1_000_000, event.encode()))
    except Exception:  # noqa: BLE001, S110 - the process ends anyway, and there is nowhere to report to
        pass


def _run(output: Output) -> None:
    raw = _read_payload()
    if raw is None:
        _log(f"a payload of more than {MAX_PAYLOAD} bytes was refused")
        return
    try:
        payload = light_json.loads(raw.removeprefix(_MARK).decode("utf-8", "replace"))
    except ValueError:
        if raw.strip():
            _log(f"a payload of {len(raw)} bytes is not JSON")
        return
    event = payload.get("hook_event_name") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(event, str):
        _log(f"a payload of {len(raw)} bytes names no event")
        return
    if event not in BUDGETS_MS:
        return
    age_ms = _age_ms()
    folder = payload.get("cwd")
    home, ignored = find_home(folder if isinstance(folder, str) and os.path.isabs(folder) else "")
    _home.append(home)
    home.ask_for_quiet()
    wait_ms, work_ms = BUDGETS_MS[event]
    deadline = Deadline(wait_ms - age_ms, age_ms, work_ms - age_ms)
    output.event = event
    may_be_note = event == "UserPromptSubmit" and _may_be_note(payload.get("prompt"))
    output.end_at(max(NOTE_MS, age_ms + LONGEST_MS) if may_be_note else work_ms)  # one that comes late is answered, too
    if ignored:
        _log(ignored)
    if event == "UserPromptSubmit":
        if may_be_note:
            from subcog_hooks.hook import typed_note  # as rare as it is

            if typed_note.respond(payload, home, output.write, output.prepare, _log):
                return
            output.end_at(work_ms)
        from subcog_hooks.hook import prompt as hook_prompt  # the other events need none of what it loads

        hook_prompt.respond(payload, home, output.write, deadline)
    elif event == "PreToolUse":
        from subcog_hooks.hook import tool  # as above

        tool.respond(payload, home, output.write, deadline)
    elif event == "SessionStart":
        from subcog_hooks.hook import session  # as above

        session.respond(payload, home, output.write, deadline)
    else:
        from subcog_hooks.hook import bookkeeping  # as above

        bookkeeping.respond(payload, home, deadline)


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


def _report(error: BaseException) -> None:
    try:
        place = ""
        trace = error.__traceback__
        while trace is not None:
            place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
            trace = trace.tb_next
        _log(f"{type(error).__name__} at {place}: {error}")
    except BaseException:  # noqa: BLE001, S110 - the last resort; nothing is left to report to
        pass


def _log(message: str) -> None:
    from subcog_hooks.core import log  # only when there is something to say

    log.write(_home[0] if _home else find_home()[0], message)
