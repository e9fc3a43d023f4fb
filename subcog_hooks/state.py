"""state.db: what hooks write and may forget: the session ledger, the pause, compiled settings. It may be deleted."""

import os

import apsw

from subcog_hooks import database
from subcog_hooks.errors import StoreCorrupt
from subcog_hooks.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONG_WAL = 64  # pages; hooks leave the WAL behind and the next one reads all of it (.3 ms for these, 2 ms for 640)
LEDGER_DAYS = 30  # a session that was silent for longer may hear a memory again

_VERSION_1 = """
CREATE TABLE ledger (
  session TEXT NOT NULL, memory TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (session, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_by_time ON ledger (at);
CREATE TABLE flags (name TEXT PRIMARY KEY, until INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE compiled (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, settings TEXT NOT NULL) STRICT;
"""

SCHEMA = database.Schema(migrations=(_VERSION_1,), synchronous="NORMAL")


class State:
    """An open state.db. Every method raises StoreError when SQLite does."""

    __slots__ = ("_connection", "path")

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self.path = path
        connection.set_wal_hook(_shorten)

    @classmethod
    def open(cls, home: Home, busy_ms: float) -> "State":
        """state.db, made as needed; a damaged one is put aside and made anew, since nothing in it is the only copy."""
        path = home.state_db
        try:
            return cls(database.open_writer(path, SCHEMA, busy_ms), path)
        except StoreCorrupt:
            put_aside(home)
            return cls(database.open_writer(path, SCHEMA, busy_ms), path)

    def close(self) -> None:
        self._connection.close()

    def problems(self) -> list[str]:
        """What SQLite's own check finds wrong, [] for a sound file."""
        rows = [str(row[0]) for row in self._run("PRAGMA quick_check(3)", ())]
        return [] if rows == ["ok"] else rows

    # the pause

    def pause(self, until_ms: int | None) -> None:
        """Silence the hooks until a time (milliseconds since the epoch), or until `resume`."""
        self._run(
            "INSERT INTO flags VALUES ('paused', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until",
            (until_ms,),
        )

    def resume(self, now_ms: int) -> bool:
        """End the pause; whether there was one."""
        was = self.paused(now_ms)
        self._run("DELETE FROM flags WHERE name = 'paused'", ())
        return was

    def paused(self, now_ms: int) -> bool:
        return bool(self._run("SELECT 1 FROM flags WHERE name = 'paused' AND (until IS NULL OR until > ?)", (now_ms,)))

    # the session ledger

    def injected(self, session: str) -> set[str]:
        """The ids of the memories that this session has been given."""
        return {str(row[0]) for row in self._run("SELECT memory FROM ledger WHERE session = ?", (session,))}

    def begin(self) -> None:
        """Take the write lock: what `injected` says holds until `commit`."""
        self._run("BEGIN IMMEDIATE", ())

    def record(self, session: str, memories: "Sequence[str]", now_ms: int) -> None:
        """Note that these memories are given to this session now; sessions of long ago are forgotten."""
        for memory in memories:
            self._run("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?)", (session, memory, now_ms))
        self._run("DELETE FROM ledger WHERE at < ?", (now_ms - LEDGER_DAYS * 86_400_000,))

    def commit(self) -> None:
        self._run("COMMIT", ())

    # compiled settings

    def compiled(self, path: str, mtime_ns: int, size: int) -> str | None:
        """The compiled form of the settings file, None when it is of another state of the file."""
        rows = self._run("SELECT settings FROM compiled WHERE path = ? AND mtime_ns = ? AND size = ?", (path, mtime_ns, size))
        return str(rows[0][0]) if rows else None

    def keep_compiled(self, path: str, mtime_ns: int, size: int, settings: str) -> None:
        self._run("INSERT OR REPLACE INTO compiled VALUES (?, ?, ?, ?)", (path, mtime_ns, size, settings))
        self._run("DELETE FROM compiled WHERE rowid < (SELECT max(rowid) FROM compiled) - 1000", ())

    def _run(self, sql: str, values: "tuple[apsw.SQLiteValue, ...]") -> "list[tuple[apsw.SQLiteValue, ...]]":
        try:
            return self._connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise database.translated(error, self.path) from error


def put_aside(home: Home) -> None:
    """Move a damaged state.db away. Raises StoreCorrupt when that can not be done."""
    path = home.state_db
    for suffix in ("", "-wal", "-shm"):
        try:
            os.replace(path + suffix, f"{path}.damaged{suffix}")
        except FileNotFoundError:
            pass
        except OSError:
            raise StoreCorrupt(f"{path} is damaged and can not be moved away", "delete it; it is made anew") from None


def _shorten(connection: apsw.Connection, name: str, pages: int) -> int:
    """Empty a long WAL after a commit. SQLite's own checkpoint would never restart it: each hook writes once and is gone."""
    if pages > LONG_WAL:
        waits = connection.pragma("busy_timeout")
        try:
            connection.set_busy_timeout(1)
            connection.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error:
            pass  # somebody is reading; the next hook does it
        connection.set_busy_timeout(int(waits))
    return apsw.SQLITE_OK
