"""The ledger: the memories that each session was given, was pointed at, or came near to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from subcog_hooks.store.state import State


MAX_ENTRIES = 10_000  # given memories, of all sessions: some months
MAX_POINTERS = 10_000  # memories that lines pointed at


def find_given(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session has been given."""
    return {str(row[0]) for row in state.run("SELECT memory FROM ledger WHERE session = ?", (session,))}


def find_last_given(state: State, session: str, limit: int) -> list[str]:
    """Return the ids of the last memories that this session has been given, the latest first."""
    rows = state.run("SELECT memory FROM ledger WHERE session = ? ORDER BY at DESC, memory LIMIT ?", (session, limit))
    return [str(row[0]) for row in rows]


def find_giving_decision(state: State, session: str, memory: str) -> str:
    """Return the id of the decision that gave a memory to this session, "" where it is unknown."""
    rows = state.run("SELECT decision FROM ledger WHERE session = ? AND memory = ?", (session, memory))
    return str(rows[0][0]) if rows else ""


def has_second_look(state: State, session: str) -> bool:
    """Return whether a second look runs for this session, or its answer waits. A call takes some µs."""
    return bool(session and state.run("SELECT 1 FROM second_looks WHERE session = ?", (session,)))


def record_given(state: State, session: str, memories: Sequence[str], now_ms: int, decision_id: str) -> None:
    """Record that this decision gives these memories to this session. The oldest surplus entries are deleted.

    Times always increase, even after a clock that was ahead: its entries are followed by later ones and push none out.
    """
    ((latest_ms,),) = state.run("SELECT max(at) FROM ledger")
    written_ms = max(now_ms, int(latest_ms or 0) + 1)
    for memory in memories:
        state.run("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?)", (session, memory, written_ms, decision_id))
    state.run("DELETE FROM ledger WHERE at < (SELECT at FROM ledger ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ENTRIES - 1,))


def find_pointed(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session was pointed at."""
    return {str(row[0]) for row in state.run("SELECT memory FROM pointers WHERE session = ?", (session,))}


def record_pointed(state: State, session: str, memories: Sequence[str], now_ms: int, decision: str) -> None:
    """Record that a decision points a session at memories. The oldest surplus pointers are deleted."""
    for memory in memories:
        state.run("INSERT OR REPLACE INTO pointers VALUES (?, ?, ?, ?, NULL)", (session, memory, now_ms, decision))
    oldest = "SELECT at FROM pointers ORDER BY at DESC LIMIT 1 OFFSET ?"
    state.run(f"DELETE FROM pointers WHERE at < ({oldest})", (MAX_POINTERS - 1,))  # noqa: S608 - constant text


def note_opened(state: State, session: str, memories: Sequence[str], now_ms: int) -> list[str]:
    """Record that a session opens memories. Return the ids that it was pointed at and had not opened."""
    opened = []
    for memory in memories:
        open_once = "UPDATE pointers SET opened_at = ? WHERE session = ? AND memory = ? AND opened_at IS NULL RETURNING memory"
        opened += [str(row[0]) for row in state.run(open_once, (now_ms, session, memory))]
    return opened


def find_opened(state: State, decision: str) -> set[str]:
    """Return the ids of the memories that were opened from the lines of a decision."""
    rows = state.run("SELECT memory FROM pointers WHERE decision = ? AND opened_at IS NOT NULL", (decision,))
    return {str(row[0]) for row in rows}


def forget_session(state: State, session: str) -> None:
    """Delete the entries of a session whose client has forgotten its context: it may be given them again."""
    state.run("DELETE FROM ledger WHERE session = ?", (session,))
    state.run("DELETE FROM pointers WHERE session = ?", (session,))


class HandOvers:
    """The sessions that were given a memory: their number, and the last time, milliseconds since the epoch."""

    __slots__ = ("last_at", "sessions")

    def __init__(self, sessions: int, last_at: int) -> None:
        self.sessions = sessions
        self.last_at = last_at


def count_hand_overs(state: State) -> dict[str, HandOvers]:
    """Return how many sessions were given each memory, by its id."""
    rows = state.run("SELECT memory, count(*), max(at) FROM ledger GROUP BY memory")
    return {str(id_): HandOvers(int(sessions or 0), int(last_ms or 0)) for id_, sessions, last_ms in rows}


def find_first_given(state: State) -> int | None:
    """Return the time of the first entry, milliseconds since the epoch; None for an empty ledger."""
    ((first_ms,),) = state.run("SELECT min(at) FROM ledger")
    return int(first_ms) if isinstance(first_ms, int) else None


MAX_ROWS = 20_000  # memories, of all projects
MAX_WEIGHT = 3.0  # a memory near to more prompts weighs no more than this
MIN_NEAR_RELEVANCE = 0.05  # below it a memory is near to a prompt by chance
MAX_NEAR = 8  # memories that a prompt is near to


def note_near(state: State, project: str, near: Iterable[tuple[str, float]], now_ms: int) -> None:
    """Add to the weights of memories that a prompt was near to. near: ids with relevance; project: "" outside of any."""
    ordered = sorted((-relevance, id_) for id_, relevance in near if relevance >= MIN_NEAR_RELEVANCE)[:MAX_NEAR]
    for relevance, id_ in ordered:
        state.run(
            "INSERT INTO sought VALUES (?, ?, ?, ?) ON CONFLICT (project, memory)"
            " DO UPDATE SET weight = min(?, weight + excluded.weight), at = excluded.at",
            (project, id_, -relevance, now_ms, MAX_WEIGHT),
        )


def find_near(state: State, project: str, limit: int) -> dict[str, float]:
    """Return the memories near to a project's prompts, the heaviest first, each with the sum of its relevances."""
    rows = state.run(
        "SELECT memory, weight FROM sought WHERE project = ? ORDER BY weight DESC, memory LIMIT ?", (project, limit)
    )
    return {str(memory): float(weight or 0.0) for memory, weight in rows}


def prune_near(state: State) -> None:
    """Delete the oldest weights where there are more than MAX_ROWS."""
    (count,) = state.run("SELECT count(*) FROM sought")[0]
    if int(count or 0) > MAX_ROWS:
        state.run("DELETE FROM sought WHERE at < (SELECT at FROM sought ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ROWS // 2,))
