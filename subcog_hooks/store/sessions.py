"""Sessions, the ledger of the memories each was given, so that none comes twice, and the lines that pointed at memories.

Every function raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.records import record
from subcog_hooks.store import verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any  # of JSON

    from subcog_hooks.store.state import State

MAX_SESSIONS = 1_000
SESSION_DAYS = 400  # a user who returns after a year still counts as known
TOPICS_MS = 30 * 60_000

CUT = "/cut"  # behind the key of a session, for memories of which it has a part
MAX_ENTRIES = 10_000  # given memories, of all sessions: some months
MAX_CALL_LINES = 5  # lines beside a session's tool calls
MAX_POINTERS = 10_000  # memories that lines pointed at
MAX_ROWS = 20_000  # memories near to prompts, of all projects
MAX_WEIGHT = 3.0  # a memory near to more prompts weighs no more than this
MIN_NEAR_RELEVANCE = 0.05  # below it a memory is near to a prompt by chance
MAX_NEAR = 8  # memories that a prompt is near to

_DAY_MS = 86_400_000


@record
class Session:
    """The record of a session. source: its last kind of start, "" for unknown; prompts: their number."""

    source: str
    prompts: int


def note_prompt(state: State, session: str, project: str, now_ms: int) -> None:
    """Count a prompt of a session. A session without a noted start begins with it."""
    if not session:
        return
    changed = "DO UPDATE SET prompts = prompts + 1, last_at = excluded.last_at RETURNING prompts"
    sql = f"INSERT INTO sessions VALUES (?, ?, '', ?, 1, NULL, 0) ON CONFLICT (session) {changed}"  # noqa: S608 - a constant
    ((count,),) = state.run(sql, (session, project, now_ms))
    if count == 1:
        prune_sessions(state, now_ms)


def prune_sessions(state: State, now_ms: int) -> None:
    """Delete the sessions that are too old, and the oldest of too many."""
    state.run("DELETE FROM sessions WHERE last_at < ?", (now_ms - SESSION_DAYS * _DAY_MS,))
    ((count,),) = state.run("SELECT count(*) FROM sessions")
    if count > MAX_SESSIONS:  # finding the oldest takes .5 ms
        oldest = "SELECT session FROM sessions ORDER BY last_at DESC LIMIT -1 OFFSET ?"
        state.run(f"DELETE FROM sessions WHERE session IN ({oldest})", (MAX_SESSIONS,))  # noqa: S608 - a constant


def find_session(state: State, session: str) -> Session | None:
    """Return the record of a session, None when there is none."""
    rows = state.run("SELECT source, prompts FROM sessions WHERE session = ?", (session,))
    return Session(*rows[0]) if rows else None


def count_units(state: State, session: str) -> int:
    """Return the UTF-16 units given to a session since its client last forgot its context."""
    return next((units for (units,) in state.run("SELECT units FROM sessions WHERE session = ?", (session,))), 0)


def add_units(state: State, session: str, project: str, units: int, now_ms: int) -> None:
    """Add to the UTF-16 units given to a session; an unknown session begins with it."""
    sql = "INSERT INTO sessions VALUES (?, ?, '', ?, 0, NULL, ?) ON CONFLICT (session) DO UPDATE SET units = units + ?"
    state.run(sql, (session, project, now_ms, units, units))


@record
class LastPrompt:
    """The last prompt of a session: its topics, and the probability that memories could help with it."""

    topics: Sequence[str]
    confidence: float


def find_last_prompt(state: State, session: str, now_ms: int) -> LastPrompt | None:
    """Return the last prompt of this session, None where it is unknown or older than TOPICS_MS."""
    sql = "SELECT topics, confidence FROM topics WHERE session = ? AND at BETWEEN ? AND ?"
    for topics_json, confidence in state.run(sql, (session, now_ms - TOPICS_MS, now_ms)):
        topics: Any = light_json.loads(topics_json)
        return LastPrompt(tuple(topics), confidence)
    return None


def keep_last_prompt(state: State, session: str, earlier: LastPrompt, now_ms: int) -> None:
    """Store a prompt's topics until the session's next prompt, for at most TOPICS_MS."""
    state.run("DELETE FROM topics WHERE at < ?", (now_ms - TOPICS_MS,))
    values = (session, light_json.dumps(earlier.topics), earlier.confidence, now_ms)
    state.run("INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?)", values)
    verdicts.note_kept_prompt_text(state)


def find_given(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session has been given."""
    return {id_ for (id_,) in state.run("SELECT memory FROM ledger WHERE session = ?", (session,))}


