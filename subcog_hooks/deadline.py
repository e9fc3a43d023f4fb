"""The one deadline of a process: made at its start, passed down, asked before anything waits."""

import time


class Deadline:
    """A point in monotonic time."""

    __slots__ = ("_at", "_made_at", "_spent_ms")

    def __init__(self, budget_ms: float, spent_ms: float = 0.0) -> None:
        """budget_ms: milliseconds from now. spent_ms: those that what it bounds has taken until now."""
        self._made_at = time.perf_counter()
        self._spent_ms = spent_ms
        self._at = time.monotonic() + budget_ms / 1000.0

    def left_ms(self) -> float:
        """Milliseconds that are left, 0.0 once it has passed."""
        return max(0.0, (self._at - time.monotonic()) * 1000.0)

    def spent_ms(self) -> float:
        """Milliseconds since the beginning of what it bounds, also when it has passed."""
        return self._spent_ms + (time.perf_counter() - self._made_at) * 1000.0

    def share(self, part: float) -> "Deadline":
        """A nearer deadline, when `part` (0.0 to 1.0) of what is left has passed."""
        return Deadline(self.left_ms() * part)
