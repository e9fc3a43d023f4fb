"""Single values in state.db: the pause, what is due again, sessions that ask nobody, seen files, compiled settings.

Every function raises StoreError.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from subcog_hooks.store.state import State

REMIND_EVERY_MS = 164 * 3_600_000  # once a week, also where a day begins some hours earlier
MAX_STEP_MS = 60_000  # a normal correction of a clock, as by the network's time
MAX_FILES = 1_000  # settings files


def is_paused(state: State, now_ms: int) -> bool:
    """Return whether the hooks are paused.

    A pause of some length that begins in the future was set by a wrong clock, and is none.
    """
    sql = "SELECT 1 FROM pause WHERE until IS NULL OR until > ? AND since <= ?"
    return bool(state.run(sql, (now_ms, now_ms + MAX_STEP_MS)))


def is_due(state: State, task: str, now_ms: int, interval_ms: int) -> bool:
    """Return whether a task of the table `due_times` is due. A time beyond the interval comes from a wrong clock."""
    return not state.run("SELECT 1 FROM due_times WHERE task = ? AND at BETWEEN ? AND ?", (task, now_ms, now_ms + interval_ms))


def set_due(state: State, task: str, at_ms: int) -> None:
    """Record when a task is due again, milliseconds since the epoch."""
    state.run("INSERT OR REPLACE INTO due_times VALUES (?, ?)", (task, at_ms))


def is_unasked(state: State, session: str, now_ms: int) -> bool:
    """Return whether this session's client lately ran without asking the person."""
    return bool(state.run("SELECT 1 FROM unasked WHERE session = ? AND until > ?", (session, now_ms)))


def note_seen(state: State, paths: Iterable[str], now_ms: int) -> None:
    """Note that these files and folders exist, which memories are about. A known one keeps its time."""
    for path in paths:
        state.run("INSERT OR IGNORE INTO seen_paths VALUES (?, ?)", (path, now_ms))


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
