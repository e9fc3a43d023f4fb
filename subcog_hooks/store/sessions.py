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
UNUSED_MS, UNUSED_SESSIONS = 60 * _DAY_MS, 20  # A model's memory without a use in both leaves the brief.


@record
class Session:
    """The record of a session. source: its last kind of start, "" for unknown; prompts: their number."""

    source: str
    prompts: int


def begin_session(state: State, session: str, project: str, source: str, now_ms: int) -> None:
    """Note the start of a session; one that goes on keeps its count of prompts. Old sessions are deleted."""
    if not session:
        return
    state.run(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, 0, NULL, 0) ON CONFLICT (session)"
        " DO UPDATE SET project = excluded.project, source = excluded.source, last_at = excluded.last_at",
        (session, project, source, now_ms),
    )
    _prune(state, now_ms)


def note_prompt(state: State, session: str, project: str, now_ms: int) -> None:
    """Count a prompt of a session. A session without a noted start begins with it."""
    if not session:
        return
    rows = state.run(
        "INSERT INTO sessions VALUES (?, ?, '', ?, 1, NULL, 0) ON CONFLICT (session)"
        " DO UPDATE SET prompts = prompts + 1, last_at = excluded.last_at RETURNING prompts",
        (session, project, now_ms),
    )
    if rows[0][0] == 1:
        _prune(state, now_ms)


def note_activity(state: State, session: str, now_ms: int) -> None:
    """Set the time of a session's last activity."""
    state.run("UPDATE sessions SET last_at = ? WHERE session = ?", (now_ms, session))


def last_activity(state: State, client: str) -> int | None:
    """Return when a session of another client was last active, in milliseconds since the epoch; None for never."""
    # The prefix of its sessions' ids ends in a colon, and a semicolon follows that.
    ((last_ms,),) = state.run(
        "SELECT max(last_at) FROM sessions WHERE session > ? AND session < ?", (f"{client}:", f"{client};")
    )
    return last_ms  # type: ignore[no-any-return]  # a number or NULL


def _prune(state: State, now_ms: int) -> None:
    state.run("DELETE FROM sessions WHERE last_at < ?", (now_ms - SESSION_DAYS * _DAY_MS,))
    ((count,),) = state.run("SELECT count(*) FROM sessions")
    if count > MAX_SESSIONS:  # finding the oldest takes .5 ms
        state.run(
            "DELETE FROM sessions WHERE session IN (SELECT session FROM sessions ORDER BY last_at DESC LIMIT -1 OFFSET ?)",
            (MAX_SESSIONS,),
        )


def find_session(state: State, session: str) -> Session | None:
    """Return the record of a session, None when there is none."""
    rows = state.run("SELECT source, prompts FROM sessions WHERE session = ?", (session,))
    return Session(*rows[0]) if rows else None


def days_since_last(state: State, session: str, project: str, now_ms: int) -> float | None:
    """Return the days since the last activity of another session of this project, None when there was none.

    A session that is dated more than a day ahead was written by a wrong clock and does not count.
    """
    sql = "SELECT max(last_at) FROM sessions WHERE project = ? AND session <> ? AND last_at <= ?"
    ((last_ms,),) = state.run(sql, (project, session, now_ms + _DAY_MS))
    return None if last_ms is None else max(0.0, (now_ms - last_ms) / _DAY_MS)


def count_units(state: State, session: str) -> int:
    """Return the UTF-16 units given to a session since its client last forgot its context."""
    return next((units for (units,) in state.run("SELECT units FROM sessions WHERE session = ?", (session,))), 0)


def add_units(state: State, session: str, project: str, units: int, now_ms: int) -> None:
    """Add to the UTF-16 units given to a session; an unknown session begins with it."""
    state.run(
        "INSERT INTO sessions VALUES (?, ?, '', ?, 0, NULL, ?) ON CONFLICT (session) DO UPDATE SET units = units + ?",
        (session, project, now_ms, units, units),
    )


def find_printed_ids(state: State, session: str) -> tuple[str, ...] | None:
    """Return the ids of the memories that the session's start printed, None where they are unknown."""
    for (said,) in state.run("SELECT said FROM sessions WHERE session = ? AND said IS NOT NULL", (session,)):
        ids: Any = light_json.loads(said)
        return tuple(ids)
    return None


def keep_printed_ids(state: State, session: str, memories: Sequence[str] | None) -> None:
    """Store the ids of the memories that the start of a session printed, None where it begins anew."""
    said = None if memories is None else light_json.dumps(memories)
    state.run("UPDATE sessions SET said = ? WHERE session = ?", (said, session))


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


