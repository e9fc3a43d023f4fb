"""memories.db: reading and writing memories. It knows nothing of the caches but the revision they follow."""

from __future__ import annotations

import apsw

from subcog_hooks.core import database, light_json
from subcog_hooks.core.errors import InvalidMemory, NoMemory, StoreCorrupt, StoreError
from subcog_hooks.store import cue_tables
from subcog_hooks.store.memory import SECTION_PREFIX, Memory, check_memory, now_ms
from subcog_hooks.store.schema import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self  # Any: the STRICT tables guarantee the column types

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.outlines import Outline

WRITE_WAIT_MS = 10_000  # how long a writer waits for another; an import commits every 1,000 memories
READ_WAIT_MS = 2_000  # how long a reader waits; the hook gives its own time
KEPT_REVISIONS = 10_000  # write transactions that a cache can follow; an older cache is made anew
_READ_CHUNK = 500  # bound parameters in one statement

_COLUMNS = (
    "seq, id, content, namespace, scope, project, branch, paths, tags, keywords, triggers, conditions, priority, status, "
    "superseded_by, source, trust, created_at, updated_at, expires_at, content_hash, questions, standing"
)


class Filter:
    """Conditions on memories: every field that is given must hold.

    audiences: as `audience_of` writes them; None for all. statuses: () for every status. tags: a memory must have all of them.
    since: created at or after, in milliseconds.
    """

    __slots__ = ("audiences", "include_expired", "namespaces", "paths", "since", "statuses", "tags")

    def __init__(
        self,
        *,
        audiences: tuple[str, ...] | None = None,
        statuses: tuple[str, ...] = ("active",),
        namespaces: tuple[str, ...] = (),
        tags: tuple[str, ...] = (),
        paths: tuple[str, ...] = (),
        since: int | None = None,
        include_expired: bool = False,
    ) -> None:
        self.audiences = audiences
        self.statuses = statuses
        self.namespaces = namespaces
        self.tags = tags
        self.paths = paths
        self.since = since
        self.include_expired = include_expired


def audience_of(scope: str, project: str | None) -> str:
    """Return the audience that sees a memory, as one word: `project:<identity>`, `user` or `org`.

    >>> audience_of("project", "github.com/acme/shop")
    'project:github.com/acme/shop'
    """
    return f"project:{project}" if scope == "project" else scope


def audiences_of(*projects: str) -> tuple[str, ...]:
    """Return the audiences of a session in a project with these names: the project, the user and the organisation.

    >>> audiences_of("github.com/acme/shop"), audiences_of()
    (('project:github.com/acme/shop', 'user', 'org'), ('user', 'org'))
    """
    return (*(f"project:{name}" for name in projects), "user", "org")


def reach_of(audience: str) -> int:
    """Return an audience as a number of 62 bits (FNV-1a), for a cache.

    Two audiences with one number are distinguished by the store's row.
    """
    number = 0xCBF29CE484222325
    for byte in audience.encode("utf-8", "surrogatepass"):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return number >> 2


class Mark:
    """A memory that was marked as wrong for a prompt. terms: the prompt's, as JSON; made_at: ms since the epoch."""

    __slots__ = ("decision", "made_at", "seq", "terms")

    def __init__(self, seq: int, decision: str, terms: str, made_at: int) -> None:
        self.seq = seq
        self.decision = decision
        self.terms = terms
        self.made_at = made_at


