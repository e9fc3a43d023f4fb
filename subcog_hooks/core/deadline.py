"""The deadline of a process, and the pauses between steps of long work."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LAST_MS = 3_000.0  # No hook runs longer: clients wait for 5 seconds.


class Deadline:
    """The end of waiting for others, and the end of the process's own work.

    Own work is counted in the processor time of this process, which a busy machine does not shorten, and ends at a last wall.
    """

    __slots__ = ("_last_at", "_made_at", "_spent_ms", "_wait_at", "_work_at")

    def __init__(self, wait_ms: float, spent_ms: float = 0.0, work_ms: float | None = None, last_ms: float = LAST_MS) -> None:
        """wait_ms, last_ms: milliseconds from now, for waiting and for all. spent_ms: milliseconds of the run so far.

        work_ms: milliseconds of processor time from now; None lets own work end with waiting.
        """
        self._made_at = time.perf_counter()
        self._spent_ms = spent_ms
        now = time.monotonic()
        self._wait_at = now + wait_ms / 1000.0
        self._last_at = self._wait_at if work_ms is None else now + last_ms / 1000.0
        self._work_at = float("inf") if work_ms is None else time.process_time() + work_ms / 1000.0

    def left_ms(self) -> float:
        """Return the milliseconds left for waiting, 0.0 after the end."""
        return max(0.0, (self._wait_at - time.monotonic()) * 1000.0)

    def work_left_ms(self) -> float:
        """Return the milliseconds left for own work, 0.0 after the end."""
        return max(0.0, min(self._work_ms(), self._last_ms()))

    def spent_ms(self) -> float:
        """Return the milliseconds since the beginning of the run, also after the deadline."""
        return self._spent_ms + (time.perf_counter() - self._made_at) * 1000.0

    def sooner(self, by_ms: float) -> Deadline:
        """Return a deadline whose own work ends `by_ms` earlier; waiting ends at the same time."""
        return Deadline(self.left_ms(), 0.0, self._work_ms() - by_ms, self._last_ms() - by_ms)

    def share(self, part: float) -> Deadline:
        """Return a nearer deadline: `part` (0.0 to 1.0) of the time left."""
        return Deadline(self.left_ms() * part, 0.0, self._work_ms() * part, self._last_ms() * part)

    def _work_ms(self) -> float:
        return (self._work_at - time.process_time()) * 1000.0

    def _last_ms(self) -> float:
        return (self._last_at - time.monotonic()) * 1000.0


class Pace:
    """Work at full pace, without pauses or an end. Background work passes a pace that has both.

    is_called_off: polled during a pause, which ends when it returns True.
    """

    __slots__ = ()

    def goes_on(self, is_called_off: Callable[[], bool] = lambda: False) -> bool:  # noqa: ARG002 - A pace with pauses needs it.
        """Return whether the work goes on, after a pause where one is needed. Called before each unit of work."""
        return True

    def put_off(self, why: str) -> None:
        """End the work until a missing resource returns, and tell the reason. Foreground callers report it themselves."""

    def pause(self, is_called_off: Callable[[], bool] = lambda: False) -> None:
        """Wait where a pause is needed. Called inside a unit, every few milliseconds of work."""


FULL_PACE = Pace()
