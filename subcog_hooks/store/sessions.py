"""Sessions: their start, activity, printed memories and last prompt.

A session is a client's id. Nothing is kept of a client that names none (""). A project is its identity, "" outside of any.
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
SESSION_DAYS = 400  # a user who returns after a year still counts as known
TOPICS_MS = 30 * 60_000

_DAY_MS = 86_400_000


class Session:
    """The record of a session.

    source: its last kind of start, "" for unknown; prompts: their number; started_at, last_at: milliseconds since the epoch.
    """

    __slots__ = ("last_at", "project", "prompts", "source", "started_at")

    def __init__(self, project: str, source: str, started_at: int, last_at: int, prompts: int) -> None:
        self.project = project
        self.source = source
        self.started_at = started_at
        self.last_at = last_at
        self.prompts = prompts


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
        "SELECT topics, confidence FROM topics WHERE session = ? AND at BETWEEN ? AND ?",
        (session, now_ms - TOPICS_MS, now_ms),
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
    decision_log.note_kept_prompt_text(state)


def forget_topics(state: State, session: str) -> None:
    """Delete the topics of the session's last prompt."""
    state.run("DELETE FROM topics WHERE session = ?", (session,))
