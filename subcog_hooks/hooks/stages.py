"""How long each stage of a run takes: what `subcog why` shows of its time."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.deadline import Deadline


class Stages:
    """The stages that are over. rows: each a name and its milliseconds."""

    __slots__ = ("_deadline", "_spent_ms", "rows")

    def __init__(self, deadline: "Deadline") -> None:
        self._deadline = deadline
        self._spent_ms = 0.0
        self.rows: list[tuple[str, float]] = []

    def done(self, name: str) -> None:
        """End the stage of this name, which began when the one before it ended."""
        spent_ms = self._deadline.spent_ms()
        self.rows.append((name, round(spent_ms - self._spent_ms, 2)))
        self._spent_ms = spent_ms
