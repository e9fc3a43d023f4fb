"""The one deadline of a process: made at its start, passed down, asked before anything waits.

It bounds waiting for others (an LLM, a lock, a server). Own work that a busy machine slows down has a later end of its own.
"""

from __future__ import annotations

import time


class Deadline:
    """Two points in monotonic time: until when others are waited for, and until when own work goes on."""

    __slots__ = ("_at", "_made_at", "_spent_ms", "_work_at")

    def __init__(self, wait_ms: float, spent_ms: float = 0.0, work_ms: float | None = None) -> None:
        """wait_ms, work_ms: milliseconds from now, of work as many as of waiting where nothing else is said. spent_ms: those
        that what it bounds has taken until now."""
        self._made_at = time.perf_counter()
        self._spent_ms = spent_ms
        now = time.monotonic()
        self._at = now + wait_ms / 1000.0
        self._work_at = self._at if work_ms is None else now + work_ms / 1000.0

    def left_ms(self) -> float:
        """Return the milliseconds that are left for waiting, 0.0 once they are over."""
        return max(0.0, (self._at - time.monotonic()) * 1000.0)

    def work_left_ms(self) -> float:
        """Return the milliseconds that are left for own work, 0.0 once they are over."""
        return max(0.0, (self._work_at - time.monotonic()) * 1000.0)

    def spent_ms(self) -> float:
        """Return the milliseconds since the beginning of what it bounds, also when it has passed."""
        return self._spent_ms + (time.perf_counter() - self._made_at) * 1000.0

    def sooner(self, by_ms: float) -> Deadline:
        """Return a deadline whose own work ends so many milliseconds earlier; waiting ends when it does."""
        return Deadline(self.left_ms(), work_ms=max(0.0, self.work_left_ms() - by_ms))

    def share(self, part: float) -> Deadline:
        """Return a nearer deadline, when `part` (0.0 to 1.0) of what is left has passed."""
        return Deadline(self.left_ms() * part, work_ms=self.work_left_ms() * part)
