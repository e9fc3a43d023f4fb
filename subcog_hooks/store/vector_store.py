"""The vectors of one embedding space: an SQLite file beside the lexical index, searched with sqlite-vec's distance functions.

A cache like the index: it may be behind, damaged or missing at any time, and lexical recall never depends on it. A binary code
of each vector (its signs) is scanned first, in a table clustered by status and audience, so that a search reads the codes of
its own projects only; the int8 vectors of the nearest are then compared exactly. That beats sqlite-vec's own virtual table,
whose metadata filter costs more than the scan: 1.8 ms against 32 ms for 3 audiences of 20 among 100,000 rows, 12 ms against 11
for all of them.

A long memory has rows for its passages behind that of its whole text; they come, move and go together. Its cosine is the mean
of the whole's and the best passage's: +.01 to +.02 nDCG@10 on development data over the whole's alone. Each question that a
memory answers has a row of its own, with a hash of its own; where the best of them is nearer than the text, its cosine counts.
"""

from __future__ import annotations

from subcog_hooks.core import database
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home, make_private_folder
from subcog_hooks.store import vector_file
from subcog_hooks.store.memory import MAX_QUESTIONS, STATUSES, Memory, hash_content
from subcog_hooks.store.store import audience_of, reach_of
from subcog_hooks.store.vector_file import PASSAGES, Translated, VectorsUnusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any, Self  # Any: what a column holds is said by the STRICT tables

    import apsw

    from subcog_hooks.core.deadline import Deadline

    MadeBy = tuple[str, str]  # what makes the final vectors, and the provisional ones; "": not known, what is there stays

WRITE_WAIT_MS = 10_000  # how long a writer waits for another, as for the store
_STEPS = 20_000  # of SQLite's machine between two looks at the clock: .3 ms of a scan
READ_WAIT_MS = 2_000  # how long a reader waits; the hook gives its own time
FIRST_QUESTION = PASSAGES - MAX_QUESTIONS

# Keys that the scan takes for each memory that is wanted. Where long memories take up so many that it is too few, it is done
# again: for 19 of 376 queries for 100 memories among 3,118 with 5,694 passages. 3 would cost .7 ms more among 100,000.
KEYS_A_MEMORY = 2

TIES = 16  # times as many keys are read at most when many have one code: hundreds of memories of one text

_FROM_STATUS = {status: number for number, status in enumerate(STATUSES)}
_ACTIVE, _DELETED = _FROM_STATUS["active"], _FROM_STATUS["deleted"]
_WAITING = PASSAGES, PASSAGES, FIRST_QUESTION, _DELETED  # the values of _WAITS
_WAITS = "NOT is_final AND (NOT key % ? OR key % ? >= ?) AND status <> ?"  # of the text or a question, not of a passage
_LAST, _LAST_PASSAGE = PASSAGES - 1, FIRST_QUESTION - 1


