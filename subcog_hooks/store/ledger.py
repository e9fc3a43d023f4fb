"""The ledger: the memories that each session was given, was pointed at, or came near to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from subcog_hooks.store.state import State


MAX_ENTRIES = 10_000  # memories that were given, of all sessions: some months
MAX_POINTERS = 10_000  # and those that lines pointed at


def given_to(state: State, session: str) -> set[str]:
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


def record_given(state: State, session: str, memories: Sequence[str], now_ms: int, decision_id: str) -> None:
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


def find_first_given(state: State) -> int | None:
    """Return since when it is known what was handed over, milliseconds since the epoch; None where nothing was."""
    ((first,),) = state.run("SELECT min(at) FROM ledger")
    return int(first) if isinstance(first, int) else None


MAX_ROWS = 20_000  # memories, of all projects
MAX_WEIGHT = 3.0  # of a memory: what was sought more often is as much worth
LEAST_RELEVANCE = 0.05  # below it a memory is near to a prompt by chance
MOST_NEAR = 8  # memories that a prompt is near to


def note_near(state: State, project: str, near: Iterable[tuple[str, float]], now_ms: int) -> None:
    """Note what a prompt was near to. near: ids with their relevance; project: "" outside of any."""
    ordered = sorted((-relevance, id_) for id_, relevance in near if relevance >= LEAST_RELEVANCE)[:MOST_NEAR]
    for relevance, id_ in ordered:
        state.run(
            "INSERT INTO sought VALUES (?, ?, ?, ?) ON CONFLICT (project, memory)"
            " DO UPDATE SET weight = min(?, weight + excluded.weight), at = excluded.at",
            (project, id_, -relevance, now_ms, MAX_WEIGHT),
        )


def find_near(state: State, project: str, most: int) -> dict[str, float]:
    """Return what the prompts of a project were near to, the nearest first, each with the sum of its relevances."""
    rows = state.run(
        "SELECT memory, weight FROM sought WHERE project = ? ORDER BY weight DESC, memory LIMIT ?", (project, most)
    )
    return {str(memory): float(weight or 0.0) for memory, weight in rows}


def prune_near(state: State) -> None:
    """Forget what was sought longest ago, where there is too much."""
    (kept,) = state.run("SELECT count(*) FROM sought")[0]
    if int(kept or 0) > MAX_ROWS:
        state.run("DELETE FROM sought WHERE at < (SELECT at FROM sought ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ROWS // 2,))
