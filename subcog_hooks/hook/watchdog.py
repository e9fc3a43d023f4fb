"""The watchdog: a thread that ends the hook's process when the time for its own work is over.

SQLite, tantivy or a read from the client may hold the main thread then.
"""

from __future__ import annotations

import _thread
import os
import time

from subcog_hooks.core.deadline import Deadline

MAX_WORK_MS = 1_000.0  # the longest limit for own work
STARTUP_MS = 25.0  # The interpreter's start takes this time where the process's age cannot be read.
MAX_CUT_OFFS = 64 * 1024  # bytes of the file of cut-off calls
_WRITE_GRACE_S = 1.0  # A slow client gets this time to take an answer that has begun.


class Output:
    """The output of an event. The watchdog lets a begun write finish.

    event: its name, "" until it is known; cut_offs: the file for its trace; end_ms: the age at which the process ends.
    """

    __slots__ = ("_changed", "_prepared", "_writing", "_written", "cut_offs", "end_ms", "event")

    def __init__(self, end_ms: float) -> None:
        self.event = ""
        self.cut_offs = ""
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


def process_age_ms() -> float:
    """Return the age of this process in milliseconds, as Linux knows it: 12 on an idle machine, 80 on a busy one."""
    try:
        with open("/proc/self/stat", "rb") as file:
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return min(MAX_WORK_MS, max(0.0, (time.clock_gettime(time.CLOCK_BOOTTIME) - started) * 1000.0))
    except (OSError, ValueError, IndexError, AttributeError):
        return STARTUP_MS


def end_in_time(output: Output, age_ms: float) -> None:
    """End the process when its time is over, after a write that has begun. A cut-off event leaves a trace."""
    output.wait_for_end(Deadline(MAX_WORK_MS, age_ms))
    try:
        if not output.give_up():
            output.wait_until_written(_WRITE_GRACE_S)
        elif output.event:  # Without an event the client has asked for nothing.
            _note_cut_off(output.cut_offs, output.event)
    finally:
        os._exit(0)


def _note_cut_off(path: str, event: str) -> None:
    """Append the time and the event to the file of cut-offs. No import: the main thread may hold the import lock."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o600)
        if os.fstat(descriptor).st_size < MAX_CUT_OFFS:
            os.write(descriptor, b"%d %s\n" % (time.time_ns() // 1_000_000, event.encode()))
    except Exception:  # noqa: BLE001, S110 - the process ends anyway, and there is nowhere to report to
        pass
