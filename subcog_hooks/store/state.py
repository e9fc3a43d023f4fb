"""state.db: its tables, opening, transactions, counters and single values. Hooks write it; anyone may delete it at any time."""

from __future__ import annotations

import os

import apsw

from subcog_hooks.core import database
from subcog_hooks.core.database import Database
from subcog_hooks.core.errors import StoreCorrupt, StoreError, StoreTooNew, StoreTooOld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from subcog_hooks.core.paths import Home


# Pages. A hook reads the whole WAL of earlier hooks (.3 ms for 64 pages, 2 ms for 640) and adds some ten. Emptying it takes 5
# to 30 ms on a disk that syncs.
LONG_WAL = 256
MADE_ANEW = "it is made anew, without the ledger, flags and a pause"
BRIEF_MS = 5  # how long optional bookkeeping waits for another writer

SCHEMA = database.Schema(os.path.join(os.path.dirname(__file__), "state.sql"), version=16, synchronous="NORMAL")
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0)  # seconds; .2 is the hook's budget


class State(Database):
    """An open state.db. Every method raises StoreError when SQLite does."""

    __slots__ = ("_busy_ms",)

    def __init__(self, connection: apsw.Connection, path: str, busy_ms: float) -> None:
        super().__init__(connection, path)
        self._busy_ms = int(busy_ms)
        connection.set_wal_hook(_shorten_log)

    @classmethod
    def open(
        cls,
        home: Home,
        busy_ms: float,
        tell: Callable[[str], None] | None = None,
        discarded: tuple[type[StoreError], ...] = (StoreCorrupt, StoreTooOld),
    ) -> State:
        """Return state.db. Raises StoreError. tell: is called when a file with one of the errors `discarded` is made anew."""
        path = home.state_db
        try:
            return cls(database.open_writer(path, SCHEMA, busy_ms), path, busy_ms)
        except discarded as error:
            discard(home)
            if tell:
                tell(f"{error.message}; {MADE_ANEW}")
            return cls(database.open_writer(path, SCHEMA, busy_ms), path, busy_ms)

    @classmethod
    def open_in_any_case(cls, home: Home, busy_ms: float, tell: Callable[[str], None]) -> State:
        """Return a state for a hook, even where state.db cannot be used. tell: is called with the reason.

        A file of a later version is deleted; one that cannot be written is copied to memory, or the state is empty.
        """
        try:
            return cls.open(home, busy_ms, tell, (StoreCorrupt, StoreTooOld, StoreTooNew))
        except StoreError as error:
            tell(f"{error}; the hook goes on without it")
        connection = database.open_in_memory(SCHEMA)
        try:
            source = database.open_reader(home.state_db, SCHEMA, min(BRIEF_MS, busy_ms))
            with connection.backup("main", source, "main") as copy:
                copy.step()
            source.close()
        except (StoreError, apsw.Error):
            connection.close()
            connection = database.open_in_memory(SCHEMA)
        return cls(connection, home.state_db, busy_ms)

    def run_briefly(
        self, sql: str, values: tuple[apsw.SQLiteValue, ...] = (), wait_ms: float = BRIEF_MS
    ) -> list[tuple[Any, ...]]:
        """Return the rows of an optional statement. Raises StoreBusy when another process writes for longer than wait_ms."""
        self._connection.set_busy_timeout(int(wait_ms))
        try:
            return self.run(sql, values)
        finally:
            self._connection.set_busy_timeout(self._busy_ms)

    def increase_counter(self, name: str, labels: str = "", by: float = 1.0) -> None:
        """Add to a counter. labels: in Prometheus' notation, `status="success"`, or ""."""
        sql = "INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value"
        self.run(sql, (name, labels, by))

    def observe_duration(self, name: str, labels: str, seconds: float) -> None:
        """Add one duration to a histogram."""
        bound = next((bound for bound in BUCKETS if seconds <= bound), float("inf"))
        added = "ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum"
        self.run(f"INSERT INTO histograms VALUES (?, ?, ?, 1, ?) {added}", (name, labels, bound, seconds))  # noqa: S608 - a constant

    def begin(self, wait_ms: float | None = None) -> None:
        """Take the write lock, so that reads stay valid until `commit`. Raises StoreBusy. wait_ms: None for the usual time."""
        self.run_briefly("BEGIN IMMEDIATE", wait_ms=self._busy_ms if wait_ms is None else max(BRIEF_MS, wait_ms))

    def begin_briefly(self) -> None:
        """Take the write lock for optional work. Raises StoreBusy soon when another process has it."""
        self.run_briefly("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.run("COMMIT")

    def roll_back(self) -> None:
        """Undo the open transaction, if there is one."""
        if self._connection.in_transaction:
            self.run("ROLLBACK")


def discard(home: Home) -> None:
    """Delete an unusable state.db; another program's is renamed. Raises StoreCorrupt when that fails."""
    try:
        with open(home.state_db, "rb") as file:
            header = file.read(72)
    except OSError:
        header = b""
    is_others = header.startswith(b"SQLite format 3") and int.from_bytes(header[68:], "big") != database.APPLICATION_ID
    for suffix in ("", "-wal", "-shm"):
        path = home.state_db + suffix
        try:
            os.replace(path, f"{home.state_db}.other{suffix}") if is_others else os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError:
            raise StoreCorrupt(f"{home.state_db} is damaged and cannot be deleted", "delete it; it is made anew") from None


def _shorten_log(connection: apsw.Connection, name: str, pages: int) -> int:
    """Empty a long WAL after a commit. SQLite's own checkpoint would never restart it: each hook writes once and ends."""
    if pages > LONG_WAL:
        waits = connection.pragma("busy_timeout")
        try:
            connection.set_busy_timeout(1)
            connection.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error:
            pass  # another process is reading; the next hook empties it
        connection.set_busy_timeout(int(waits))
    return apsw.SQLITE_OK


REMIND_EVERY_MS = 164 * 3_600_000  # once a week, also where a day begins some hours earlier
MAX_STEP_MS = 60_000  # a normal correction of a clock, as by the network's time


def is_paused(state: State, now_ms: int) -> bool:
    """Return whether the hooks are paused; a pause of some length that begins in the future comes from a wrong clock."""
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


MAX_FILES = 1_000  # settings files


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
