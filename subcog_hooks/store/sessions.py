"""Sessions, and the ledger of the memories each was given, so that none comes twice."""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.records import record
from subcog_hooks.store import verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from subcog_hooks.store.state import State

MAX_SESSIONS = 1_000
SESSION_DAYS = 400  # a user who returns after a year still counts as known
TOPICS_MS = 30 * 60_000

_DAY_MS = 86_400_000


@record
class Session:
    """The record of a session.

    source: its last kind of start, "" for unknown; prompts: their number; started_at, last_at: milliseconds since the epoch.
    """

    project: str
    source: str
    started_at: int
    last_at: int
    prompts: int


def begin_session(state: State, session: str, project: str, source: str, now_ms: int) -> None:
    """Note the start of a session; one that goes on keeps its count of prompts. Old sessions are deleted."""
    if not session:
        return
    state.run(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, 0, NULL, 0) ON CONFLICT (session)"
        " DO UPDATE SET project = excluded.project, source = excluded.source, last_at = excluded.last_at",
        (session, project, source, now_ms, now_ms),
    )
    _prune(state, now_ms)


def note_prompt(state: State, session: str, project: str, now_ms: int) -> None:
    """Count a prompt of a session. A session without a noted start begins with it."""
    if not session:
        return
    rows = state.run(
        "INSERT INTO sessions VALUES (?, ?, '', ?, ?, 1, NULL, 0) ON CONFLICT (session)"
        " DO UPDATE SET prompts = prompts + 1, last_at = excluded.last_at RETURNING prompts",
        (session, project, now_ms, now_ms),
    )
    if rows[0][0] == 1:
        _prune(state, now_ms)


def note_activity(state: State, session: str, now_ms: int) -> None:
    """Set the time of a session's last activity."""
    state.run("UPDATE sessions SET last_at = ? WHERE session = ?", (now_ms, session))


def last_activity(state: State, client: str) -> int | None:
    """Return when a session of another client was last active, in milliseconds since the epoch; None for never."""
    # The prefix of its sessions' ids ends in a colon, and a semicolon follows that.
    rows = state.run("SELECT max(last_at) FROM sessions WHERE session > ? AND session < ?", (f"{client}:", f"{client};"))
    return int(rows[0][0]) if rows[0][0] is not None else None


def _prune(state: State, now_ms: int) -> None:
    state.run("DELETE FROM sessions WHERE last_at < ?", (now_ms - SESSION_DAYS * _DAY_MS,))
    (count,) = state.run("SELECT count(*) FROM sessions")[0]
    if int(count or 0) > MAX_SESSIONS:  # finding the oldest takes .5 ms
        state.run(
            "DELETE FROM sessions WHERE session IN (SELECT session FROM sessions ORDER BY last_at DESC LIMIT -1 OFFSET ?)",
            (MAX_SESSIONS,),
        )


def find_session(state: State, session: str) -> Session | None:
    """Return the record of a session, None when there is none."""
    rows = state.run("SELECT project, source, started_at, last_at, prompts FROM sessions WHERE session = ?", (session,))
    if not rows:
        return None
    project, source, started_at, last_at, prompts = rows[0]
    return Session(str(project), str(source), int(started_at or 0), int(last_at or 0), int(prompts or 0))


def days_since_last(state: State, session: str, project: str, now_ms: int) -> float | None:
    """Return the days since the last activity of another session of this project, None when there was none.

    A session that is dated more than a day ahead was written by a wrong clock and does not count.
    """
    sql = "SELECT max(last_at) FROM sessions WHERE project = ? AND session <> ? AND last_at <= ?"
    rows = state.run(sql, (project, session, now_ms + _DAY_MS))
    last_at = rows[0][0]
    return None if last_at is None else max(0.0, (now_ms - int(last_at)) / _DAY_MS)


# the UTF-16 units given to a session


def count_units(state: State, session: str) -> int:
    """Return the UTF-16 units given to a session since its client last forgot its context."""
    rows = state.run("SELECT units FROM sessions WHERE session = ?", (session,))
    return int(rows[0][0] or 0) if rows else 0


def add_units(state: State, session: str, project: str, units: int, now_ms: int) -> None:
    """Add to the UTF-16 units given to a session; an unknown session begins with it."""
    state.run(
        "INSERT INTO sessions VALUES (?, ?, '', ?, ?, 0, NULL, ?) ON CONFLICT (session) DO UPDATE SET units = units + ?",
        (session, project, now_ms, now_ms, units, units),
    )


def forget_units(state: State, session: str) -> None:
    """Set the units of a session to 0: the client has forgotten its context."""
    state.run("UPDATE sessions SET units = 0 WHERE session = ?", (session,))


# the memories that a session's start has printed


def find_printed_ids(state: State, session: str) -> tuple[str, ...] | None:
    """Return the ids of the memories that the session's start printed, None where they are unknown."""
    rows = state.run("SELECT said FROM sessions WHERE session = ?", (session,))
    if not rows or rows[0][0] is None:
        return None
    try:
        ids = light_json.loads(str(rows[0][0]))
    except ValueError:
        return None
    return tuple(map(str, ids)) if isinstance(ids, list) else None


