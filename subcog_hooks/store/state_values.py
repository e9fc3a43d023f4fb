"""Single values in state.db: pause, reminders, flags of the person, seen files, compiled settings, calls of a model.

Every function raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from subcog_hooks.store.state import State

DAY_MS = 86_400_000
REMIND_EVERY_MS = 164 * 3_600_000  # once a week, also where a day begins some hours earlier
MAX_FLAGS = 200
MAX_STEP_MS = 60_000  # a normal correction of a clock, as by the network's time
LASTS_MS = 10 * 60_000  # ms; long enough for a slow command before ours, as in `make && subcog remember …`
MAX_FILES = 1_000  # settings files
SESSIONS_JOB, QUESTIONS_JOB, LOOKS_JOB, RANKING_JOB = "sessions", "questions", "second looks", "search --rank"


# the pause


def begin_pause(state: State, now_ms: int, length_ms: int | None) -> None:
    """Silence the hooks for some milliseconds, or without a length until `end_pause`."""
    until_ms = None if length_ms is None else now_ms + length_ms
    state.run("INSERT OR REPLACE INTO pause (rowid, since, until) VALUES (1, ?, ?)", (now_ms, until_ms))


def end_pause(state: State, now_ms: int) -> bool:
    """End the pause. Return whether there was one."""
    was = is_paused(state, now_ms)
    state.run("DELETE FROM pause")
    return was


def is_paused(state: State, now_ms: int) -> bool:
    """Return whether the hooks are paused.

    A pause of some length that begins in the future was set by a wrong clock, and is none.
    """
    sql = "SELECT 1 FROM pause WHERE until IS NULL OR until > ? AND since <= ?"
    return bool(state.run(sql, (now_ms, now_ms + MAX_STEP_MS)))


# what is due again


def is_due(state: State, task: str, now_ms: int, interval_ms: int) -> bool:
    """Return whether a task of the table `due_times` is due. A time beyond the interval comes from a wrong clock."""
    return not state.run("SELECT 1 FROM due_times WHERE task = ? AND at BETWEEN ? AND ?", (task, now_ms, now_ms + interval_ms))


def set_due(state: State, task: str, at_ms: int) -> None:
    """Record when a task is due again, milliseconds since the epoch."""
    state.run("INSERT OR REPLACE INTO due_times VALUES (?, ?)", (task, at_ms))


# what the next session's start says


def note_noted(state: State, id: str) -> None:
    """Record that a memory from a session was stored without the person's answer. The next session's start says so."""
    state.run("INSERT OR REPLACE INTO noted VALUES (?, NULL)", (id,))


def find_noted(state: State) -> list[str]:
    """Return the ids of all such memories."""
    return [id_ for (id_,) in state.run("SELECT memory FROM noted")]


def find_untold(state: State) -> list[str]:
    """Return the ids of such memories that no session's start has named."""
    return [id_ for (id_,) in state.run("SELECT memory FROM noted WHERE told_at IS NULL")]


def note_told(state: State, ids: Iterable[str], now_ms: int) -> None:
    """Record that a session's start has named these memories."""
    for id_ in ids:
        state.run("UPDATE noted SET told_at = ? WHERE memory = ?", (now_ms, id_))


def note_news(state: State, line: str) -> None:
    """Let the next session's start show a line to the person."""
    state.run("INSERT OR IGNORE INTO news VALUES (?)", (line,))


def find_news(state: State) -> list[str]:
    """Return the lines that no session's start has shown."""
    return [line for (line,) in state.run("SELECT line FROM news")]


def forget_news(state: State, lines: Iterable[str]) -> None:
    """Delete lines that a session's start has shown."""
    for line in lines:
        state.run("DELETE FROM news WHERE line = ?", (line,))


# flags of the person


def find_flags(state: State) -> dict[str, bool | int | float | str]:
    """Return the flags that are set, by name."""
    flags = {}
    for name, text in state.run("SELECT name, value FROM user_flags ORDER BY name"):
        try:
            value = light_json.loads(text)
        except ValueError:
            continue  # another program has written the value
        if isinstance(value, bool | int | float | str):
            flags[name] = value
    return flags


