"""state.db: what hooks write and may forget: ledger, decisions, pause, compiled settings. It may be deleted at any time.

What is counted in it is `metrics`', what it knows of LLMs `llm_state`'s, of sessions `session_state`'s.
"""

import os

import apsw

from subcog_hooks import database, metrics, wire
from subcog_hooks.errors import StoreCorrupt, StoreError
from subcog_hooks.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.decision import Decision

# pages; hooks leave the WAL behind and the next one reads all of it (.3 ms for 64, 2 ms for 640), and emptying it takes 5 to 30
# ms on a disk that syncs; a hook writes some ten
LONG_WAL = 256
LEDGER_DAYS = 30  # a session that was silent for longer may hear a memory again
MAX_LEDGER = 10_000  # memories that were given, of all sessions
DECISION_DAYS = 30
MAX_DECISIONS = 1_000  # some days' prompts, 4 to 8 kB each
FORGOTTEN = 100  # decisions whose prompts are forgotten at a time: 5 ms
PRUNED = 50  # decisions that go at a time: one for each that comes would write twice as many pages
TOPICS_MS = 30 * 60_000  # how long the topics of a session's last prompt are kept
BRIEF_MS = 5  # how long bookkeeping waits for another writer, which nobody waits for

_DAY_MS = 86_400_000
_SUFFIXES = ("", "-wal", "-shm")  # of the files that a database is

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

# decisions are looked up in a terminal alone, so they have no index; `record` stands last, since the columns before it are read
# without its overflow pages
_VERSION_3 = """
ALTER TABLE ledger ADD COLUMN decision TEXT NOT NULL DEFAULT '';
CREATE TABLE decisions (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL, session TEXT NOT NULL,
  project TEXT NOT NULL, outcome TEXT NOT NULL, injected INTEGER NOT NULL, units INTEGER NOT NULL, micros INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE TABLE topics (session TEXT PRIMARY KEY, topics TEXT NOT NULL, confidence REAL NOT NULL, at INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
"""

# what was decided tells which sessions there were
_VERSION_4 = """
CREATE TABLE sessions (
  session TEXT PRIMARY KEY, project TEXT NOT NULL, source TEXT NOT NULL, started_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  prompts INTEGER NOT NULL, said TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_project ON sessions (project, last_at);
CREATE TABLE user_flags (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO sessions SELECT session, max(project), '', min(at), max(at), count(*), NULL
FROM decisions WHERE session <> '' AND event = 'UserPromptSubmit' GROUP BY session;
"""

_DECISION = "record, id, at, event, session, project, outcome, units, micros"  # as Decision.from_text wants them
_KEEPS_PROMPTS = "keeps_prompts"  # a flag: there may be texts of prompts in here, behind the decision that it names

SCHEMA = database.Schema(migrations=(_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4), synchronous="NORMAL")