def has_second_look(state: State, session: str) -> bool:
    """Return whether a second look runs for this session, or its answer waits. A call takes some µs."""
    return bool(session and state.run("SELECT 1 FROM second_looks WHERE session = ?", (session,)))


def record_given(state: State, session: str, memories: Sequence[str], now_ms: int, verdict_id: str) -> None:
    """Record that this verdict gives these memories to this session. The oldest surplus entries are deleted.

    A memory that the session has been given before keeps its time: a resumed session repeats its first block. Times always
    increase, even after a clock that was ahead.
    """
    ((latest_ms,),) = state.run("SELECT max(at) FROM ledger")
    written_ms = max(now_ms, (latest_ms or 0) + 1)
    for memory in memories:
        state.run("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?)", (session, memory, written_ms, verdict_id))
    _keep_newest(state, "ledger", MAX_ENTRIES)


def find_pointed(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session was pointed at."""
    return {id_ for (id_,) in state.run("SELECT memory FROM pointers WHERE session = ?", (session,))}


def record_pointed(state: State, session: str, memories: Sequence[str], now_ms: int, verdict: str) -> None:
    """Record that a verdict points a session at memories. The oldest surplus pointers are deleted."""
    for memory in memories:
        state.run("INSERT OR REPLACE INTO pointers VALUES (?, ?, ?, ?, NULL)", (session, memory, now_ms, verdict))
    _keep_newest(state, "pointers", MAX_POINTERS)


def _keep_newest(state: State, table: str, count: int) -> None:
    state.run(f"DELETE FROM {table} WHERE at < (SELECT at FROM {table} ORDER BY at DESC LIMIT 1 OFFSET ?)", (count - 1,))  # noqa: S608 - our tables


BY_CALLS = "verdict IN (SELECT id FROM verdicts WHERE event IN ('PreToolUse', 'PostToolUseFailure'))"


def has_room_for_line(state: State, session: str) -> bool:
    """Return whether a session may get another line beside a tool call."""
    sql = f"SELECT count(*) FROM pointers WHERE session = ? AND {BY_CALLS}"  # noqa: S608 - a constant
    return int(state.run(sql, (session,))[0][0]) < MAX_CALL_LINES


def note_near(state: State, project: str, near: Iterable[tuple[str, float]], now_ms: int) -> None:
    """Add to the weights of memories that a prompt was near to. near: ids with relevance; project: "" outside of any."""
    ordered = sorted((-relevance, id_) for id_, relevance in near if relevance >= MIN_NEAR_RELEVANCE)[:MAX_NEAR]
    changed = "DO UPDATE SET weight = min(?, weight + excluded.weight), at = excluded.at"
    sql = f"INSERT INTO sought VALUES (?, ?, ?, ?) ON CONFLICT (project, memory) {changed}"  # noqa: S608 - a constant
    for relevance, id_ in ordered:
        state.run(sql, (project, id_, -relevance, now_ms, MAX_WEIGHT))


def note_used(state: State, session: str, memories: Iterable[str], now_ms: int) -> None:
    """Note that a session's tool calls brought memories, or that its agent opened them. `note_near` notes those of prompts."""
    here = "(SELECT project FROM sessions WHERE session = ?)"
    for memory in memories:
        state.run(f"UPDATE sought SET at = ? WHERE memory = ? AND project = {here}", (now_ms, memory, session))  # noqa: S608


def prune_near(state: State) -> None:
    """Delete the oldest weights where there are more than MAX_ROWS."""
    ((count,),) = state.run("SELECT count(*) FROM sought")
    if count > MAX_ROWS:
        _keep_newest(state, "sought", MAX_ROWS // 2 + 1)