def forget_topics(state: State, session: str) -> None:
    """Delete the topics of the session's last prompt."""
    state.run("DELETE FROM topics WHERE session = ?", (session,))


def find_given(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session has been given."""
    return {id_ for (id_,) in state.run("SELECT memory FROM ledger WHERE session = ?", (session,))}


def count_given(state: State, session: str) -> int:
    """Return how many memories the hook has given to this session; opened ones were not given by the hook."""
    sql = "SELECT count(DISTINCT memory) FROM ledger WHERE session IN (?, ?) AND verdict <> ''"
    return int(state.run(sql, (session, session + CUT))[0][0])


def find_last_given(state: State, session: str, limit: int) -> list[str]:
    """Return the ids of the last memories that this session has been given, the latest first."""
    sql = "SELECT memory FROM ledger WHERE session IN (?, ?) GROUP BY memory ORDER BY max(at) DESC, memory LIMIT ?"
    return [id_ for (id_,) in state.run(sql, (session, session + CUT, limit))]


def find_giving_verdict(state: State, session: str, memory: str) -> str:
    """Return the id of the verdict that gave a memory to this session, "" where it is unknown."""
    rows = state.run("SELECT verdict FROM ledger WHERE session = ? AND memory = ?", (session, memory))
    return rows[0][0] if rows else ""


def has_second_look(state: State, session: str) -> bool:
    """Return whether a second look runs for this session, or its answer waits. A call takes some µs."""
    return bool(session and state.run("SELECT 1 FROM second_looks WHERE session = ?", (session,)))


def record_given(state: State, session: str, memories: Sequence[str], now_ms: int, verdict_id: str) -> None:
    """Record that this verdict gives these memories to this session. The oldest surplus entries are deleted.

    A memory that the session has been given before keeps its time: a resumed session repeats its first block.

    Times always increase, even after a clock that was ahead: its entries are followed by later ones and push none out.
    """
    ((latest_ms,),) = state.run("SELECT max(at) FROM ledger")
    written_ms = max(now_ms, (latest_ms or 0) + 1)
    for memory in memories:
        state.run("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?)", (session, memory, written_ms, verdict_id))
    state.run("DELETE FROM ledger WHERE at < (SELECT at FROM ledger ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ENTRIES - 1,))


def find_pointed(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session was pointed at."""
    return {id_ for (id_,) in state.run("SELECT memory FROM pointers WHERE session = ?", (session,))}


def record_pointed(state: State, session: str, memories: Sequence[str], now_ms: int, verdict: str) -> None:
    """Record that a verdict points a session at memories. The oldest surplus pointers are deleted."""
    for memory in memories:
        state.run("INSERT OR REPLACE INTO pointers VALUES (?, ?, ?, ?, NULL)", (session, memory, now_ms, verdict))
    sql = "DELETE FROM pointers WHERE at < (SELECT at FROM pointers ORDER BY at DESC LIMIT 1 OFFSET ?)"
    state.run(sql, (MAX_POINTERS - 1,))


def find_seen(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session and its subagents were given or pointed at."""
    ends = _ends_with_subagents(session)
    sql = "SELECT memory FROM {} WHERE session >= ? AND session < ?"
    return {id_ for table in ("ledger", "pointers") for (id_,) in state.run(sql.format(table), ends)}


def note_opened(state: State, session: str, memories: Sequence[str], now_ms: int) -> list[str]:
    """Record that a session opens memories. Return the ids that it, or a subagent, was pointed at and had not opened."""
    sql = (
        "UPDATE pointers SET opened_at = ? "
        "WHERE session >= ? AND session < ? AND memory = ? AND opened_at IS NULL RETURNING memory"
    )
    ends = _ends_with_subagents(session)
    return [memory for memory in memories if state.run(sql, (now_ms, *ends, memory))]


def count_opened(state: State, session: str) -> int:
    """Return how many memories this session has opened from lines that pointed at them."""
    return int(state.run("SELECT count(*) FROM pointers WHERE session = ? AND opened_at IS NOT NULL", (session,))[0][0])


def find_openings(state: State) -> list[tuple[str, str]]:
    """Return the openings of memories from lines, as (memory, verdict of the line), the latest first."""
    return state.run("SELECT memory, verdict FROM pointers WHERE opened_at IS NOT NULL ORDER BY opened_at DESC, memory")


def _ends_with_subagents(session: str) -> tuple[str, str]:
    """Return the ends of a session's key and those of its subagents, which begin with it and a slash."""
    return session, f"{session}0"  # The zero follows the slash.


_BY_CALLS = "verdict IN (SELECT id FROM verdicts WHERE event IN ('PreToolUse', 'PostToolUseFailure'))"


def has_room_for_line(state: State, session: str) -> bool:
    """Return whether a session may get another line beside a tool call."""
    sql = f"SELECT count(*) FROM pointers WHERE session = ? AND {_BY_CALLS}"  # noqa: S608 - a constant
    return int(state.run(sql, (session,))[0][0]) < MAX_CALL_LINES


def forget_session(state: State, session: str) -> None:
    """Delete the entries and units of a session whose client has forgotten its context: it may be given them again."""
    state.run("UPDATE sessions SET units = 0 WHERE session = ?", (session,))
    state.run("DELETE FROM ledger WHERE session IN (?, ?)", (session, session + CUT))
    state.run("DELETE FROM pointers WHERE session = ? AND opened_at IS NULL", (session,))
    state.run("UPDATE OR REPLACE pointers SET session = '' WHERE session = ?", (session,))  # Openings are kept: they teach.


def forget_calls(state: State, session: str) -> None:
    """Let the memories come again that tool calls have brought to a session, whose client has lost these texts alone."""
    for table, also in (("ledger", ""), ("pointers", " AND opened_at IS NULL")):
        state.run(f"DELETE FROM {table} WHERE session = ? AND {_BY_CALLS}{also}", (session,))  # noqa: S608 - constants


def forget_given(state: State, memories: Sequence[str]) -> None:
    """Let reworded memories come again in every session. Hand-overs are counted on; openings are kept, since they teach."""
    for memory in memories:
        state.run("UPDATE OR REPLACE ledger SET session = session || '/reworded' WHERE memory = ?", (memory,))
        state.run("DELETE FROM pointers WHERE memory = ? AND opened_at IS NULL", (memory,))


@record
class HandOvers:
    """The sessions that were given a memory: their number, and the last time, milliseconds since the epoch."""

    sessions: int
    last_at: int


def count_hand_overs(state: State) -> dict[str, HandOvers]:
    """Return how many sessions were given each memory, by its id."""
    session = "substr(session, 1, instr(session || '/', '/') - 1)"  # without the subagent
    rows = state.run(f"SELECT memory, count(DISTINCT {session}), max(at) FROM ledger GROUP BY memory")  # noqa: S608 - constant
    return {id_: HandOvers(sessions, last_ms) for id_, sessions, last_ms in rows}


def find_first_given(state: State) -> int | None:
    """Return the time of the first entry, milliseconds since the epoch; None for an empty ledger."""
    ((first_ms,),) = state.run("SELECT min(at) FROM ledger")
    return first_ms  # type: ignore[no-any-return]  # a number or NULL


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
    sql = "SELECT memory, weight FROM sought WHERE project = ? ORDER BY weight DESC, memory LIMIT ?"
    return dict(state.run(sql, (project, limit)))


def note_shown(state: State, project: str, memories: Iterable[str], now_ms: int) -> None:
    """Note that a brief begins to show memories. From then on they have to be used."""
    for memory in memories:
        state.run("INSERT OR IGNORE INTO sought VALUES (?, ?, 0.0, ?)", (project, memory, now_ms))


def note_used(state: State, session: str, memories: Iterable[str], now_ms: int) -> None:
    """Note that a session's tool calls brought memories, or that its agent opened them. `note_near` notes those of prompts."""
    here = "(SELECT project FROM sessions WHERE session = ?)"
    for memory in memories:
        state.run(f"UPDATE sought SET at = ? WHERE memory = ? AND project = {here}", (now_ms, memory, session))  # noqa: S608


def find_unused(state: State, project: str, now_ms: int, unused_ms: int = UNUSED_MS) -> set[str]:
    """Return the memories of a project's briefs and prompts that had no use for that long and for UNUSED_SESSIONS."""
    latest = "SELECT last_at FROM sessions WHERE project = ? ORDER BY last_at DESC LIMIT 1 OFFSET ?"
    rows = state.run(
        f"SELECT memory FROM sought WHERE project = ? AND at < min(?, ({latest}))",  # noqa: S608 - constant text
        (project, now_ms - unused_ms, project, UNUSED_SESSIONS),
    )
    return {id_ for (id_,) in rows}


def prune_near(state: State) -> None:
    """Delete the oldest weights where there are more than MAX_ROWS."""
    ((count,),) = state.run("SELECT count(*) FROM sought")
    if count > MAX_ROWS:
        state.run("DELETE FROM sought WHERE at < (SELECT at FROM sought ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ROWS // 2,))
