"""The one deadline of a process, and the rest between steps of long work."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


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


def _never() -> bool:
    return False


class Pace:
    """Work at full pace: no pause, no end. Whoever works in the background passes one that knows both.

    is_called_off: asked while a pause lasts; the pause ends when it says yes.
    """

    __slots__ = ()

    def goes_on(self, is_called_off: Callable[[], bool] = _never) -> bool:  # noqa: ARG002 - as those that pause need it
        """Return whether the work goes on, after a pause where one is called for. Asked before each unit of it."""
        return True

    def put_off(self, why: str) -> None:
        """End the work for want of something that comes back, and say what. In the foreground whoever calls says so itself."""

    def pause(self, is_called_off: Callable[[], bool] = _never) -> None:
        """Wait where a pause is called for. Asked inside a unit, every few milliseconds of work."""


FULL_PACE = Pace()
