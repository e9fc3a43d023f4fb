"""The sessions that were given each memory, as far back as the ledger goes. Every function raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State


class HandedOver:
    """The sessions that were given a memory: how many, and when the last one, milliseconds since the epoch."""

    __slots__ = ("last_at", "sessions")

    def __init__(self, sessions: int, last_at: int) -> None:
        self.sessions = sessions
        self.last_at = last_at


def find_handed_over(state: State) -> dict[str, HandedOver]:
    """Return to how many sessions each memory was given, by its id."""
    rows = state.run("SELECT memory, count(*), max(at) FROM ledger GROUP BY memory")
    return {str(id_): HandedOver(int(sessions or 0), int(last or 0)) for id_, sessions, last in rows}


def find_first(state: State) -> int | None:
    """Return since when it is known what was handed over, milliseconds since the epoch; None where nothing was."""
    ((first,),) = state.run("SELECT min(at) FROM ledger")
    return int(first) if isinstance(first, int) else None
