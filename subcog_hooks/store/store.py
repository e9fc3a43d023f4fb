"""memories.db: listing and writing memories, and the derived rows by which a prompt, a file or a command finds them.

It knows nothing of the caches but the revision they follow. The derived rows are written in the same transaction; SQL triggers
delete a memory's old rows.
"""

from __future__ import annotations

import apsw

from subcog_hooks.core import database, light_json
from subcog_hooks.core.errors import InvalidMemory, NoMemory, StoreError
from subcog_hooks.store.memory import EPISODE_PREFIX, SECTION_PREFIX, Memory, now_ms
from subcog_hooks.store.memory_checks import check_memory, questions_to_json
from subcog_hooks.store.store_reader import _COLUMNS, _FIELDS, SCHEMA, Filter, Mark, StoreReader, audience_of, filter_sql

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self  # Any: the STRICT tables guarantee the column types

    from subcog_hooks.core.paths import Home

MAX_WORD_SEGMENTS = 4  # Each costs a tool call; merging them takes a writer .1 ms for ten memories.
WRITE_WAIT_MS = 10_000  # how long a writer waits for another; an import commits every 1,000 memories
KEPT_REVISIONS = 10_000  # write transactions that a cache can follow; an older cache is made anew

_DERIVED = ("trigger_keys", "triggers", "path_globs", "governed")  # tables
_LAST_SEQ = ("SELECT seq FROM sqlite_sequence WHERE name = 'memories'", "SELECT max(seq) FROM memories")