class Store:
    """An open memories.db. Every method raises StoreError when SQLite does."""

    __slots__ = ("_connection", "path")

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self.path = path
        connection.create_scalar_function("is_met", _glob_matches, 2, deterministic=True)

    @classmethod
    def reader(cls, home: Home, busy_ms: float = READ_WAIT_MS) -> Store:
        """Open the store read-only. Raises StoreError, also when there is none yet."""
        return cls(database.open_reader(home.memories_db, SCHEMA, busy_ms), home.memories_db)

    @classmethod
    def writer(cls, home: Home, busy_ms: float = WRITE_WAIT_MS) -> Store:
        """Open the store for writing; the home and the file are made as needed."""
        home.create()
        return cls(database.open_writer(home.memories_db, SCHEMA, busy_ms), home.memories_db)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # reading

    def get(self, id: str) -> Memory:
        """Return the memory with this id, in any status. Raises NoMemory."""
        for memory in self._memories("WHERE id = ?", (id,)):
            return memory
        raise NoMemory(f"no memory has the id {id[:80]}", "`subcog list` shows the ids")

    def by_ids(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories among `ids` that exist, by id."""
        return {memory.id: memory for memory in self._in_chunks("id", ids)}

    def by_seqs(self, seqs: Sequence[int]) -> dict[int, Memory]:
        """Return the memories among these row numbers that exist, by row number."""
        return {memory.seq: memory for memory in self._in_chunks("seq", seqs)}

    def ages(self, seqs: Sequence[int]) -> dict[int, tuple[int, str]]:
        """Return the creation time (milliseconds since 1970) and the id of each of these memories, by row number."""
        numbers = ",".join(map(str, map(int, seqs)))
        rows = self._execute(f"SELECT seq, created_at, id FROM memories WHERE seq IN ({numbers})", ())  # noqa: S608 - whole numbers
        return {seq: (created_at, id_) for seq, created_at, id_ in rows}

    def seqs_of(self, ids: Iterable[str]) -> list[int]:
        """Return the row numbers of the memories among `ids` that exist."""
        return [seq for id_ in ids for (seq,) in self._execute("SELECT seq FROM memories WHERE id = ?", (id_,))]

    def by_hash(self, content_hash: str) -> list[Memory]:
        """Return the memories of exactly this content, not the deleted ones."""
        return list(self._memories("WHERE content_hash = ? AND status <> 'deleted' ORDER BY seq", (content_hash,)))

    def forgotten_with(self, content_hash: str) -> list[Memory]:
        """Return the deleted memories of exactly this content."""
        return list(self._memories("WHERE content_hash = ? AND status = 'deleted' ORDER BY seq", (content_hash,)))

    def purged_sections(self, ids: Sequence[str]) -> set[str]:
        """Return the ids of imported sections among `ids` that were purged."""
        marks = ",".join("?" * len(ids))
        sql = f"SELECT id FROM purged_sections WHERE id IN ({marks})"  # noqa: S608 - marks alone
        return {str(row[0]) for row in self._execute(sql, tuple(ids))}

    def select(self, wanted: Filter, limit: int = -1, offset: int = 0) -> list[Memory]:
        """Return the matching memories, newest first, then by id. A creation date in the future counts as now."""
        now = now_ms()
        condition, values = _filter_sql(wanted, now)
        order = "ORDER BY min(created_at, ?) DESC, id LIMIT ? OFFSET ?"
        return list(self._memories(f"WHERE {condition} {order}", (*values, now, limit, offset)))

    def all(self, statuses: Sequence[str]) -> Iterator[Memory]:
        """Return every memory of these statuses, by id: the order of an export."""
        marks = ",".join("?" * len(statuses))
        return self._memories(f"WHERE status IN ({marks}) ORDER BY id", tuple(statuses))

    def readable(self) -> Iterator[Memory]:
        """Yield every memory that is still readable in a damaged file, row by row, in the order of storing."""
        last_seq = max((int(rows[0][0] or 0) for rows in map(self._rows_or_none, _LAST_SEQ) if rows), default=0)
        for seq in range(1, last_seq + 1):
            try:
                yield from list(self._memories("WHERE seq = ?", (seq,)))
            except StoreError:
                continue

    def _rows_or_none(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return self._execute(sql, ())
        except StoreError:
            return []

    def matching_seqs(self, wanted: Filter) -> list[int]:
        """Return the row numbers of the matching memories."""
        condition, values = _filter_sql(wanted, now_ms())
        return [row[0] for row in self._execute(f"SELECT seq FROM memories WHERE {condition}", values)]  # noqa: S608 - constants and marks

    def projects(self) -> list[str]:
        """Return the identities of all projects that have memories."""
        return [
            row[0] for row in self._execute("SELECT DISTINCT project FROM memories WHERE project IS NOT NULL ORDER BY 1", ())
        ]

    def count(self, wanted: Filter) -> int:
        """Return how many memories match."""
        condition, values = _filter_sql(wanted, now_ms())
        return int(self._execute(f"SELECT count(*) FROM memories WHERE {condition}", values)[0][0])  # noqa: S608 - constants and marks

    def find_oldest_except(self, ids: Sequence[str], limit: int) -> tuple[int, list[Memory]]:
        """Return the number of live memories outside of `ids`, and the `limit` oldest of them."""
        condition, values = _filter_sql(Filter(), now_ms())
        condition += " AND id NOT IN (SELECT value FROM json_each(?))"
        values = (*values, light_json.dumps(ids))
        count = int(self._execute(f"SELECT count(*) FROM memories WHERE {condition}", values)[0][0])  # noqa: S608 - constants and marks
        return count, list(self._memories(f"WHERE {condition} ORDER BY created_at, id LIMIT ?", (*values, limit)))

    def with_prefix(self, prefix: str, limit: int) -> list[str]:
        """Return ids that begin with `prefix`."""
        rows = self._execute(
            "SELECT id FROM memories WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", (prefix, prefix + "\U0010ffff", limit)
        )
        return [row[0] for row in rows]

    def newest_with_prefix(self, prefix: str, limit: int) -> list[Memory]:
        """Return the memories whose ids begin with `prefix`, the newest first; deleted ones come last."""
        order = "ORDER BY status = 'deleted', created_at DESC, id LIMIT ?"
        return list(self._memories(f"WHERE id >= ? AND id < ? {order}", (prefix, prefix + "\U0010ffff", limit)))

    def namespaces(self) -> list[str]:
        """Return the namespaces of all memories that are not deleted."""
        return [
            row[0] for row in self._execute("SELECT DISTINCT namespace FROM memories WHERE status != 'deleted' ORDER BY 1", ())
        ]

    def tags(self) -> list[str]:
        """Return the tags of all memories that are not deleted."""
        sql = "SELECT DISTINCT value FROM memories, json_each(tags) WHERE status != 'deleted' ORDER BY 1"
        return [str(row[0]) for row in self._execute(sql, ())]

    def counts(self) -> dict[str, int]:
        """Return how many memories have each status."""
        return dict(self._execute("SELECT status, count(*) FROM memories GROUP BY status", ()))

    def with_recorded_questions(self) -> list[Memory]:
        """Return a superset of the memories with a question that depends on the record of a prompt."""
        return list(self._memories("WHERE questions LIKE ?", ('%"decision":%',)))

    def count_pending(self) -> int:
        """Return how many memories wait for the person's answer."""
        return int(self._execute("SELECT count(*) FROM memories WHERE status = 'pending'", ())[0][0])

    def revision(self) -> int:
        """Return the number of the latest write transaction, 0 for an empty store."""
        return int(self._execute("SELECT coalesce(max(number), 0) FROM revisions", ())[0][0])

    def has_revision(self, number: int) -> bool:
        """Return whether this store ever was at revision `number`."""
        return number == 0 or bool(self._execute("SELECT 1 FROM revisions WHERE number = ?", (number,)))

    def changed_after(self, number: int, limit: int) -> list[Memory]:
        """Return the memories written after revision `number`, newest change first, at most `limit`."""
        return list(self._memories("WHERE revision > ? ORDER BY revision DESC, seq DESC LIMIT ?", (number, limit)))

    def changes(self, after: int, until: int, from_seq: int, limit: int) -> list[Memory]:
        """Return the memories written after revision `after` and by `until`, in row order from `from_seq`."""
        where = "WHERE revision > ? AND revision <= ? AND seq >= ? ORDER BY seq LIMIT ?"
        return list(self._memories(where, (after, until, from_seq, limit)))

    def purged_after(self, number: int) -> list[int]:
        """Return the row numbers purged after revision `number`."""
        return [row[0] for row in self._execute("SELECT seq FROM purged WHERE revision > ?", (number,))]

    def marks(self, seqs: Sequence[int]) -> list[Mark]:
        """Return the marks of these memories, the oldest first."""
        numbers = ",".join(map(str, map(int, seqs)))
        sql = f"SELECT seq, decision, terms, at FROM marks WHERE seq IN ({numbers}) ORDER BY at, decision"  # noqa: S608 - whole numbers
        return [Mark(*row) for row in self._execute(sql, ())]

    def triggers(self, keys: Sequence[str], audiences: tuple[str, ...], text: str, now_ms: int = 0) -> list[cue_tables.Trigger]:
        """Return the triggers of these audiences that may match `text`, the highest priority first, then the newest.

        A trigger may match where `text` has one of its literals, or where it has none. text: in the form of `triggers.plain`;
        keys: from `triggers.keys_in`. now_ms: memories that have expired by then are left out; 0 for none. This method and the
        next ones until `find_pinned` find active memories only.
        """
        return cue_tables.find_triggers(self._execute, keys, audiences, text, now_ms)

    def has_cues(self) -> tuple[bool, bool]:
        """Return whether any active memory has triggers, and whether any has conditions: most stores have none."""
        return cue_tables.has_triggers_and_conditions(self._execute)

    def globs(self, keys: Sequence[str], audiences: tuple[str, ...], now_ms: int = 0) -> list[tuple[int, str]]:
        """Return the globs of these audiences that have one of these keys, each after its row number.

        keys: `globs.keys_of_path` of a path.
        """
        return cue_tables.find_globs(self._execute, keys, audiences, now_ms)

    def mentioning(
        self, names: Sequence[str], audiences: tuple[str, ...], max_per_name: int, now_ms: int = 0
    ) -> dict[str, list[int]]:
        """Return the row numbers of the newest `max_per_name` memories that contain each name, by name."""
        return cue_tables.find_mentioning(self._execute, names, audiences, max_per_name, now_ms)

    def conditional(self, audiences: tuple[str, ...], limit: int, now_ms: int = 0) -> list[tuple[int, dict[str, object]]]:
        """Return the row numbers and conditions of memories with conditions, the highest priority first, then the newest.

        A caller that must detect more than `limit` asks for one extra.
        """
        try:
            return cue_tables.find_conditional(self._execute, audiences, limit, now_ms)
        except ValueError as error:
            raise self._unreadable(error) from error

    def find_pinned(self, audiences: tuple[str, ...], limit: int, now_ms: int = 0) -> list[Memory]:
        """Return the pinned memories for the start of a session: the user's own, without triggers and conditions."""
        return list(self._memories(cue_tables.pinned_sql(audiences, now_ms), (*audiences, limit)))

    def outlines(self, audiences: tuple[str, ...], limit: int, now_ms: int, also: Sequence[str] = ()) -> list[Outline]:
        """Return the live memories that a session's brief considers, each once.

        They are the `limit` newest and the `limit` newest standing ones of each project, and the ids in `also`.
        """
        from subcog_hooks.store import outlines  # a session begins once

        try:
            rows = outlines.find_newest(self._execute, audiences, limit, now_ms)
            rows += outlines.find_by_ids(self._execute, also, audiences, now_ms)
            rows += outlines.find_standing(self._execute, audiences, limit, now_ms)
        except ValueError as error:
            raise self._unreadable(error) from error
        return list({outline.id: outline for outline in rows}.values())

    def fit_into(self, room: int, audiences: tuple[str, ...], limit: int, longest: int) -> bool:
        """Return whether all active memories for these audiences fit into `room` characters.

        limit: the maximum of memories a project; longest: the characters of a memory that count. Raises StoreError.
        """
        from subcog_hooks.store import outlines  # a session begins once

        return outlines.fit_into(self._execute, room, audiences, limit, longest)

    def trigger_room(self) -> cue_tables.Room:
        """Return the room for triggers without a literal."""
        return cue_tables.Room(cue_tables.count_unkeyed(self._execute))

    def problems(self) -> list[str]:
        """Return the faults that SQLite's own check finds, [] for a sound file."""
        rows = [str(row[0]) for row in self._execute("PRAGMA integrity_check(5)", ())]
        return [] if rows == ["ok"] else rows

    # writing

    def add(self, memories: Iterable[Memory]) -> list[Memory]:
        """Store new memories in one transaction; each gets its row number.

        Raises InvalidMemory for an id that is taken, and for a trigger without a literal for which there is no room.
        """
        marks = ",".join("?" * len(_FIELDS))  # the revision replaces the row number
        sql = f"INSERT INTO memories ({_COLUMNS.removeprefix('seq, ')}, revision) VALUES ({marks})"  # noqa: S608 - constants
        added = [check_memory(memory) for memory in memories]
        with _Transaction(self) as revision:
            for memory in added:
                try:
                    self._connection.execute(sql, (*_row_of_memory(memory), revision))
                except apsw.ConstraintError as error:
                    if self._connection.execute("SELECT 1 FROM memories WHERE id = ?", (memory.id,)).fetchall():
                        raise InvalidMemory(f"the id {memory.id} is taken", "leave the id out, or use --replace") from error
                    raise
                memory.seq = self._connection.last_insert_rowid()
                cue_tables.put_cues(self._connection, memory, audience_of(memory.scope, memory.project))
        return added

    def update(self, memories: Iterable[Memory]) -> None:
        """Replace memories with the same ids, in one transaction. Raises NoMemory, InvalidMemory."""
        with _Transaction(self) as revision:
            self._write([(self.get(memory.id), memory) for memory in memories], revision)

    def modify(self, ids: Sequence[str], change: Callable[[Memory], Memory]) -> list[Memory]:
        """Change the stored memories in one transaction. Return them changed.

        change: maps the stored memory to the new one; another process may have changed it since it was last read. Raises
        NoMemory, InvalidMemory.
        """
        with _Transaction(self) as revision:
            return self._write([(memory, change(memory)) for memory in map(self.get, ids)], revision)

    def purge(self, ids: Sequence[str]) -> None:
        """Erase memories for good; `overwrite_log` erases the last of their bytes. Raises NoMemory."""
        with _Transaction(self) as revision:
            for id_ in ids:
                rows = self._connection.execute("DELETE FROM memories WHERE id = ? RETURNING seq", (id_,)).fetchall()
                if not rows:
                    raise NoMemory(f"no memory has the id {id_}", "`subcog list` shows the ids")
                self._connection.execute("INSERT INTO purged VALUES (?, ?)", (rows[0][0], revision))
                if id_.startswith(SECTION_PREFIX):  # its file may still have it, and may be imported again
                    self._connection.execute("INSERT OR IGNORE INTO purged_sections VALUES (?)", (id_,))

    def mark(self, mark: Mark) -> None:
        """Store a mark; it replaces a mark with the same memory and decision. The caches need not follow."""
        values = (mark.seq, mark.decision, mark.terms, mark.made_at)
        self._execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)", values)

    def unmark(self, seq: int, decisions: Sequence[str]) -> None:
        """Delete the marks that a memory has from these decisions."""
        marks = ",".join("?" * len(decisions))
        self._execute(f"DELETE FROM marks WHERE seq = ? AND decision IN ({marks})", (seq, *decisions))  # noqa: S608 - marks alone

    def rebuild_cues(self) -> None:
        """Rebuild the tables behind `triggers`, `globs` and `mentioning`."""
        with _Transaction(self):
            active = self._memories("WHERE status = 'active' ORDER BY seq", ())
            cue_tables.rebuild_cues(
                self._connection, ((memory, audience_of(memory.scope, memory.project)) for memory in active)
            )

    def overwrite_log(self) -> None:
        """Empty SQLite's log into the file. Raises StoreBusy when another process still reads the old bytes."""
        database.overwrite_log(self._connection, self.path)

    # inside

    def _write(self, changes: Iterable[tuple[Memory, Memory]], revision: int) -> list[Memory]:
        names = _COLUMNS.removeprefix("seq, id, ").split(", ")
        sql = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in names)}, revision = ? WHERE seq = ?"  # noqa: S608 - constants
        written = []
        for stored, changed in changes:
            check_memory(changed)
            changed.seq = stored.seq
            self._connection.execute(sql, (*_row_of_memory(changed)[1:], revision, stored.seq))
            cue_tables.put_cues(self._connection, changed, audience_of(changed.scope, changed.project))
            written.append(changed)
        return written

    def _execute(self, sql: str, values: tuple[apsw.SQLiteValue, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise database.translate_error(error, self.path) from error

    def _memories(self, where: str, values: tuple[apsw.SQLiteValue, ...]) -> Iterator[Memory]:
        try:
            for row in self._connection.execute(f"SELECT {_COLUMNS} FROM memories {where}", values):  # noqa: S608 - constants and marks
                yield _memory_of_row(row)
        except apsw.Error as error:
            raise database.translate_error(error, self.path) from error
        except ValueError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: ValueError) -> StoreCorrupt:
        """Return the error for a text that is no UTF-8, or a list that is no JSON."""
        return StoreCorrupt(f"{self.path} is damaged ({error})", "`subcog export FILE` saves what can be read")

    def _in_chunks(self, column: str, keys: Sequence[int] | Sequence[str]) -> Iterator[Memory]:
        for start in range(0, len(keys), _READ_CHUNK):
            chunk = keys[start : start + _READ_CHUNK]
            yield from self._memories(f"WHERE {column} IN ({','.join('?' * len(chunk))})", tuple(chunk))


class _Transaction:
    """A write transaction with the next revision number; rolled back when its block raises."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> int:
        connection = self._store._connection  # noqa: SLF001 - one room, two classes
        try:
            connection.execute("BEGIN IMMEDIATE")
            last_revision = self._store.revision()
            # microseconds, so that a store restored from a backup never reuses a number that a cache has seen
            revision = max(last_revision + 1, now_ms() * 1000)
            connection.execute("INSERT INTO revisions VALUES (?)", (revision,))
            oldest_kept = "SELECT number FROM revisions ORDER BY number DESC LIMIT 1 OFFSET ?"
            connection.execute(f"DELETE FROM revisions WHERE number <= ({oldest_kept})", (KEPT_REVISIONS,))  # noqa: S608 - constants
        except apsw.Error as error:
            self._rollback()
            raise database.translate_error(error, self._store.path) from error
        return revision

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            try:
                self._store._connection.execute("COMMIT")  # noqa: SLF001 - one room, two classes
            except apsw.Error as failure:
                self._rollback()
                raise database.translate_error(failure, self._store.path) from failure
            return
        self._rollback()
        if isinstance(error, apsw.Error):
            raise database.translate_error(error, self._store.path) from error

    def _rollback(self) -> None:
        connection = self._store._connection  # noqa: SLF001 - one room, two classes
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _glob_matches(*values: apsw.SQLiteValue) -> bool:
    from subcog_hooks.cues import globs  # no hook filters by paths

    glob, path = map(str, values)
    return globs.matches(globs.expand_home(glob), path)


def _filter_sql(wanted: Filter, now: int) -> tuple[str, tuple[apsw.SQLiteValue, ...]]:
    clauses: list[str] = ["1"]
    values: list[apsw.SQLiteValue] = []
    if wanted.audiences is not None:
        projects = [name.removeprefix("project:") for name in wanted.audiences if name.startswith("project:")]
        scopes = [name for name in wanted.audiences if not name.startswith("project:")]
        clauses.append(f"(scope IN ({','.join('?' * len(scopes))}) OR project IN ({','.join('?' * len(projects))}))")
        values += scopes + projects
    for column, allowed in (("status", wanted.statuses), ("namespace", wanted.namespaces)):
        if allowed:
            clauses.append(f"{column} IN ({','.join('?' * len(allowed))})")
            values += allowed
    for tag in wanted.tags:
        clauses.append("EXISTS (SELECT 1 FROM json_each(tags) WHERE lower(value) = lower(?))")
        values.append(tag)
    for path in wanted.paths:
        clauses.append("EXISTS (SELECT 1 FROM json_each(paths) WHERE is_met(value, ?) OR value = ?)")
        values += (path, path)
    if wanted.since is not None:
        clauses.append("created_at >= ?")
        values.append(wanted.since)
    if not wanted.include_expired:
        clauses.append("(expires_at IS NULL OR expires_at > ?)")
        values.append(now)
    return " AND ".join(clauses), tuple(values)


def _row_of_memory(memory: Memory) -> tuple[apsw.SQLiteValue, ...]:
    import json  # 4 ms; only writers come here

    from subcog_hooks.store import questions

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    return (
        memory.id,
        memory.content,
        memory.namespace,
        memory.scope,
        memory.project,
        memory.branch,
        text(memory.paths),
        text(memory.tags),
        text(memory.keywords),
        text(memory.triggers),
        text(memory.when),
        memory.priority,
        memory.status,
        memory.superseded_by,
        memory.source,
        memory.trust,
        memory.created_at,
        memory.updated_at,
        memory.expires_at,
        memory.content_hash,
        text(questions.to_json(memory.questions)),
        memory.standing,
    )


def _memory_of_row(row: tuple[apsw.SQLiteValue, ...]) -> Memory:
    values: dict[str, object] = dict(zip(_FIELDS, row, strict=True))
    if (standing := values["standing"]) is not None:
        values["standing"] = bool(standing)
    for field in ("paths", "tags", "keywords", "triggers"):
        list_json = values[field]
        values[field] = () if list_json == "[]" else tuple(light_json.loads(list_json))  # type: ignore[arg-type]  # `_row_of_memory` wrote it
    values["when"] = {} if values["when"] == "{}" else light_json.loads(values["when"])  # type: ignore[arg-type]  # `_row_of_memory` did
    if (questions_json := values["questions"]) == "[]":
        values["questions"] = ()
    else:
        from subcog_hooks.store import questions  # few memories have any

        values["questions"] = questions.from_json(light_json.loads(questions_json))  # type: ignore[arg-type]  # `_row_of_memory` did
    return Memory(**values)  # type: ignore[arg-type]  # the columns are typed by the STRICT table


_LAST_SEQ = ("SELECT seq FROM sqlite_sequence WHERE name = 'memories'", "SELECT max(seq) FROM memories")
_FIELDS = tuple(_COLUMNS.replace("conditions", "when").split(", "))
