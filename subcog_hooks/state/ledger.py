"""The ledger: the memories that each session was given or pointed at, so that none comes twice.

Every function raises StoreError.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.state.connection import State

MAX_ENTRIES = 10_000  # memories that were given, of all sessions: some months
MAX_POINTERS = 10_000  # and those that lines pointed at


def given(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session has been given."""
    return {str(row[0]) for row in state.run("SELECT memory FROM ledger WHERE session = ?", (session,))}


def given_lately(state: State, session: str, most: int) -> list[str]:
    """Return the ids of the last memories that this session has been given, the latest first."""
    rows = state.run("SELECT memory FROM ledger WHERE session = ? ORDER BY at DESC, memory LIMIT ?", (session, most))
    return [str(row[0]) for row in rows]


def decision_of(state: State, session: str, memory: str) -> str:
    """Return the id of the decision with which this session was given a memory, "" where that is unknown."""
    rows = state.run("SELECT decision FROM ledger WHERE session = ? AND memory = ?", (session, memory))
    return str(rows[0][0]) if rows else ""


def has_second_look(state: State, session: str) -> bool:
    """Return whether a second look is running for this session, or has found something. Some microseconds at each call."""
    return bool(session and state.run("SELECT 1 FROM second_looks WHERE session = ?", (session,)))


def record(state: State, session: str, memories: Sequence[str], now_ms: int, decision_id: str) -> None:
    """Note that these memories are given to this session now, with which decision. The oldest of too many are forgotten.

    The order is that of writing, whatever the clock says: what a clock that was ahead has written is followed by later entries,
    and drives none away.
    """
    ((last,),) = state.run("SELECT max(at) FROM ledger")
    at = max(now_ms, int(last or 0) + 1)
    for memory in memories:
        state.run("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?)", (session, memory, at, decision_id))
    state.run("DELETE FROM ledger WHERE at < (SELECT at FROM ledger ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ENTRIES - 1,))


def pointed_at(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session was pointed at."""
    return {str(row[0]) for row in state.run("SELECT memory FROM pointers WHERE session = ?", (session,))}


def record_pointed(state: State, session: str, memories: Sequence[str], now_ms: int, decision: str) -> None:
    """Note that a session is pointed at memories by a decision. The oldest of too many pointers are forgotten."""
    for memory in memories:
        state.run("INSERT OR REPLACE INTO pointers VALUES (?, ?, ?, ?, NULL)", (session, memory, now_ms, decision))
    oldest = "SELECT at FROM pointers ORDER BY at DESC LIMIT 1 OFFSET ?"
    state.run(f"DELETE FROM pointers WHERE at < ({oldest})", (MAX_POINTERS - 1,))  # noqa: S608 - constant text


def note_opened(state: State, session: str, memories: Sequence[str], now_ms: int) -> list[str]:
    """Note that a session opens memories. Return the ids that it was pointed at and had not opened."""
    opened = []
    for memory in memories:
        first = "UPDATE pointers SET opened_at = ? WHERE session = ? AND memory = ? AND opened_at IS NULL RETURNING memory"
        opened += [str(row[0]) for row in state.run(first, (now_ms, session, memory))]
    return opened


def opened_from(state: State, decision: str) -> set[str]:
    """Return the ids of the memories that were opened from the lines of a decision."""
    rows = state.run("SELECT memory FROM pointers WHERE decision = ? AND opened_at IS NOT NULL", (decision,))
    return {str(row[0]) for row in rows}


def forget(state: State, session: str) -> None:
    """Let a session hear again what it was given: the client has forgotten it."""
    state.run("DELETE FROM ledger WHERE session = ?", (session,))
    state.run("DELETE FROM pointers WHERE session = ?", (session,))