class Store(StoreReader):
    """An open memories.db. Every method raises StoreError when SQLite does."""

    __slots__ = ()

    @classmethod
    def writer(cls, home: Home, busy_ms: float = WRITE_WAIT_MS) -> Self:
        """Open the store for writing; the home and the file are made as needed."""
        home.create()
        return cls(database.open_writer(home.memories_db, SCHEMA, busy_ms), home)

    # reading

    def get(self, id: str) -> Memory:
        """Return the memory with this id, in any status. Raises NoMemory."""
        for memory in self._memories("WHERE id = ?", (id,)):
            return memory
        raise NoMemory(f"no memory has the id {id[:80]}", "`subcog list` shows the ids")

    def by_hash(self, content_hash: str) -> list[Memory]:
        """Return the memories of exactly this content, not the deleted ones."""
        return list(self._memories("WHERE content_hash = ? AND status <> 'deleted' ORDER BY seq", (content_hash,)))

    def purged_sections(self, ids: Sequence[str]) -> set[str]:
        """Return the ids of imported sections among `ids` that were purged."""
        sql = "SELECT id FROM purged_sections WHERE id IN (SELECT value FROM json_each(?))"
        return {id_ for (id_,) in self.run(sql, (light_json.dumps(ids),))}

    def select(self, wanted: Filter, limit: int = -1, offset: int = 0) -> list[Memory]:
        """Return the matching memories, newest first, then by id. A creation date in the future counts as now."""
        now = now_ms()
        condition, values = filter_sql(wanted, now)
        order = "ORDER BY min(created_at, ?) DESC, id LIMIT ? OFFSET ?"
        return list(self._memories(f"WHERE {condition} {order}", (*values, now, limit, offset)))

    def all(self, statuses: Sequence[str]) -> Iterator[Memory]:
        """Return every memory of these statuses, by id: the order of an export."""
        marks = ",".join("?" * len(statuses))
        return self._memories(f"WHERE status IN ({marks}) ORDER BY id", tuple(statuses))

    def readable(self) -> Iterator[Memory]:
        """Yield every memory that is still readable in a damaged file, row by row, in the order of storing."""
        last_seq = 0
        for sql in _LAST_SEQ:
            try:
                last_seq = max([last_seq, *(int(seq or 0) for (seq,) in self.run(sql))])
            except StoreError:
                continue
        for seq in range(1, last_seq + 1):
            try:
                yield from list(self._memories("WHERE seq = ?", (seq,)))
            except StoreError:
                continue

    def count(self, wanted: Filter) -> int:
        """Return how many memories match."""
        condition, values = filter_sql(wanted, now_ms())
        return int(self.run(f"SELECT count(*) FROM memories WHERE {condition}", values)[0][0])  # noqa: S608 - constants and marks

    def newest_with_prefix(self, prefix: str, limit: int) -> list[Memory]:
        """Return the memories whose ids begin with `prefix`, the newest first; deleted ones come last."""
        order = "ORDER BY status = 'deleted', created_at DESC, id LIMIT ?"
        return list(self._memories(f"WHERE id >= ? AND id < ? {order}", (prefix, prefix + "\U0010ffff", limit)))

    def with_recorded_questions(self) -> list[Memory]:
        """Return a superset of the memories with a question that depends on the record of a prompt."""
        return list(self._memories("WHERE questions LIKE ?", ('%"decision":%',)))

    def has_revision(self, number: int) -> bool:
        """Return whether this store ever was at revision `number`."""
        return number == 0 or bool(self.run("SELECT 1 FROM revisions WHERE number = ?", (number,)))

    def changes(self, after: int, until: int, from_seq: int, limit: int) -> list[Memory]:
        """Return the memories written after revision `after` and by `until`, in row order from `from_seq`."""
        where = "WHERE revision > ? AND revision <= ? AND seq >= ? ORDER BY seq LIMIT ?"
        return list(self._memories(where, (after, until, from_seq, limit)))

    def purged_after(self, number: int) -> list[int]:
        """Return the row numbers purged after revision `number`."""
        return [row[0] for row in self.run("SELECT seq FROM purged WHERE revision > ?", (number,))]

    # writing

    def add(self, memories: Iterable[Memory]) -> list[Memory]:
        """Store new memories in one transaction; each gets its row number. Raises InvalidMemory for an id that is taken."""
        added = [check_memory(memory) for memory in memories]
        with _Transaction(self) as revision:
            for memory in added:
                self._insert(memory, revision)
        return added

    def update(self, memories: Iterable[Memory]) -> None:
        """Replace memories with the same ids, in one transaction. Raises NoMemory, InvalidMemory."""
        with _Transaction(self) as revision:
            self._write([(self.get(memory.id), memory) for memory in memories], revision)

    def modify(self, ids: Sequence[str], change: Callable[[Memory], Memory], *, may_be_gone: bool = False) -> list[Memory]:
        """Change the stored memories in one transaction. Return them changed.

        change: maps the stored memory to the new one; another process may have changed it since it was last read. Raises
        NoMemory unless memories may be gone, InvalidMemory.
        """
        with _Transaction(self) as revision:
            memories = self.by_ids(ids).values() if may_be_gone else map(self.get, ids)
            return self._write([(memory, change(memory)) for memory in memories], revision)

    def write_unless_changed(
        self, since: int, *, new: Sequence[Memory] = (), changed: Sequence[Memory] = (), purged: Sequence[str] = ()
    ) -> bool:
        """Add, replace and purge memories in one transaction. Raises InvalidMemory.

        Return False without a change if another process has written or purged any of them after revision `since`.
        """
        replaced = {*(memory.id for memory in changed), *purged}
        ids = light_json.dumps([*(memory.id for memory in new), *replaced])
        with _Transaction(self) as revision:
            sql = "SELECT id, revision FROM memories WHERE id IN (SELECT value FROM json_each(?))"
            revisions = dict(self._connection.execute(sql, (ids,)))
            if max(revisions.values(), default=0) > since or not replaced <= revisions.keys():
                return False
            for memory in new:
                self._insert(check_memory(memory), revision)
            self._write([(self.get(memory.id), memory) for memory in changed], revision)
            self._purge(purged, revision)
        return True

    def purge(self, ids: Sequence[str]) -> None:
        """Erase memories for good; `overwrite_log` erases the last of their bytes. Raises NoMemory."""
        with _Transaction(self) as revision:
            self._purge(ids, revision)

    def mark(self, mark: Mark) -> None:
        """Store a mark; it replaces a mark with the same memory and verdict. The caches need not follow."""
        values = (mark.seq, mark.verdict, mark.terms, mark.made_at)
        self.run("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)", values)

    def unmark(self, seq: int, past_verdicts: Sequence[str]) -> None:
        """Delete the marks that a memory has from these verdicts."""
        sql = "DELETE FROM marks WHERE seq = ? AND decision IN (SELECT value FROM json_each(?))"
        self.run(sql, (seq, light_json.dumps(past_verdicts)))

    def rebuild_cues(self) -> None:
        """Derive the rows of triggers, globs, actions and words anew."""
        with _Transaction(self):
            for table in _DERIVED:
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - the tables' own names
            for memory in self._memories("WHERE status = 'active' ORDER BY seq", ()):
                self._put_cues(memory)
            self._connection.execute("INSERT INTO words (words) VALUES ('rebuild')")

    def overwrite_log(self) -> None:
        """Empty SQLite's log into the file. Raises StoreBusy when another process still reads the old bytes."""
        database.overwrite_log(self._connection, self.path)

    # inside

    def _insert(self, memory: Memory, revision: int) -> None:
        marks = ",".join("?" * len(_FIELDS))  # the revision replaces the row number
        sql = f"INSERT INTO memories ({_COLUMNS.removeprefix('seq, ')}, revision) VALUES ({marks})"  # noqa: S608 - constants
        try:
            self._connection.execute(sql, (*_row_of_memory(memory), revision))
        except apsw.ConstraintError as error:
            if self._connection.execute("SELECT 1 FROM memories WHERE id = ?", (memory.id,)).fetchall():
                raise InvalidMemory(f"the id {memory.id} is taken", "leave the id out, or use --replace") from error
            raise
        memory.seq = self._connection.last_insert_rowid()
        self._put_cues(memory)

    def _purge(self, ids: Sequence[str], revision: int) -> None:
        for id_ in ids:
            rows = self._connection.execute("DELETE FROM memories WHERE id = ? RETURNING seq", (id_,)).fetchall()
            if not rows:
                raise NoMemory(f"no memory has the id {id_}", "`subcog list` shows the ids")
            self._connection.execute("INSERT INTO purged VALUES (?, ?)", (rows[0][0], revision))
            if id_.startswith((SECTION_PREFIX, EPISODE_PREFIX)):  # its file may still have it, and may be imported again
                self._connection.execute("INSERT OR IGNORE INTO purged_sections VALUES (?)", (id_,))

    def _write(self, changes: Iterable[tuple[Memory, Memory]], revision: int) -> list[Memory]:
        names = _COLUMNS.removeprefix("seq, id, ").split(", ")
        sql = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in names)}, revision = ? WHERE seq = ?"  # noqa: S608 - constants
        written = []
        for stored, changed in changes:
            check_memory(changed)
            changed.seq = stored.seq
            self._connection.execute(sql, (*_row_of_memory(changed)[1:], revision, stored.seq))
            self._put_cues(changed)
            written.append(changed)
        return written

    # the derived rows

    def merge_words(self) -> None:
        """Merge the segments of the words where there are many. The memories are stored: a failure costs speed alone."""
        try:
            if self.run("SELECT count(DISTINCT segid) FROM words_idx")[0][0] > MAX_WORD_SEGMENTS:
                self.run("INSERT INTO words (words) VALUES ('optimize')")
        except StoreError:  # A full disk, or another writer; the next write tries again.
            return

    def _put_cues(self, memory: Memory) -> None:
        """Add the derived rows of a memory that was just written and has none; an inactive one gets none."""
        if memory.status != "active":
            return
        from subcog_hooks.text.actions import actions_of_rule  # only writers come here

        governed = actions_of_rule(memory.content)
        if governed:  # most notes name no action
            from subcog_hooks.text.standing_rules import is_standing

            governed = governed if is_standing(memory.standing, memory.content) else ()
        if not (governed or memory.triggers or memory.paths):
            return
        connection = self._connection
        name = audience_of(memory.scope, memory.project)
        connection.execute("INSERT OR IGNORE INTO audiences (name) VALUES (?)", (name,))
        ((audience,),) = connection.execute("SELECT number FROM audiences WHERE name = ?", (name,)).fetchall()
        if memory.triggers:
            from subcog_hooks.cues import triggers

            for pattern in dict.fromkeys(memory.triggers):
                literals = triggers.required_literals(pattern)
                row = (memory.seq, pattern, memory.priority, " ".join(map(triggers.EITHER.join, literals)))
                connection.execute("INSERT INTO triggers VALUES (NULL, ?, ?, ?, ?)", row)
                number = connection.last_insert_rowid()
                keyed = [(word[: triggers.KEY], word, number, audience) for best in literals[:1] for word in best]
                connection.executemany("INSERT INTO trigger_keys VALUES (?, ?, ?, ?)", keyed or [("", "", number, audience)])
        if memory.paths:
            from subcog_hooks.cues import globs

            rows = [(globs.key_of_glob(glob), audience, memory.seq, glob) for glob in dict.fromkeys(memory.paths)]
            connection.executemany("INSERT INTO path_globs VALUES (?, ?, ?, ?)", rows)
        connection.executemany("INSERT INTO governed VALUES (?, ?, ?)", [(action, audience, memory.seq) for action in governed])


