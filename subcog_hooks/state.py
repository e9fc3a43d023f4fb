"""state.db: what hooks write and may forget: ledger, pause, compiled settings, metrics, an LLM's answers and its failures.

It may be deleted at any time.
"""

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
MAX_ANSWERS = 1_000  # of an LLM; a busy day asks for some hundred
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0)  # seconds; .2 is the hook's budget

BRIEF_MS = 5  # how long bookkeeping waits for another writer, which nobody waits for

_INFINITE = float("inf")

_VERSION_1 = """
CREATE TABLE ledger (
  session TEXT NOT NULL, memory TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (session, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_by_time ON ledger (at);
CREATE TABLE flags (name TEXT PRIMARY KEY, until INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE compiled (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, settings TEXT NOT NULL) STRICT;
"""

# a histogram's row counts what fell into one bucket and adds it up: an observation is one statement
_VERSION_2 = """
CREATE TABLE counters (name TEXT NOT NULL, labels TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (name, labels))
STRICT, WITHOUT ROWID;
CREATE TABLE histograms (
  name TEXT NOT NULL, labels TEXT NOT NULL, bound REAL NOT NULL, count INTEGER NOT NULL, sum REAL NOT NULL,
  PRIMARY KEY (name, labels, bound)
) STRICT, WITHOUT ROWID;
CREATE TABLE llm_answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
CREATE INDEX llm_answers_by_time ON llm_answers (until);
CREATE TABLE llm_failures (provider TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE llm_rests (provider TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""

SCHEMA = database.Schema(migrations=(_VERSION_1, _VERSION_2), synchronous="NORMAL")


class Counter:
    """How often something has happened. labels: as Prometheus writes them, `status="success"`, or ""."""

    __slots__ = ("labels", "name", "value")

    def __init__(self, name: str, labels: str, value: float) -> None:
        self.name = name
        self.labels = labels
        self.value = value


class Histogram:
    """How long something took. buckets: (upper bound in seconds, how many took at most so long), the last bound infinite.

    count: how many there are; sum: their seconds together. labels: as Prometheus writes them.
    """

    __slots__ = ("buckets", "count", "labels", "name", "sum")

    def __init__(self, name: str, labels: str, buckets: tuple[tuple[float, int], ...], sum: float) -> None:
        self.name = name
        self.labels = labels
        self.buckets = buckets
        self.count = buckets[-1][1]
        self.sum = sum


class State:
    """An open state.db. Every method raises StoreError when SQLite does."""

    __slots__ = ("_busy_ms", "_connection", "path")

    def __init__(self, connection: apsw.Connection, path: str, busy_ms: float) -> None:
        self._connection = connection
        self._busy_ms = int(busy_ms)
        self.path = path
        connection.set_wal_hook(_shorten)

    @classmethod
    def open(cls, home: Home, busy_ms: float) -> "State":
        """state.db, made as needed; a damaged one is put aside and made anew, since nothing in it is the only copy."""
        path = home.state_db
        try:
            return cls(database.open_writer(path, SCHEMA, busy_ms), path, busy_ms)
        except StoreCorrupt:
            put_aside(home)
            return cls(database.open_writer(path, SCHEMA, busy_ms), path, busy_ms)

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

    def begin_briefly(self) -> None:
        """The same for what may be left undone. Raises StoreBusy soon when another process has the lock."""
        self._run_briefly("BEGIN IMMEDIATE", ())

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
        """Keep it, unless another process is writing."""
        self._run_briefly("INSERT OR REPLACE INTO compiled VALUES (?, ?, ?, ?)", (path, mtime_ns, size, settings))
        self._run_briefly("DELETE FROM compiled WHERE rowid < (SELECT max(rowid) FROM compiled) - 1000", ())

    # metrics

    def count(self, name: str, labels: str = "", by: float = 1.0) -> None:
        """Add to a counter."""
        self._run(
            "INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
            (name, labels, by),
        )

    def observe(self, name: str, labels: str, seconds: float) -> None:
        """Add one duration to a histogram."""
        bound = next((bound for bound in BUCKETS if seconds <= bound), _INFINITE)
        self._run(
            "INSERT INTO histograms VALUES (?, ?, ?, 1, ?)"
            " ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum",
            (name, labels, bound, seconds),
        )

    def metrics(self) -> "list[Counter | Histogram]":
        """All that has been counted and observed, by name and labels."""
        found: list[Counter | Histogram] = [
            Counter(str(name), str(labels), float(value or 0))
            for name, labels, value in self._run("SELECT name, labels, value FROM counters", ())
        ]
        filled: dict[tuple[str, str], dict[float, tuple[int, float]]] = {}
        for name, labels, bound, count, total in self._run("SELECT name, labels, bound, count, sum FROM histograms", ()):
            filled.setdefault((str(name), str(labels)), {})[float(bound or 0)] = (int(count or 0), float(total or 0))
        for (name, labels), rows in filled.items():
            buckets, so_far = [], 0
            for bound in sorted({*BUCKETS, *rows, _INFINITE}):
                so_far += rows.get(bound, (0, 0.0))[0]
                buckets.append((bound, so_far))
            found.append(Histogram(name, labels, tuple(buckets), sum(total for _, total in rows.values())))
        return sorted(found, key=lambda metric: (metric.name, metric.labels))

    # what an LLM has answered

    def llm_answer(self, key: str, now_ms: int) -> str | None:
        """The answer kept under a key, None when there is none or its time is over."""
        rows = self._run("SELECT answer FROM llm_answers WHERE key = ? AND at <= ? AND until > ?", (key, now_ms, now_ms))
        return str(rows[0][0]) if rows else None

    def keep_llm_answer(self, key: str, answer: str, now_ms: int, ttl_ms: int) -> None:
        """Keep an answer for `ttl_ms` milliseconds. Those whose time is over go, then the nearest to it above MAX_ANSWERS."""
        if ttl_ms > 0:
            self._run("INSERT OR REPLACE INTO llm_answers VALUES (?, ?, ?, ?)", (key, answer, now_ms, now_ms + ttl_ms))
        self._run("DELETE FROM llm_answers WHERE until <= ?", (now_ms,))
        self._run(
            "DELETE FROM llm_answers WHERE key IN (SELECT key FROM llm_answers ORDER BY until DESC LIMIT -1 OFFSET ?)",
            (MAX_ANSWERS,),
        )

    # an LLM's failures; the rules are intent.breaker's

    def note_llm_failure(self, provider: str, at_ms: int) -> None:
        self._run("INSERT INTO llm_failures VALUES (?, ?)", (provider, at_ms))

    def llm_failures(self, provider: str, from_ms: int, to_ms: int) -> int:
        """How often a provider has failed between two times, both included. What was before is forgotten."""
        self._run("DELETE FROM llm_failures WHERE provider = ? AND at < ?", (provider, from_ms))
        rows = self._run("SELECT count(*) FROM llm_failures WHERE provider = ? AND at <= ?", (provider, to_ms))
        return int(rows[0][0] or 0)

    def llm_rest(self, provider: str) -> int | None:
        """Until when a provider is left alone, a time that may be over; None: it is not."""
        rows = self._run("SELECT until FROM llm_rests WHERE provider = ?", (provider,))
        return int(rows[0][0] or 0) if rows else None

    def let_llm_rest(self, provider: str, until_ms: int) -> None:
        self._run("INSERT OR REPLACE INTO llm_rests VALUES (?, ?)", (provider, until_ms))

    def prolong_llm_rest(self, provider: str, from_ms: int, until_ms: int) -> bool:
        """Move a rest's end, if it is where it was seen: of several processes at once, one is told True.

        Raises StoreBusy soon when another process is writing.
        """
        sql = "UPDATE llm_rests SET until = ? WHERE provider = ? AND until = ? RETURNING 1"
        return bool(self._run_briefly(sql, (until_ms, provider, from_ms)))

    def trust_llm(self, provider: str) -> None:
        """Forget a provider's failures and its rest."""
        self._run("DELETE FROM llm_failures WHERE provider = ?", (provider,))
        self._run("DELETE FROM llm_rests WHERE provider = ?", (provider,))

    def _run(self, sql: str, values: "tuple[apsw.SQLiteValue, ...]") -> "list[tuple[apsw.SQLiteValue, ...]]":
        try:
            return self._connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise database.translated(error, self.path) from error

    def _run_briefly(self, sql: str, values: "tuple[apsw.SQLiteValue, ...]") -> "list[tuple[apsw.SQLiteValue, ...]]":
        self._connection.set_busy_timeout(min(BRIEF_MS, self._busy_ms))
        try:
            return self._run(sql, values)
        finally:
            self._connection.set_busy_timeout(self._busy_ms)


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
