"""Single values in state.db: named numbers, flags of the user, the pause, calls of a model, compiled settings.

Every function raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from subcog_hooks.store.state import State

REMIND_EVERY_MS = 164 * 3_600_000  # once a week, also where a day begins some hours earlier

_REMINDED = "reminded"  # holds the time of the next reminder of memories that wait for review
_NOTED, _UNTOLD = "noted: ", 0  # the prefix of a memory's name; its number, until a session's start has named it
_NEWS = "news: "  # the prefix of a line for the person; the next session's start shows it once
_SEEN = "seen: "  # the prefix of a path that a memory is about; the number is when it was first seen


def find_number(state: State, name: str) -> int | None:
    """Return a number, None where there is none."""
    rows = state.run("SELECT until FROM flags WHERE name = ?", (name,))
    return rows[0][0] if rows and isinstance(rows[0][0], int) else None


def put_number(state: State, name: str, number: int) -> None:
    state.run("INSERT INTO flags VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until", (name, number))


def delete_number(state: State, name: str) -> None:
    state.run("DELETE FROM flags WHERE name = ?", (name,))


def find_numbers(state: State, prefix: str) -> dict[str, int]:
    """Return the numbers whose names begin with `prefix`, which ends in a blank, by the rest of the name."""
    names = (prefix, f"{prefix[:-1]}!")  # "!" follows the blank.
    rows = state.run("SELECT name, until FROM flags WHERE name >= ? AND name < ?", names)
    return {str(name).removeprefix(prefix): number for name, number in rows if isinstance(number, int)}


def is_ahead(state: State, name: str, now_ms: int, longest_ms: int) -> bool:
    """Return whether a number is a future time. A time more than `longest_ms` ahead comes from a wrong clock: False."""
    until = find_number(state, name)
    return until is not None and now_ms <= until <= now_ms + longest_ms


def is_reminder_due(state: State, now_ms: int) -> bool:
    """Return whether the last reminder of memories that wait for review is REMIND_EVERY_MS ago."""
    return not is_ahead(state, _REMINDED, now_ms, REMIND_EVERY_MS)


def note_reminder(state: State, now_ms: int) -> None:
    """Record that a session was reminded."""
    put_number(state, _REMINDED, now_ms + REMIND_EVERY_MS)


MAX_FLAGS = 200


def find_flags(state: State) -> dict[str, bool | int | float | str]:
    """Return the flags that are set, by name."""
    flags = {}
    for name, text in state.run("SELECT name, value FROM user_flags ORDER BY name"):
        try:
            value = light_json.loads(str(text))
        except ValueError:
            continue  # another program has written the value
        if isinstance(value, bool | int | float | str):
            flags[str(name)] = value
    return flags


def set_flag(state: State, name: str, value: bool | float | str) -> None:
    """Set a flag. Raises UsageError when there are MAX_FLAGS others."""
    (others,) = state.run("SELECT count(*) FROM user_flags WHERE name <> ?", (name,))[0]
    if int(others or 0) >= MAX_FLAGS:
        raise UsageError(f"{MAX_FLAGS} flags are set", "`subcog state clear NAME` takes one away")
    state.run("INSERT OR REPLACE INTO user_flags VALUES (?, ?)", (name, light_json.dumps(value)))


def clear_flag(state: State, name: str) -> bool:
    """Delete a flag. Return whether it was set."""
    return bool(state.run("DELETE FROM user_flags WHERE name = ? RETURNING 1", (name,)))


MAX_STEP_MS = 60_000  # a normal correction of a clock, as by the network's time


def begin_pause(state: State, now_ms: int, length_ms: int | None) -> None:
    """Silence the hooks for some milliseconds, or without a length until `end_pause`."""
    until = None if length_ms is None else now_ms + length_ms
    state.run("INSERT OR REPLACE INTO flags VALUES ('paused', ?), ('paused since', ?)", (until, now_ms))


def end_pause(state: State, now_ms: int) -> bool:
    """End the pause. Return whether there was one."""
    was = is_paused(state, now_ms)
    state.run("DELETE FROM flags WHERE name IN ('paused', 'paused since')")
    return was


def is_paused(state: State, now_ms: int) -> bool:
    """Return whether the hooks are paused.

    A pause of some length that begins in the future was set by a wrong clock, and is none.
    """
    is_to_come = "EXISTS (SELECT 1 FROM flags WHERE name = 'paused since' AND until > ?)"
    sql = f"SELECT 1 FROM flags WHERE name = 'paused' AND (until IS NULL OR until > ? AND NOT {is_to_come})"  # noqa: S608 - constants
    return bool(state.run(sql, (now_ms, now_ms + MAX_STEP_MS)))


LASTS_MS = 10 * 60_000  # ms; long enough for a slow command before ours, as in `make && subcog remember …`

_UNASKED = "unasked "  # the prefix of a flag; the session follows


def note_unasked(state: State, session: str, now_ms: int, *, is_asked: bool) -> None:
    """Record whether the client asks the person before this session's next commands."""
    if not is_asked and not is_unasked(state, session, now_ms + LASTS_MS // 2):
        state.run("DELETE FROM flags WHERE name > ? AND name < ? AND until < ?", (_UNASKED, _UNASKED + "\x7f", now_ms))
        state.run("INSERT OR REPLACE INTO flags VALUES (?, ?)", (_UNASKED + session, now_ms + LASTS_MS))
    elif is_asked and is_unasked(state, session, now_ms):
        state.run("DELETE FROM flags WHERE name = ?", (_UNASKED + session,))


def is_unasked(state: State, session: str, now_ms: int) -> bool:
    """Return whether this session's client lately ran without asking the person."""
    return bool(state.run("SELECT 1 FROM flags WHERE name = ? AND until > ?", (_UNASKED + session, now_ms)))


_ASKED_REVISION = "asked revision"
DAY_MS = 86_400_000
SESSIONS_JOB, QUESTIONS_JOB, LOOKS_JOB, RANKING_JOB = "sessions", "questions", "second looks", "search --rank"


@record
class LlmUse:
    """The calls of a job today. characters: of what was sent; last_ms: the last call, milliseconds since the epoch."""

    job: str
    calls: int
    characters: int
    last_ms: int


def find_llm_use(state: State, now_ms: int) -> list[LlmUse]:
    """Return the calls since midnight, UTC, by job."""
    rows = state.run("SELECT job, calls, characters, last_at FROM llm_calls WHERE day = ? ORDER BY job", (now_ms // DAY_MS,))
    return [
        LlmUse(str(job), int(calls or 0), int(characters or 0), int(last_ms or 0)) for job, calls, characters, last_ms in rows
    ]


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


def find_untried(state: State, texts: Mapping[str, str]) -> list[str]:
    """Return the ids of the memories whose text no LLM has been asked about. texts: the hash of each text, by id."""
    tried = {str(row[0]): str(row[1]) for row in state.run("SELECT memory, content_hash FROM enriched", ())}
    return [id_ for id_, content_hash in texts.items() if tried.get(id_) != content_hash]


def find_asked_revision(state: State) -> int:
    """Return the store revision up to which an LLM was asked about every memory, 0 for never."""
    return find_number(state, _ASKED_REVISION) or 0


def note_asked_revision(state: State, revision: int) -> None:
    """Record that an LLM was asked about every memory up to this store revision."""
    put_number(state, _ASKED_REVISION, revision)


def note_noted(state: State, id: str) -> None:
    """Record that a memory from a session was stored without the person's answer. The next session's start says so."""
    put_number(state, _NOTED + id, _UNTOLD)


def find_untold(state: State) -> list[str]:
    """Return the ids of such memories that no session's start has named."""
    return [id_ for id_, told_ms in find_numbers(state, _NOTED).items() if told_ms == _UNTOLD]


def note_told(state: State, ids: Sequence[str], now_ms: int) -> None:
    """Record that a session's start has named these memories."""
    for id_ in ids:
        put_number(state, _NOTED + id_, now_ms)


def find_noted(state: State) -> list[str]:
    """Return the ids of all such memories."""
    return list(find_numbers(state, _NOTED))


def forget_noted(state: State, ids: Sequence[str]) -> None:
    """Forget that these memories were stored without the person's answer."""
    for id_ in ids:
        delete_number(state, _NOTED + id_)


def note_news(state: State, line: str) -> None:
    """Let the next session's start show a line to the person."""
    put_number(state, _NEWS + line, 0)


def find_news(state: State) -> list[str]:
    """Return the lines that no session's start has shown."""
    return list(find_numbers(state, _NEWS))


def forget_news(state: State, lines: Sequence[str]) -> None:
    """Delete lines that a session's start has shown."""
    for line in lines:
        delete_number(state, _NEWS + line)


def note_seen(state: State, paths: Iterable[str], now_ms: int) -> None:
    """Note that these files and folders exist, which memories are about. A known one keeps its time."""
    for path in paths:
        state.run("INSERT OR IGNORE INTO flags VALUES (?, ?)", (_SEEN + path, now_ms))


def were_seen(state: State, paths: Iterable[str]) -> bool:
    """Return whether all these files and folders were there at some time. Each takes some µs."""
    return all(find_number(state, _SEEN + path) is not None for path in paths)


def note_tried(state: State, id: str, content_hash: str) -> None:
    """Record that an LLM was asked about a memory's text, with any result."""
    state.run("INSERT OR REPLACE INTO enriched VALUES (?, ?)", (id, content_hash))


MAX_FILES = 1_000


class CompiledSettings:
    """The compiled settings files that a state.db keeps, by path, stamp (in the column `mtime_ns`) and size."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def find_compiled(self, path: str, stamp: int, size: int) -> str | None:
        """Return the compiled form of a file, None when the file has changed since."""
        rows = self._state.run(
            "SELECT settings FROM compiled WHERE path = ? AND mtime_ns = ? AND size = ?", (path, stamp, size)
        )
        return str(rows[0][0]) if rows else None

    def keep_compiled(self, path: str, stamp: int, size: int, settings: str) -> None:
        """Store the compiled form of a file. Raises StoreBusy soon when another process is writing."""
        self._state.run_briefly("INSERT OR REPLACE INTO compiled VALUES (?, ?, ?, ?)", (path, stamp, size, settings))
        self._state.run_briefly("DELETE FROM compiled WHERE rowid < (SELECT max(rowid) FROM compiled) - ?", (MAX_FILES,))