class Earlier:
    """What the last prompt of a session was about: its topics, and how probable it was that memories could help with it."""

    __slots__ = ("confidence", "topics")

    def __init__(self, topics: "Sequence[str]", confidence: float) -> None:
        self.topics = tuple(topics)
        self.confidence = confidence


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

    def run(self, sql: str, values: "tuple[apsw.SQLiteValue, ...]" = ()) -> "list[tuple[apsw.SQLiteValue, ...]]":
        """The rows of one statement, for the methods here and the modules of this file's other tables."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise database.translated(error, self.path) from error

    def run_briefly(self, sql: str, values: "tuple[apsw.SQLiteValue, ...]" = ()) -> "list[tuple[apsw.SQLiteValue, ...]]":
        """The same for what may be left undone. Raises StoreBusy soon when another process is writing."""
        self._connection.set_busy_timeout(min(BRIEF_MS, self._busy_ms))
        try:
            return self.run(sql, values)
        finally:
            self._connection.set_busy_timeout(self._busy_ms)

    def problems(self) -> list[str]:
        """What SQLite's own check finds wrong, [] for a sound file."""
        rows = [str(row[0]) for row in self.run("PRAGMA quick_check(3)")]
        return [] if rows == ["ok"] else rows

    # the pause

    def pause(self, until_ms: int | None) -> None:
        """Silence the hooks until a time (milliseconds since the epoch), or until `resume`."""
        self.run(
            "INSERT INTO flags VALUES ('paused', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until",
            (until_ms,),
        )

    def resume(self, now_ms: int) -> bool:
        """End the pause; whether there was one."""
        was = self.paused(now_ms)
        self.run("DELETE FROM flags WHERE name = 'paused'")
        return was

    def paused(self, now_ms: int) -> bool:
        return bool(self.run("SELECT 1 FROM flags WHERE name = 'paused' AND (until IS NULL OR until > ?)", (now_ms,)))

    # the session ledger

    def injected(self, session: str) -> set[str]:
        """The ids of the memories that this session has been given."""
        return {str(row[0]) for row in self.run("SELECT memory FROM ledger WHERE session = ?", (session,))}

    def given_lately(self, session: str, most: int) -> list[str]:
        """The ids of the last memories that this session has been given, the latest first."""
        rows = self.run("SELECT memory FROM ledger WHERE session = ? ORDER BY at DESC, memory LIMIT ?", (session, most))
        return [str(row[0]) for row in rows]

    def given_with(self, session: str, memory: str) -> str:
        """The decision with which this session was given a memory, "" where that is unknown."""
        rows = self.run("SELECT decision FROM ledger WHERE session = ? AND memory = ?", (session, memory))
        return str(rows[0][0]) if rows else ""

    def begin(self) -> None:
        """Take the write lock: what `injected` says holds until `commit`."""
        self.run("BEGIN IMMEDIATE")

    def begin_briefly(self) -> None:
        """The same for what may be left undone. Raises StoreBusy soon when another process has the lock."""
        self.run_briefly("BEGIN IMMEDIATE")

    def record(self, session: str, memories: "Sequence[str]", now_ms: int, decision_id: str) -> None:
        """Note that these memories are given to this session now, with which decision; what is long ago is forgotten."""
        for memory in memories:
            self.run("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?)", (session, memory, now_ms, decision_id))
        self.run("DELETE FROM ledger WHERE at < ?", (now_ms - LEDGER_DAYS * _DAY_MS,))
        self.run("DELETE FROM ledger WHERE at < (SELECT at FROM ledger ORDER BY at DESC LIMIT 1 OFFSET ?)", (MAX_LEDGER - 1,))

    def forget_ledger(self, session: str) -> None:
        """Let a session hear again what it was given: the client has forgotten it."""
        self.run("DELETE FROM ledger WHERE session = ?", (session,))

    def commit(self) -> None:
        self.run("COMMIT")

    def roll_back(self) -> None:
        """Leave undone what was begun, if anything was."""
        if self._connection.in_transaction:
            self.run("ROLLBACK")

    # the decisions

    def keep_decision(self, decision: "Decision", now_ms: int) -> None:
        """Keep what became of a run; what is long ago is forgotten, and the oldest where there are more than MAX_DECISIONS."""
        values = (
            *(decision.id, decision.at, decision.event, decision.session, decision.project, decision.outcome),
            *(len(decision.injected), decision.units, decision.micros, decision.to_text()),
        )
        self.run("INSERT INTO decisions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        (oldest, oldest_at), (newest, _) = self.run(
            "SELECT * FROM (SELECT number, at FROM decisions ORDER BY number LIMIT 1)"
            " UNION ALL SELECT * FROM (SELECT number, at FROM decisions ORDER BY number DESC LIMIT 1)"
        )
        long_ago = now_ms - DECISION_DAYS * _DAY_MS
        if int(oldest_at or 0) < long_ago:
            self.run("DELETE FROM decisions WHERE at < ?", (long_ago,))
        if int(newest or 0) - int(oldest or 0) >= MAX_DECISIONS:
            self.run("DELETE FROM decisions WHERE number <= ?", (int(newest or 0) - MAX_DECISIONS + PRUNED,))
        metrics.count(self, metrics.DECISIONS, f'outcome="{decision.outcome}"')
        if decision.injected:
            metrics.count(self, metrics.INJECTED, by=len(decision.injected))
        if decision.prompt is not None:
            self._note_texts()

    def decision(self, id_or_prefix: str | None = None) -> "Decision | None":
        """The decision of an id, else the latest whose id begins so; without one, the latest of all."""
        sought = id_or_prefix or ""
        found = self._decisions(
            "WHERE substr(id, 1, ?) = ? ORDER BY id = ? DESC, number DESC LIMIT 1", (len(sought), sought, sought)
        )
        return found[0] if found else None

    def decisions(self, limit: int, since_ms: int = 0, event: str | None = None) -> "list[Decision]":
        """The latest decisions from a time on, the newest first, whatever a clock that was wrong has said of them.

        event: of this one alone.
        """
        return self._decisions(
            "WHERE at >= ? AND event = coalesce(?, event) ORDER BY number DESC LIMIT ?", (since_ms, event, limit)
        )

    def _decisions(self, condition: str, values: "tuple[apsw.SQLiteValue, ...]") -> "list[Decision]":
        from subcog_hooks.decision import Decision  # .3 ms; only the terminal reads them

        return [
            Decision.from_text(
                str(record),
                id=str(id_),
                at=int(at or 0),
                event=str(event),
                session=str(session),
                project=str(project),
                outcome=str(outcome),
                units=int(units or 0),
                micros=int(micros or 0),
            )
            for record, id_, at, event, session, project, outcome, units, micros in self.run(
                f"SELECT {_DECISION} FROM decisions {condition}",  # noqa: S608 - the methods' own words
                values,
            )
        ]

    # the topics of a session's last prompt

    def last_topics(self, session: str, now_ms: int) -> Earlier | None:
        """What the last prompt of this session was about, None where that is unknown or longer ago than TOPICS_MS."""
        rows = self.run(
            "SELECT topics, confidence FROM topics WHERE session = ? AND at BETWEEN ? AND ?",
            (session, now_ms - TOPICS_MS, now_ms),
        )
        if not rows:
            return None
        topics = wire.loads(str(rows[0][0]))
        return Earlier(topics, float(rows[0][1] or 0)) if isinstance(topics, list) else None

    def keep_topics(self, session: str, earlier: Earlier, now_ms: int) -> None:
        """Keep what a prompt was about until the session's next one, at most TOPICS_MS long."""
        self.run("DELETE FROM topics WHERE at < ?", (now_ms - TOPICS_MS,))
        self.run(
            "INSERT OR REPLACE INTO topics VALUES (?, ?, ?, ?)",
            (session, wire.dumps(earlier.topics), earlier.confidence, now_ms),
        )
        self._note_texts()

    def forget_topics(self, session: str) -> None:
        """Let the session's next prompt stand for itself."""
        self.run("DELETE FROM topics WHERE session = ?", (session,))

    # the texts of prompts

    def _note_texts(self) -> None:
        self.run(
            "INSERT INTO flags VALUES (?, NULL) ON CONFLICT (name) DO UPDATE SET until = NULL WHERE until IS NOT NULL",
            (_KEEPS_PROMPTS,),
        )

    def has_prompts(self) -> bool:
        """Whether there may be texts of prompts in here."""
        return bool(self.run("SELECT 1 FROM flags WHERE name = ?", (_KEEPS_PROMPTS,)))

    def forget_prompts(self) -> None:
        """Take all texts of prompts out: of the decisions, the topics, the answers of LLMs. No free page holds any then."""
        self.begin()
        self._forget_texts(0, -1)
        self.run("DELETE FROM flags WHERE name = ?", (_KEEPS_PROMPTS,))
        self.commit()
        self.run("VACUUM")
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def forget_some_prompts(self) -> None:
        """The same of FORGOTTEN decisions, the oldest that still have one, in the transaction that is open: for the hook, whose
        next runs go on. Topics and answers go at once."""
        (done,) = self.run("SELECT coalesce(max(until), 0) FROM flags WHERE name = ?", (_KEEPS_PROMPTS,))[0]
        last = self._forget_texts(int(done or 0), FORGOTTEN)
        if last is None:
            self.run("DELETE FROM flags WHERE name = ?", (_KEEPS_PROMPTS,))
        else:
            self.run("UPDATE flags SET until = ? WHERE name = ?", (last, _KEEPS_PROMPTS))

    def _forget_texts(self, after: int, most: int) -> int | None:
        """Forget those of `most` decisions behind a number, -1: of all. The last one's number, None when there are no more."""
        self.run("PRAGMA secure_delete = ON")
        numbers = [int(row[0] or 0) for row in self.run("SELECT number FROM decisions WHERE number > ? LIMIT ?", (after, most))]
        if numbers:
            self.run(
                "UPDATE decisions SET record = json_set(json_remove(record, '$.intent.topics'), '$.prompt', NULL,"
                " '$.borrowed', json('[]')) WHERE number BETWEEN ? AND ? AND json_valid(record)",
                (numbers[0], numbers[-1]),
            )
        self.run("DELETE FROM topics")
        self.run("DELETE FROM llm_answers")
        return numbers[-1] if numbers and len(numbers) == most else None

    # compiled settings

    def compiled(self, path: str, mtime_ns: int, size: int) -> str | None:
        """The compiled form of the settings file, None when it is of another state of the file."""
        rows = self.run("SELECT settings FROM compiled WHERE path = ? AND mtime_ns = ? AND size = ?", (path, mtime_ns, size))
        return str(rows[0][0]) if rows else None

    def keep_compiled(self, path: str, mtime_ns: int, size: int, settings: str) -> None:
        """Keep it, unless another process is writing."""
        self.run_briefly("INSERT OR REPLACE INTO compiled VALUES (?, ?, ?, ?)", (path, mtime_ns, size, settings))
        self.run_briefly("DELETE FROM compiled WHERE rowid < (SELECT max(rowid) FROM compiled) - 1000")


def delete_damaged(home: Home) -> None:
    """Delete what `put_aside` has moved away, which may hold texts of prompts. Raises StoreError."""
    for suffix in _SUFFIXES:
        try:
            os.unlink(f"{home.state_db}.damaged{suffix}")
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"{home.state_db}.damaged can not be deleted: {error.strerror}", "delete it") from None


def put_aside(home: Home) -> None:
    """Move a damaged state.db away. Raises StoreCorrupt when that can not be done."""
    path = home.state_db
    for suffix in _SUFFIXES:
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
