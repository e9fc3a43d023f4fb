"""Memories that may be handed over here and now: those of the right people that are live and whose conditions hold."""

from __future__ import annotations

from subcog_hooks.memory.store import audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from subcog_hooks.memory.model import Memory


class Eligibility:
    """The conditions that every channel checks before it brings a memory.

    audiences: whose memories; now_ms: milliseconds since the epoch; given: ids that the session has had, which come behind the
    others; holds: whether a memory's conditions do.
    """

    __slots__ = ("audiences", "given", "holds", "now_ms")

    def __init__(
        self,
        audiences: tuple[str, ...],
        now_ms: int,
        given: AbstractSet[str] = frozenset(),
        holds: Callable[[Memory], bool] = lambda _: True,
    ) -> None:
        self.audiences = audiences
        self.now_ms = now_ms
        self.given = given
        self.holds = holds

    def allows(self, memory: Memory) -> bool:
        """Return whether a memory may be handed over. Raises StoreError when its conditions can not be judged."""
        return self.includes(memory) and self.holds(memory)

    def includes(self, memory: Memory) -> bool:
        """Return whether a memory is live and of these audiences, whatever its conditions."""
        return memory.is_live(self.now_ms) and audience_of(memory.scope, memory.project) in self.audiences
