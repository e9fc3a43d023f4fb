"""The count of what could be proposed of sessions, as the work at rest has found it. Every function raises StoreError."""

from __future__ import annotations

from subcog_hooks.state import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

_LEARNABLE, _COUNTED = "learnable", "counted"


def note_learnable(state: State, count: int) -> None:
    """Note how many proposals sessions could bring."""
    numbers.put(state, _LEARNABLE, count)


def count_learnable(state: State) -> int:
    """Return how many proposals sessions could bring, 0 where nobody has looked."""
    return numbers.find(state, _LEARNABLE) or 0


def note_counted(state: State, stamp: int) -> None:
    """Note which transcripts were read for the count. stamp: of the transcripts, 0 for none that could be known again."""
    numbers.put(state, _COUNTED, stamp)


def find_counted(state: State) -> int | None:
    """Return the stamp of the transcripts that were read for the last count, None for never."""
    return numbers.find(state, _COUNTED)
