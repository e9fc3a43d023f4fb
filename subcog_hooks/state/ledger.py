"""The ledger: which memories each session has been given, so that none is given twice. Every function raises StoreError."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.state.connection import State

MAX_ENTRIES = 10_000  # memories that were given, of all sessions: some months


def given(state: "State", session: str) -> set[str]:
    """Return the ids of the memories that this session has been given."""
    return {str(row[0]) for row in state.run("SELECT memory FROM ledger WHERE session = ?", (session,))}


def given_lately(state: "State", session: str, most: int) -> list[str]:
    """Return the ids of the last memories that this session has been given, the latest first."""
    rows = state.run("SELECT memory FROM ledger WHERE session = ? ORDER BY at DESC, memory LIMIT ?", (session, most))
    return [str(row[0]) for row in rows]


def decision_of(state: "State", session: str, memory: str) -> str:
    """Return the id of the decision with which this session was given a memory, "" where that is unknown."""
    rows = state.run("SELECT decision FROM ledger WHERE session = ? AND memory = ?", (session, memory))
    return str(rows[0][0]) if rows else ""


def has_second_look(state: "State", session: str) -> bool:
    """Return whether a second look is running for this session, or has found something. Some microseconds at each call."""
    return bool(session and state.run("SELECT 1 FROM second_looks WHERE session = ?", (session,)))


def record(state: "State", session: str, memories: "Sequence[str]", now_ms: int, decision_id: str) -> None:
    """Note that these memories are given to this session now, with which decision. The oldest of too many are forgotten.

    The order is that of writing, whatever the clock says: what a clock that was ahead has written is followed by later entries,
    and drives none away.
    """
    ((last,),) = state.run("SELECT max(at) FROM ledger")
    at = max(now_ms, int(last or 0) + 1)
    for memory in memories:
        state.run("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?)", (session, memory, at, decision_id))
    state.run("DELETE FROM ledger WHERE at < (SELECT at FROM ledger ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ENTRIES - 1,))


def forget(state: "State", session: str) -> None:
    """Let a session hear again what it was given: the client has forgotten it."""
    state.run("DELETE FROM ledger WHERE session = ?", (session,))
