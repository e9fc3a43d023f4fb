"""The pace of long work: it may be asked to pause, or to end early. A foreground command is asked for neither."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


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
