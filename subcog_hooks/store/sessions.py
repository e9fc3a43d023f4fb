"""Sessions: how they began and went on, what their start printed, what their last prompt was about.

A session is a client's id, "" where it names none, of which nothing is kept; a project is its identity, "" outside of any.
Every function raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.store import decision_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.store.state import State

MAX_SESSIONS = 1_000
SESSION_DAYS = 400  # who comes back a year later is no stranger
TOPICS_MS = 30 * 60_000  # how long the topics of a session's last prompt are kept

_DAY_MS = 86_400_000


class Session:
    """A session as far as it went: how it began last ("" where that was not heard), its prompts, when it was begun and last
    heard of (milliseconds since the epoch)."""

    __slots__ = ("last_at", "project", "prompts", "source", "started_at")

    def __init__(self, project: str, source: str, started_at: int, last_at: int, prompts: int) -> None:
        self.project = project
        self.source = source
        self.started_at = started_at
        self.last_at = last_at
        self.prompts = prompts


def begin(state: State, session: str, project: str, source: str, now_ms: int) -> None:
    """Note that a session begins, or goes on, and its prompts go on counting. Sessions of long ago are forgotten."""
    if not session:
        return
    state.run(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, 0, NULL, 0) ON CONFLICT (session)"
        " DO UPDATE SET project = excluded.project, source = excluded.source, last_at = excluded.last_at",
        (session, project, source, now_ms, now_ms),
    )
    _prune(state, now_ms)


def note_prompt(state: State, session: str, project: str, now_ms: int) -> None:
    """Note that a prompt was typed in a session; one whose start was not heard begins with it."""
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
    """Note that a session was at work."""
    state.run("UPDATE sessions SET last_at = ? WHERE session = ?", (now_ms, session))


def _prune(state: State, now_ms: int) -> None:
    state.run("DELETE FROM sessions WHERE last_at < ?", (now_ms - SESSION_DAYS * _DAY_MS,))
    (kept,) = state.run("SELECT count(*) FROM sessions")[0]
    if int(kept or 0) > MAX_SESSIONS:  # .5 ms to find which
        state.run(
            "DELETE FROM sessions WHERE session IN (SELECT session FROM sessions ORDER BY last_at DESC LIMIT -1 OFFSET ?)",
            (MAX_SESSIONS,),
        )


def find(state: State, session: str) -> Session | None:
    """Return what is known of a session, None when nothing is."""
    rows = state.run("SELECT project, source, started_at, last_at, prompts FROM sessions WHERE session = ?", (session,))
    if not rows:
        return None
    project, source, started_at, last_at, prompts = rows[0]
    return Session(str(project), str(source), int(started_at or 0), int(last_at or 0), int(prompts or 0))


def days_since_last(state: State, session: str, project: str, now_ms: int) -> float | None:
    """Return the days since another session of this project was heard of; None when there was none.

    A session that is more than a day to come was noted by a clock that was ahead, and does not count.
    """
    sql = "SELECT max(last_at) FROM sessions WHERE project = ? AND session <> ? AND last_at <= ?"
    rows = state.run(sql, (project, session, now_ms + _DAY_MS))
    last_at = rows[0][0]
    return None if last_at is None else max(0.0, (now_ms - int(last_at)) / _DAY_MS)


def copy_all(source: State, target: State) -> None:
    """Let one state know of sessions and flags what another does."""
    for table, marks in (("sessions", "?, ?, ?, ?, ?, ?, ?, ?"), ("user_flags", "?, ?")):
        for row in source.run(f"SELECT * FROM {table}"):  # noqa: S608 - the tables' own names
            target.run(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)  # noqa: S608 - as above


# what a session has been given


def units_given(state: State, session: str) -> int:
    """Return the UTF-16 units that a session has been given since its client forgot the last."""
    rows = state.run("SELECT units FROM sessions WHERE session = ?", (session,))
    return int(rows[0][0] or 0) if rows else 0


def add_units(state: State, session: str, project: str, units: int, now_ms: int) -> None:
    """Add to the UTF-16 units that a session has been given; one that nothing was heard of begins with it."""
    state.run(
        "INSERT INTO sessions VALUES (?, ?, '', ?, ?, 0, NULL, ?) ON CONFLICT (session) DO UPDATE SET units = units + ?",
        (session, project, now_ms, now_ms, units, units),
    )


def forget_units(state: State, session: str) -> None:
    """Begin a session's account anew: the client has forgotten what it was given."""
    state.run("UPDATE sessions SET units = 0 WHERE session = ?", (session,))


# what a session's start has printed


def find_said(state: State, session: str) -> tuple[str, ...] | None:
    """Return the ids of the memories that its start printed, () when it printed none; None where that is not known."""
    rows = state.run("SELECT said FROM sessions WHERE session = ?", (session,))
    if not rows or rows[0][0] is None:
        return None
    try:
        ids = light_json.loads(str(rows[0][0]))
    except ValueError:
        return None
    return tuple(map(str, ids)) if isinstance(ids, list) else None


def keep_said(state: State, session: str, memories: Sequence[str]) -> None:
    """Keep what the start of a session, which has begun, printed."""
    state.run("UPDATE sessions SET said = ? WHERE session = ?", (light_json.dumps(tuple(memories)), session))


# what the last prompt was about


class Earlier:
    """The last prompt of a session: its topics, and how probable it was that memories could help with it."""

    __slots__ = ("confidence", "topics")

    def __init__(self, topics: Sequence[str], confidence: float) -> None:
        self.topics = tuple(topics)
        self.confidence = confidence


def last_topics(state: State, session: str, now_ms: int) -> Earlier | None:
    """Return what the last prompt of this session was about, None where that is unknown or longer ago than TOPICS_MS."""
    rows = state.run(
        "SELECT topics, confidence FROM topics WHERE session = ? AND at BETWEEN ? AND ?",
        (session, now_ms - TOPICS_MS, now_ms),
    )
    if not rows:
        return None
    topics = light_json.loads(str(rows[0][0]))
    return Earlier(topics, float(rows[0][1] or 0)) if isinstance(topics, list) else None


def keep_topics(state: State, session: str, earlier: Earlier, now_ms: int) -> None:
    """Keep what a prompt was about until the session's next one, at most TOPICS_MS long."""
    state.run("DELETE FROM topics WHERE at < ?", (now_ms - TOPICS_MS,))
    state.run(
        "INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?)",
        (session, light_json.dumps(earlier.topics), earlier.confidence, now_ms),
    )
    decision_log.note_kept_texts(state)


def forget_topics(state: State, session: str) -> None:
    """Let the session's next prompt stand for itself."""
    state.run("DELETE FROM topics WHERE session = ?", (session,))