def set_flag(state: State, name: str, value: bool | float | str) -> None:
    """Set a flag. Raises UsageError when there are MAX_FLAGS others."""
    ((others,),) = state.run("SELECT count(*) FROM user_flags WHERE name <> ?", (name,))
    if others >= MAX_FLAGS:
        raise UsageError(f"{MAX_FLAGS} flags are set", "`subcog state clear NAME` takes one away")
    state.run("INSERT OR REPLACE INTO user_flags VALUES (?, ?)", (name, light_json.dumps(value)))


def clear_flag(state: State, name: str) -> bool:
    """Delete a flag. Return whether it was set."""
    return bool(state.run("DELETE FROM user_flags WHERE name = ? RETURNING 1", (name,)))


# sessions whose client does not ask the person


def note_unasked(state: State, session: str, now_ms: int, *, is_asked: bool) -> None:
    """Record whether the client asks the person before this session's next commands."""
    if not is_asked and not is_unasked(state, session, now_ms + LASTS_MS // 2):
        state.run("DELETE FROM unasked WHERE until < ?", (now_ms,))
        state.run("INSERT OR REPLACE INTO unasked VALUES (?, ?)", (session, now_ms + LASTS_MS))
    elif is_asked and is_unasked(state, session, now_ms):
        state.run("DELETE FROM unasked WHERE session = ?", (session,))


def is_unasked(state: State, session: str, now_ms: int) -> bool:
    """Return whether this session's client lately ran without asking the person."""
    return bool(state.run("SELECT 1 FROM unasked WHERE session = ? AND until > ?", (session, now_ms)))


# files


def note_seen(state: State, paths: Iterable[str], now_ms: int) -> None:
    """Note that these files and folders exist, which memories are about. A known one keeps its time."""
    for path in paths:
        state.run("INSERT OR IGNORE INTO seen_paths VALUES (?, ?)", (path, now_ms))


def were_seen(state: State, paths: Iterable[str]) -> bool:
    """Return whether all these files and folders were there at some time. Each takes some µs."""
    return all(state.run("SELECT 1 FROM seen_paths WHERE path = ?", (path,)) for path in paths)


class CompiledSettings:
    """The compiled settings files that a state.db keeps, by path, stamp (in the column `mtime_ns`) and size."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def find_compiled(self, path: str, stamp: int, size: int) -> str | None:
        """Return the compiled form of a file, None when the file has changed since."""
        sql = "SELECT settings FROM compiled WHERE path = ? AND mtime_ns = ? AND size = ?"
        return next((settings for (settings,) in self._state.run(sql, (path, stamp, size))), None)

    def keep_compiled(self, path: str, stamp: int, size: int, settings: str) -> None:
        """Store the compiled form of a file. Raises StoreBusy soon when another process is writing."""
        self._state.run_briefly("INSERT OR REPLACE INTO compiled VALUES (?, ?, ?, ?)", (path, stamp, size, settings))
        self._state.run_briefly("DELETE FROM compiled WHERE rowid < (SELECT max(rowid) FROM compiled) - ?", (MAX_FILES,))


# the calls of a model


@record
class LlmUse:
    """The calls of a job today. characters: of what was sent; last_ms: the last call, milliseconds since the epoch."""

    job: str
    calls: int
    characters: int
    last_ms: int


def find_llm_use(state: State, now_ms: int) -> list[LlmUse]:
    """Return the calls since midnight, UTC, by job."""
    sql = "SELECT job, calls, characters, last_at FROM llm_calls WHERE day = ? ORDER BY job"
    return [LlmUse(*row) for row in state.run(sql, (now_ms // DAY_MS,))]


def llm_calls_today(state: State, now_ms: int) -> int:
    """Return the number of calls since midnight, UTC."""
    return sum(use.calls for use in find_llm_use(state, now_ms))


def take_llm_call(state: State, now_ms: int, max_calls: int, job: str, characters: int) -> bool:
    """Return whether one more of `max_calls` calls is left today; if so, count it for the job, with the characters sent."""
    if llm_calls_today(state, now_ms) >= max_calls:
        return False
    day = now_ms // DAY_MS
    state.run("DELETE FROM llm_calls WHERE day < ?", (day,))
    state.run(
        "INSERT INTO llm_calls VALUES (?1, ?2, 1, ?3, ?4) ON CONFLICT (day, job) DO UPDATE SET calls = calls + 1,"
        " characters = characters + ?3, last_at = ?4",
        (day, job, characters, now_ms),
    )
    return True