def keep_printed_ids(state: State, session: str, memories: Sequence[str]) -> None:
    """Store the ids of the memories that the start of a session printed."""
    state.run("UPDATE sessions SET said = ? WHERE session = ?", (light_json.dumps(tuple(memories)), session))


def forget_printed_ids(state: State, session: str) -> None:
    """Forget which memories the start of a session printed, so that it begins anew."""
    state.run("UPDATE sessions SET said = NULL WHERE session = ?", (session,))


# the topics of the last prompt


class LastPrompt:
    """The last prompt of a session: its topics, and the probability that memories could help with it."""

    __slots__ = ("confidence", "topics")

    def __init__(self, topics: Sequence[str], confidence: float) -> None:
        self.topics = tuple(topics)
        self.confidence = confidence


def find_last_prompt(state: State, session: str, now_ms: int) -> LastPrompt | None:
    """Return the last prompt of this session, None where it is unknown or older than TOPICS_MS."""
    rows = state.run(
        "SELECT topics, confidence FROM topics WHERE session = ? AND at BETWEEN ? AND ?", (session, now_ms - TOPICS_MS, now_ms)
    )
    if not rows:
        return None
    topics = light_json.loads(str(rows[0][0]))
    return LastPrompt(topics, float(rows[0][1] or 0)) if isinstance(topics, list) else None


def keep_last_prompt(state: State, session: str, earlier: LastPrompt, now_ms: int) -> None:
    """Store a prompt's topics until the session's next prompt, for at most TOPICS_MS."""
    state.run("DELETE FROM topics WHERE at < ?", (now_ms - TOPICS_MS,))
    state.run(
        "INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?)",
        (session, light_json.dumps(earlier.topics), earlier.confidence, now_ms),
    )
    verdicts.note_kept_prompt_text(state)


def forget_topics(state: State, session: str) -> None:
    """Delete the topics of the session's last prompt."""
    state.run("DELETE FROM topics WHERE session = ?", (session,))


CUT = "/cut"  # behind the key of a session, for memories of which it has a part
MAX_ENTRIES = 10_000  # given memories, of all sessions: some months
MAX_CALL_LINES = 5  # lines beside a session's tool calls
MAX_POINTERS = 10_000  # memories that lines pointed at


def find_given(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session has been given."""
    return {str(row[0]) for row in state.run("SELECT memory FROM ledger WHERE session = ?", (session,))}


def count_given(state: State, session: str) -> int:
    """Return how many memories the hook has given to this session; opened ones were not given by the hook."""
    sql = "SELECT count(DISTINCT memory) FROM ledger WHERE session IN (?, ?) AND decision <> ''"
    rows = state.run(sql, (session, session + CUT))
    return int(rows[0][0] or 0)


def find_last_given(state: State, session: str, limit: int) -> list[str]:
    """Return the ids of the last memories that this session has been given, the latest first."""
    sql = "SELECT memory FROM ledger WHERE session IN (?, ?) GROUP BY memory ORDER BY max(at) DESC, memory LIMIT ?"
    rows = state.run(sql, (session, session + CUT, limit))
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

    A memory that the session has been given before keeps its time: a resumed session repeats its first block.

    Times always increase, even after a clock that was ahead: its entries are followed by later ones and push none out.
    """
    ((latest_ms,),) = state.run("SELECT max(at) FROM ledger")
    written_ms = max(now_ms, int(latest_ms or 0) + 1)
    for memory in memories:
        state.run("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?)", (session, memory, written_ms, decision_id))
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


def has_room_for_line(state: State, session: str) -> bool:
    """Return whether a session may get another line beside a tool call."""
    events = "SELECT id FROM decisions WHERE event IN ('PreToolUse', 'PostToolUseFailure')"
    rows = state.run(f"SELECT count(*) FROM pointers WHERE session = ? AND decision IN ({events})", (session,))  # noqa: S608
    return int(rows[0][0] or 0) < MAX_CALL_LINES


def forget_session(state: State, session: str) -> None:
    """Delete the entries of a session whose client has forgotten its context: it may be given them again."""
    state.run("DELETE FROM ledger WHERE session IN (?, ?)", (session, session + CUT))
    state.run("DELETE FROM pointers WHERE session = ? AND opened_at IS NULL", (session,))
    state.run("UPDATE OR REPLACE pointers SET session = '' WHERE session = ?", (session,))  # Openings are kept: they teach.


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


UNUSED_MS, UNUSED_SESSIONS = 60 * _DAY_MS, 20  # A model's memory without a use in both leaves the brief.


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
    return {str(row[0]) for row in rows}


def prune_near(state: State) -> None:
    """Delete the oldest weights where there are more than MAX_ROWS."""
    (count,) = state.run("SELECT count(*) FROM sought")[0]
    if int(count or 0) > MAX_ROWS:
        state.run("DELETE FROM sought WHERE at < (SELECT at FROM sought ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_ROWS // 2,))
