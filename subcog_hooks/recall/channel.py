"""The contract of a channel: one way of finding memories, with one signature and one kind of result.

Nothing here ranks across channels.
"""

from __future__ import annotations

from subcog_hooks.core.errors import SubcogError
from subcog_hooks.store.index import IndexUnusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.query import Query
    from subcog_hooks.store.store_reader import Filter

    Ranked = list[tuple[float, int]]  # (the channel's own score, row number), best first

    class Channel(Protocol):
        """A way of finding memories.

        name: in answers and notes; strategy: for counting agreement (S1: exact and relaxed words are one strategy).
        is_floor: it runs even without time left, so that there is always an answer.
        """

        name: str
        strategy: str
        is_floor: bool

        def search(self, query: Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
            """Return the best `k` memories of `scope`, and all memories that score like the last. Raises SubcogError."""


class ChannelResult:
    """The list of one channel, or the reason for a failure. An empty list without a failure is an answer."""

    __slots__ = ("failure", "name", "ranked", "strategy")

    def __init__(self, name: str, strategy: str, ranked: Ranked | None, failure: str | None = None) -> None:
        self.name = name
        self.strategy = strategy
        self.ranked = ranked or []
        self.failure = failure


def run_channel(channel: Channel, query: Query, scope: Filter, k: int, deadline: Deadline) -> ChannelResult:
    """Run a channel's search; record a failure or a passed deadline in the result.

    Raises IndexUnusable: without words there is no answer, and a writer rebuilds the index.
    """
    if not channel.is_floor and not deadline.work_left_ms():
        return ChannelResult(channel.name, channel.strategy, None, f"{channel.name}: no time was left for it")
    try:
        return ChannelResult(channel.name, channel.strategy, channel.search(query, scope, k, deadline))
    except IndexUnusable:
        raise
    except SubcogError as error:
        late = not deadline.work_left_ms()
        return ChannelResult(
            channel.name, channel.strategy, None, f"{channel.name}: {'out of time' if late else error.message}"
        )