class VectorStore:
    """The open vectors of one space. Every method raises StoreError when SQLite does."""

    __slots__ = ("_connection", "_finals_made_by", "_inode", "dimension", "path")

    def __init__(self, connection: apsw.Connection, path: str, dimension: int) -> None:
        self._connection = connection
        self._finals_made_by = ""
        self.path = path
        self.dimension = dimension
        self._inode = vector_file.inode_of(path)

    @classmethod
    def reader(cls, home: Home, space: str, dimension: int, busy_ms: float = READ_WAIT_MS) -> VectorStore:
        """Open the vectors read-only. Raises VectorsUnusable, also when there are none yet; StoreBusy, ExtensionMissing."""
        path = vector_file.path_of(home, space)
        with Translated(path):
            connection = database.open_reader(path, vector_file.VECTORS_SCHEMA, busy_ms)
        return cls(vector_file.prepared(connection, path, dimension), path, dimension)

    @classmethod
    def writer(cls, home: Home, space: str, dimension: int, busy_ms: float = WRITE_WAIT_MS) -> VectorStore:
        """Open the vectors for writing; the file is made as needed. Raises StoreError: as `reader` does."""
        make_private_folder(home.index)
        path = vector_file.path_of(home, space)
        connection = vector_file.open_to_write(path, busy_ms)
        return cls(vector_file.prepared(connection, path, dimension, may_make=True), path, dimension)

    @staticmethod
    def remove(home: Home, space: str) -> None:
        """Delete the vectors of a space; its next writer makes them anew. Raises StoreError."""
        vector_file.remove(vector_file.path_of(home, space))

    @staticmethod
    def purge(home: Home, seqs: Sequence[int]) -> None:
        """Erase memories from the vectors of every space, also of those not in use, and their bytes from the disk.

        Needs no sqlite-vec. A file that is damaged, or of another version, is deleted: it can be made anew.
        Raises StoreBusy when another process still reads the old bytes, StoreError; the others are done all the same.
        """
        failure: StoreError | None = None
        for path in vector_file.all_paths(home):
            try:
                _purge(path, seqs)
            except StoreError as error:
                failure = error
        if failure:
            raise failure

    def is_gone(self) -> bool:
        """Return whether the file has been removed, or made anew, since it was opened.

        Then nobody will read what is written here.
        """
        return vector_file.inode_of(self.path) != self._inode

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # searching

    def expire_at(self, deadline: Deadline | None) -> None:
        """Break off searches when the deadline passes, with a StoreError; None: let them end."""
        stop = None if deadline is None else lambda: not deadline.work_left_ms()
        self._connection.set_progress_handler(stop, _STEPS if stop else 0)

    def nearest(
        self, query: bytes, k: int, audiences: tuple[str, ...] | None, statuses: tuple[str, ...] = ("active",)
    ) -> list[tuple[float, int]]:
        """Return about `k` memories nearest to `query` ((dimension,) int8), as (cosine, row number), nearest first.

        audiences, statuses: None and () for all. The k memories with the best binary code, of the whole or of a passage, are
        compared exactly, as `cosines` does, and those that have the code of the last one, so that the order of insertion does
        not show.
        """
        chosen = tuple(_FROM_STATUS[status] for status in statuses) or tuple(range(_DELETED))
        with Translated(self.path), self._connection:  # a savepoint: all of it sees one state of the file
            reaches = None if audiences is None else [reach_of(audience) for audience in audiences]
            codes, values = self._codes(query, reaches, chosen)
            scan = (
                f"SELECT key, code FROM ({codes}) "  # noqa: S608 - constants and marks
                "ORDER BY vec_distance_hamming(vec_bit(code), vec_quantize_binary(vec_int8(?))), code LIMIT ?"
            )
            limit = KEYS_A_MEMORY * k
            while True:
                found = self._run(scan, (*values, query, limit))
                near, is_cut = _first(found, k)
                if not is_cut or len(found) < limit or limit > TIES * KEYS_A_MEMORY * k:
                    break
                limit *= 4  # a fourth scan is for memories of 48 passages each
            cosines = self.cosines(query, near)
        return sorted(((cosine, seq) for seq, cosine in cosines.items()), key=lambda hit: (-hit[0], hit[1]))

    def _codes(
        self, query: bytes, reaches: Sequence[int] | None, statuses: Sequence[int]
    ) -> tuple[str, list[apsw.SQLiteValue]]:
        """Return a query for the codes that a search compares, and its values. reaches: None for all.

        Of audiences that lie in cells those of the nearest cells, as long as only active memories are wanted.
        """
        large = self._in_cells() if tuple(statuses) == (_ACTIVE,) else frozenset()
        if reaches is not None:
            large &= frozenset(reaches)
        sql = f"SELECT key, code FROM codes WHERE status IN ({_marks(statuses)})"  # noqa: S608 - marks
        values: list[apsw.SQLiteValue] = [*statuses]
        if reaches is None:
            sql += f" AND reach NOT IN ({_marks(large)})" if large else ""
            values += large
        else:
            small = [reach for reach in reaches if reach not in large]
            sql += f" AND reach IN ({_marks(small)})"
            values += small
        if large:
            from subcog_hooks.store import vector_cells  # few stores are this large

            sql += f" UNION ALL {vector_cells.near_sql(len(large))}"
            values += [*large, query]
        return sql, values

    def _in_cells(self) -> frozenset[int]:
        """Return the reaches of the audiences that lie in cells."""
        if not self._run("SELECT 1 FROM space WHERE parted"):
            return frozenset()
        from subcog_hooks.store import vector_cells  # as above

        return vector_cells.parted(self._connection)

    def cosines(self, query: bytes, seqs: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each of these memories to `query`, by row number; those without a vector are left out.

        The mean of the whole text's and the best passage's, the whole's where there are no passages; that to the best of its
        questions where it is nearer.
        """
        sql = (
            "SELECT vectors.key, 1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?)) FROM json_each(?) "
            "CROSS JOIN vectors ON vectors.key BETWEEN value AND value + ? WHERE vector IS NOT NULL"
        )
        keys = ",".join([str(seq * PASSAGES) for seq in seqs])
        wholes: dict[int, float] = {}
        best: dict[int, float] = {}
        asked: dict[int, float] = {}
        for key, cosine in self._run(sql, (query, f"[{keys}]", _LAST)) if seqs else ():
            if cosine is None:  # a vector of nothing but zeros
                continue
            seq, passage = divmod(key, PASSAGES)
            if not passage:
                wholes[seq] = cosine
            elif passage >= FIRST_QUESTION:
                asked[seq] = max(cosine, asked.get(seq, -2.0))
            elif cosine > best.get(seq, -2.0):
                best[seq] = cosine
        of_text = {seq: (cosine + best.get(seq, cosine)) / 2 for seq, cosine in wholes.items()}
        for seq, cosine in asked.items():
            of_text[seq] = max(cosine, of_text.get(seq, -2.0))
        return of_text

    def question_cosines(self, query: bytes, seq: int) -> dict[int, float]:
        """Return the cosine of each of a memory's questions to `query`, by the question's place from 0."""
        sql = (
            "SELECT key, 1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?)) FROM vectors "
            "WHERE key BETWEEN ? AND ? AND vector IS NOT NULL"
        )
        first = seq * PASSAGES + FIRST_QUESTION
        rows = self._run(sql, (query, first, seq * PASSAGES + _LAST))
        return {key - first: cosine for key, cosine in rows if cosine is not None}

    # following the store

    def watermark(self) -> int:
        """Return the store revision that the vectors have reached, -1 for none."""
        rows = self._run("SELECT watermark FROM space")
        return int(rows[0][0]) if rows else -1

    def begin(self) -> None:
        """Begin a write transaction. Raises StoreBusy when another process writes for long."""
        self._run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._run("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._run("ROLLBACK")

    def expect(self, made_by: MadeBy) -> None:
        """Keep only vectors that were made by these models.

        Final ones of another document model stay until they are replaced, as provisional ones; provisional ones of another
        encoder are dropped, and every memory is looked at again.
        """
        sql = "SELECT coalesce(nullif(?, ''), finals_made_by), coalesce(nullif(?, ''), firsts_made_by) FROM space"
        finals, firsts = self._run(sql, made_by)[0]
        if self._run("SELECT finals_made_by, firsts_made_by FROM space") != [(finals, firsts)]:
            self.begin()
            try:
                if self._run("SELECT 1 FROM space WHERE firsts_made_by <> ?", (firsts,)):
                    places = "SELECT status, reach, key FROM vectors WHERE NOT is_final"
                    self._run(f"DELETE FROM codes WHERE (status, reach, key) IN ({places})")  # noqa: S608 - a constant
                    self._run("DELETE FROM vectors WHERE NOT is_final AND key % ?", (PASSAGES,))
                    self._run("UPDATE vectors SET vector = NULL WHERE NOT is_final")
                    self.forget_progress()
                if self._run("SELECT 1 FROM space WHERE finals_made_by <> ?", (finals,)):
                    self._run("UPDATE vectors SET is_final = 0 WHERE is_final")
                self._run("UPDATE space SET finals_made_by = ?, firsts_made_by = ?", (finals, firsts))
                self._run("UPDATE parted SET codes = 0")  # far from the pivots is what the other models make
                self.commit()
            except BaseException:
                self.rollback()
                raise
        self._finals_made_by = finals

    def lacking(self, memories: Iterable[Memory]) -> list[Memory]:
        """Return those of `memories` whose present text has no vector here, not even of another memory.

        They need a vector to be made.
        """
        return [
            memory
            for memory in memories
            if memory.status != "deleted"
            and not self._run(
                "SELECT 1 FROM vectors WHERE key = ? AND content_hash = ? AND vector IS NOT NULL",
                (memory.seq * PASSAGES, memory.content_hash),
            )
            and not self.final_vectors(memory.content_hash)
        ]

    def lacking_questions(self, memories: Iterable[Memory]) -> list[tuple[int, str]]:
        """Return the key and text of each question of `memories` that has no vector here, not even of another memory."""
        have = "SELECT 1 FROM vectors WHERE key BETWEEN ? AND ? AND content_hash = ? AND vector IS NOT NULL"
        return [
            (key, text)
            for memory in memories
            if memory.questions and memory.status != "deleted"
            for key, text, content_hash in _questions(memory)
            if not self._run(have, (*_question_keys(memory.seq), content_hash)) and not self.final_vectors(content_hash)
        ]

    def put(
        self, memories: Iterable[Memory], provisional: dict[int, bytes], of_questions: Mapping[int, bytes] | None = None
    ) -> None:
        """Bring the rows of these memories to their present text, status and audience; inside `begin` and `commit`.

        provisional: vectors by row number for those that have none; a memory without gets its first from the document model.
        of_questions: the same for questions, by key.
        """
        memories = list(memories)
        hashes = {memory.content_hash for memory in memories}
        hashes.update(content_hash for memory in memories for _, _, content_hash in _questions(memory))
        finals = {content_hash: self.final_vectors(content_hash) for content_hash in hashes}  # before a row gives way
        given = of_questions or {}
        sql = "SELECT is_final, vector FROM vectors WHERE key BETWEEN ? AND ? AND content_hash = ? ORDER BY key"
        for memory in memories:
            key = memory.seq * PASSAGES
            kept = self._run(sql, (key, key + _LAST_PASSAGE, memory.content_hash))
            is_final, vectors = bool(kept and kept[0][0]), [vector for _, vector in kept]
            if not is_final and (known := finals[memory.content_hash]):
                is_final, vectors = True, known
            if not vectors or vectors[0] is None:
                vectors = [provisional.get(memory.seq)]
            place = _FROM_STATUS[memory.status], reach_of(audience_of(memory.scope, memory.project))
            asked = self._question_vectors(memory.seq)
            self._drop(key, key + _LAST)
            self._write(key, memory.content_hash, place, vectors, is_final=is_final)
            for at, _, content_hash in _questions(memory):
                is_final, vector = asked.get(content_hash, (False, given.get(at)))
                if not is_final and (known := finals[content_hash]):
                    is_final, vector = True, known[0]
                self._write(at, content_hash, place, [vector], is_final=is_final)

    def remove_memories(self, seqs: Iterable[int]) -> None:
        """Forget the vectors of purged memories; inside `begin` and `commit`."""
        for seq in seqs:
            self._drop(seq * PASSAGES, seq * PASSAGES + _LAST)

    def keep_only(self, seqs: Iterable[int]) -> None:
        """Forget the vectors of all memories but these: for a store that was put back from a backup."""
        kept = set(seqs)
        have = {key // PASSAGES for (key,) in self._run("SELECT key FROM vectors")}
        self.remove_memories(sorted(have - kept))

    def reach_revision(self, revision: int) -> None:
        """Note that all of the store up to `revision` is here; inside `begin` and `commit`."""
        self._run("UPDATE space SET watermark = max(watermark, ?)", (revision,))

    def forget_progress(self) -> None:
        """Note that every memory has to be looked at again; inside `begin` and `commit`."""
        self._run("UPDATE space SET watermark = -1")

    def part(self, progress: Callable[[int], None] | None = None) -> int:
        """Put the audiences that have grown large in cells; return how many it were. Some 15 to 45 s for 1,000,000 memories.

        What lies in cells of other models' vectors is parted anew as soon as nothing waits for its final vector any more.
        progress: told how many codes have been placed.
        """
        from subcog_hooks.store import vector_cells  # with numpy where there is something to do

        with Translated(self.path):
            if vector_cells.are_of_other_models(self._connection):
                is_due = not self.pending(1)
            else:
                is_due = vector_cells.is_to_be_looked_at(self._connection)
            return vector_cells.part(self._connection, progress) if is_due else 0

    def overwrite_log(self) -> None:
        """Empty SQLite's log into the file. Raises StoreBusy when another process still reads what was before."""
        with Translated(self.path):
            database.overwrite_log(self._connection, self.path)

    # the document model's vectors

    def counts(self) -> tuple[int, int]:
        """Return how many memories have their final vectors, and how many wait for one, of their text or of a question.

        Forgotten memories are not counted.
        """
        every = self._run("SELECT count(*) FROM vectors WHERE status <> ? AND NOT key % ?", (_DELETED, PASSAGES))[0][0]
        sql = f"SELECT count(DISTINCT key / ?) FROM vectors WHERE {_WAITS}"  # noqa: S608 - a constant
        waiting = self._run(sql, (PASSAGES, *_WAITING))[0][0]
        return int(every - waiting), int(waiting)

    def pending(self, limit: int = -1) -> list[tuple[int, str]]:
        """Return (key, content hash) of the memories, and of the questions, that wait for their final vectors, in row order."""
        sql = f"SELECT key, content_hash FROM vectors WHERE {_WAITS} ORDER BY key LIMIT ?"  # noqa: S608 - a constant
        return [(key, content_hash) for key, content_hash in self._run(sql, (*_WAITING, limit))]

    @staticmethod
    def text_at(key: int, memory: Memory) -> tuple[str, str]:
        """Return the text of a memory, or of its question, that has this key, and its hash; "" and "" for none."""
        if not key % PASSAGES:
            return memory.content, memory.content_hash
        return next(((text, content_hash) for at, text, content_hash in _questions(memory) if at == key), ("", ""))

    @staticmethod
    def seq_of(key: int) -> int:
        """Return the row number of the memory that a key belongs to."""
        return key // PASSAGES

    def whole_vectors(self) -> list[tuple[int, bytes]]:
        """Return the final vectors ((dimension,) int8) of whole texts of active memories, each behind its row number."""
        sql = (
            "SELECT key, vector FROM vectors WHERE NOT key % ? AND is_final AND status = ? AND vector IS NOT NULL ORDER BY key"
        )
        return [(key // PASSAGES, vector) for key, vector in self._run(sql, (PASSAGES, _FROM_STATUS["active"]))]

    def final_vectors(self, content_hash: str) -> list[bytes]:
        """Return the final vectors of this text, the whole's and then its passages', whichever memory they were made for.

        Of a question it is one.

        There are none for a text that has none.

        Nothing is embedded twice.
        """
        sql = (
            "WITH kept AS (SELECT min(key) AS whole FROM vectors WHERE content_hash = ? AND is_final) "
            "SELECT vector FROM kept CROSS JOIN vectors ON key BETWEEN whole AND whole + iif(whole % ?, 0, ?) ORDER BY key"
        )
        return [vector for (vector,) in self._run(sql, (content_hash, PASSAGES, _LAST_PASSAGE))]

    def finish(self, made: Iterable[tuple[int, str, Sequence[bytes]]]) -> int:
        """Put final vectors in place of provisional ones, in one transaction. Return how many texts have theirs now.

        made: (key, content hash, int8 vectors: the whole text's, then its passages', which a question has none of). A memory
        that has another text by now, or is gone, is left alone; so are all when another document model is expected by now.
        """
        sql = (
            "SELECT status, reach FROM vectors WHERE key = ? AND content_hash = ? AND NOT is_final "
            "AND ? IN ('', (SELECT finals_made_by FROM space))"
        )
        self.begin()
        try:
            count = 0
            for key, content_hash, vectors in made:
                for place in self._run(sql, (key, content_hash, self._finals_made_by)):
                    is_question = key % PASSAGES > 0
                    self._drop(key, key if is_question else key + _LAST_PASSAGE)
                    self._write(key, content_hash, place, vectors[:1] if is_question else vectors, is_final=True)
                    count += 1
            self.commit()
        except BaseException:
            self.rollback()
            raise
        return count

    def problems(self) -> list[str]:
        """Return the faults of the file, [] for a sound one. Raises VectorsUnusable when a table is missing."""
        found = [str(row[0]) for row in self._run("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            return found
        sql = "SELECT count(*) FROM vectors WHERE vector IS NOT NULL AND length(vector) <> ?"
        wrong = self._run(sql, (self.dimension,))[0][0]
        if wrong:
            return [f"{wrong} vectors of another length"]
        lost = self._run(
            "SELECT count(*) FROM vectors LEFT JOIN codes USING (status, reach, key) "
            "WHERE vector IS NOT NULL AND status <> ? AND code IS NULL",
            (_DELETED,),
        )[0][0]
        if lost:
            return [f"{lost} vectors without a code"]
        from subcog_hooks.store import vector_cells  # not for a prompt

        with Translated(self.path):
            return vector_cells.problems(self._connection)

    # inside

    def _question_vectors(self, seq: int) -> dict[str, tuple[bool, bytes]]:
        """Return the vectors that a memory's questions have, by the hash of the question, and whether each is final."""
        sql = "SELECT content_hash, is_final, vector FROM vectors WHERE key BETWEEN ? AND ? AND vector IS NOT NULL"
        rows = self._run(sql, _question_keys(seq))
        return {content_hash: (bool(is_final), vector) for content_hash, is_final, vector in rows}

    def _drop(self, first: int, last: int) -> None:
        """Take away the rows of these keys."""
        keys = first, last
        self._run(
            "DELETE FROM codes WHERE (status, reach, key) IN "
            "(SELECT status, reach, key FROM vectors WHERE key BETWEEN ? AND ?)",
            keys,
        )
        self._run("DELETE FROM vectors WHERE key BETWEEN ? AND ?", keys)

    def _write(
        self, key: int, content_hash: str, place: tuple[int, int], vectors: Sequence[bytes | None], *, is_final: bool
    ) -> None:
        """Put in the rows of a text. place: status and reach."""
        for number, vector in enumerate(vectors, key):
            self._run("INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?)", (number, content_hash, int(is_final), *place, vector))
        self._run(
            "INSERT OR REPLACE INTO codes SELECT status, reach, key, vec_quantize_binary(vec_int8(vector)) FROM vectors "
            "WHERE key BETWEEN ? AND ? AND vector IS NOT NULL AND status <> ?",
            (key, key + len(vectors) - 1, _DELETED),
        )

    def _run(self, sql: str, values: tuple[apsw.SQLiteValue, ...] = ()) -> list[tuple[Any, ...]]:
        with Translated(self.path):
            return self._connection.execute(sql, values).fetchall()


def _marks(values: Collection[object]) -> str:
    return ",".join("?" * len(values))


def _question_keys(seq: int) -> tuple[int, int]:
    """Return the first and the last key of a memory's questions."""
    return seq * PASSAGES + FIRST_QUESTION, seq * PASSAGES + _LAST


def _questions(memory: Memory) -> list[tuple[int, str, str]]:
    """Return the key, the text and the hash of each of a memory's questions; no memory's text has such a hash."""
    first = memory.seq * PASSAGES + FIRST_QUESTION
    return [(key, one.text, hash_content(f"?\x00{one.text}")) for key, one in enumerate(memory.questions, first)]


def _first(found: Iterable[tuple[int, bytes]], k: int) -> tuple[list[int], bool]:
    """Return the first `k` memories of (key, code) rows and those with the code of the last; and whether there may be more."""
    near: dict[int, None] = {}
    last = b""
    for key, code in found:
        if len(near) >= k and code != last:
            return list(near), False
        if key // PASSAGES not in near:
            near[key // PASSAGES] = None
            last = code
    return list(near), True


def _purge(path: str, seqs: Sequence[int]) -> None:
    try:
        with VectorStore(vector_file.open_to_write(path, WRITE_WAIT_MS), path, 0) as vectors:
            vectors.begin()
            vectors.remove_memories(seqs)
            vectors.commit()
            vectors.overwrite_log()
    except VectorsUnusable:
        vector_file.remove(path)