class _Transaction:
    """A write transaction with the next revision number; rolled back when its block raises."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> int:
        self._store.run("BEGIN IMMEDIATE")
        try:
            # microseconds, so that a store restored from a backup never reuses a number that a cache has seen
            revision = max(self._store.revision() + 1, now_ms() * 1000)
            self._store.run("INSERT INTO revisions VALUES (?)", (revision,))
            oldest_kept = "SELECT number FROM revisions ORDER BY number DESC LIMIT 1 OFFSET ?"
            self._store.run(f"DELETE FROM revisions WHERE number <= ({oldest_kept})", (KEPT_REVISIONS,))  # noqa: S608 - constants
        except StoreError as error:
            self.__exit__(StoreError, error, None)
            raise
        return revision

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        connection = self._store._connection  # noqa: SLF001 - one room, two classes
        try:
            if error is None:
                self._store.run("COMMIT")
                self._store.merge_words()
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if isinstance(error, apsw.Error):
            raise database.translate_error(error, self._store.path) from error


def _row_of_memory(memory: Memory) -> tuple[apsw.SQLiteValue, ...]:
    """Return the values of a memory's columns, from its id on."""
    import json  # 4 ms; only writers come here

    values: dict[str, Any] = {name: getattr(memory, name) for name in _FIELDS[1:]}
    values["questions"] = questions_to_json(memory.questions)
    return tuple(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, list | tuple | dict) else value
        for value in values.values()
    )
