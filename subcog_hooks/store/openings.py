"""Memories that an agent opened from lines, and that its session and its subagents have seen. They teach."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.store.state import State


def find_seen(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session and its subagents were given or pointed at."""
    ends = _ends_with_subagents(session)
    given = state.run("SELECT memory FROM ledger WHERE session >= ? AND session < ?", ends)
    return {str(row[0]) for row in (*given, *state.run("SELECT memory FROM pointers WHERE session >= ? AND session < ?", ends))}


def note_opened(state: State, session: str, memories: Sequence[str], now_ms: int) -> list[str]:
    """Record that a session opens memories. Return the ids that it, or a subagent, was pointed at and had not opened."""
    open_once = (
        "UPDATE pointers SET opened_at = ? "
        "WHERE session >= ? AND session < ? AND memory = ? AND opened_at IS NULL RETURNING memory"
    )
    ends = _ends_with_subagents(session)
    return [memory for memory in memories if state.run(open_once, (now_ms, *ends, memory))]


def count_opened(state: State, session: str) -> int:
    """Return how many memories this session has opened from lines that pointed at them."""
    rows = state.run("SELECT count(*) FROM pointers WHERE session = ? AND opened_at IS NOT NULL", (session,))
    return int(rows[0][0] or 0)


def find_openings(state: State) -> list[tuple[str, str]]:
    """Return the openings of memories from lines, as (memory, decision of the line), the latest first."""
    rows = state.run("SELECT memory, decision FROM pointers WHERE opened_at IS NOT NULL ORDER BY opened_at DESC, memory")
    return [(str(memory), str(decision)) for memory, decision in rows]


def find_opened(state: State, decision: str) -> set[str]:
    """Return the ids of the memories that were opened from the lines of a decision."""
    rows = state.run("SELECT memory FROM pointers WHERE decision = ? AND opened_at IS NOT NULL", (decision,))
    return {str(row[0]) for row in rows}


def _ends_with_subagents(session: str) -> tuple[str, str]:
    """Return the ends of a session's key and those of its subagents, which begin with it and a slash."""
    return session, f"{session}0"  # The zero follows the slash.
