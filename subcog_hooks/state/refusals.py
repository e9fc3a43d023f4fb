"""Refusals in a row of what came from a source, or was of a kind: their number. Every function raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

_FLAG = "refused in a row: "  # begins the flag whose number is the count


def note_refused(state: State, name: str) -> int:
    """Note that one was refused, and return how many were in a row."""
    rows = state.run(
        "INSERT INTO flags VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET until = until + 1 RETURNING until", (_FLAG + name,)
    )
    return sum(count for (count,) in rows if isinstance(count, int))


def note_kept(state: State, name: str) -> None:
    """Note that one was kept: the row begins anew. So it does once the person was asked."""
    state.run("DELETE FROM flags WHERE name = ?", (_FLAG + name,))


def take_back(state: State, name: str) -> None:
    """Note that the last refusal was undone."""
    state.run("UPDATE flags SET until = max(0, until - 1) WHERE name = ?", (_FLAG + name,))
