"""The vectors of one embedding space: an SQLite file beside the lexical index, searched with sqlite-vec's distance functions.

A cache like the index: it may be behind, damaged or missing at any time, and lexical recall never depends on it. A search first
scans the binary codes of the vectors (their signs). Their table is clustered by status and audience, so a search reads only its
own projects. The int8 vectors of the nearest codes are then compared exactly. sqlite-vec's own virtual table is slower, because
its metadata filter costs more than the scan. Measured with 100,000 rows: 1.8 ms against 32 ms for 3 audiences of 20, 12 ms
against 11 ms for all.

A long memory has rows for its passages behind the row of its whole text; they come, move and go together. Its cosine is the
mean of the whole text's and the best passage's. That gains .01 to .02 nDCG@10 on development data over the whole text alone.
Each question that a memory answers has a row and a hash of its own. Where the best question is nearer than the text, its cosine
counts.
"""

from __future__ import annotations

from subcog_hooks.core import database
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import make_private_folder
from subcog_hooks.store import vector_file
from subcog_hooks.store.memory import Memory, hash_content
from subcog_hooks.store.store_reader import audience_of, reach_of
from subcog_hooks.store.vector_file import PASSAGES, TranslatedErrors, VectorsUnusable
from subcog_hooks.store.vector_reader import _DELETED, _FROM_STATUS, _LAST_KEY, FIRST_QUESTION, VectorReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from subcog_hooks.core.paths import Home

    MadeBy = tuple[str, str]  # the makers of final and of provisional vectors; "" for unknown: the present vectors stay

WRITE_WAIT_MS = 10_000  # how long a writer waits for another, as for the store


_WAITING_VALUES = PASSAGES, PASSAGES, FIRST_QUESTION, _DELETED  # for _WAITING_SQL
_WAITING_SQL = "NOT is_final AND (NOT key % ? OR key % ? >= ?) AND status <> ?"  # texts and questions, not passages


_LAST_PASSAGE = FIRST_QUESTION - 1


class VectorStore(VectorReader):
    """The open vectors of one space. Every method raises StoreError when SQLite does."""

    __slots__ = ()

    @classmethod
    def writer(cls, home: Home, space: str, dimension: int, busy_ms: float = WRITE_WAIT_MS) -> VectorStore:
        """Open the vectors for writing; the file is made as needed. Raises StoreError as `reader` does."""
        make_private_folder(home.index)
        path = vector_file.vectors_path(home, space)
        connection = vector_file.open_to_write(path, busy_ms)
        return cls(vector_file.prepare_connection(connection, path, dimension, may_make=True), path, dimension)

    @staticmethod
    def remove(home: Home, space: str) -> None:
        """Delete the vectors of a space; its next writer makes them anew. Raises StoreError."""
        vector_file.remove_file(vector_file.vectors_path(home, space))

    @staticmethod
    def purge(home: Home, seqs: Sequence[int]) -> None:
        """Erase memories, and their bytes on the disk, from the vectors of every space, used or not.

        It needs no sqlite-vec. A file that is damaged, or of another version, is deleted: it can be made anew. Raises StoreBusy
        when another process still reads the old bytes, StoreError; the other files are done all the same.
        """
        failure: StoreError | None = None
        for path in vector_file.find_vector_files(home):
            try:
                _purge_file(path, seqs)
            except StoreError as error:
                failure = error
        if failure:
            raise failure

    # following the store

    def begin(self) -> None:
        """Begin a write transaction. Raises StoreBusy when another process writes for long."""
        self._execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._execute("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._execute("ROLLBACK")

    def expect(self, made_by: MadeBy) -> None:
        """Keep only vectors that were made by these models.

        Final vectors of another document model become provisional until they are replaced. Provisional vectors of another
        encoder are dropped, and every memory is visited again.
        """
        sql = "SELECT coalesce(nullif(?, ''), finals_made_by), coalesce(nullif(?, ''), firsts_made_by) FROM space"
        finals, firsts = self._execute(sql, made_by)[0]
        if self._execute("SELECT finals_made_by, firsts_made_by FROM space") != [(finals, firsts)]:
            self.begin()
            try:
                if self._execute("SELECT 1 FROM space WHERE firsts_made_by <> ?", (firsts,)):
                    places = "SELECT status, reach, key FROM vectors WHERE NOT is_final"
                    self._execute(f"DELETE FROM codes WHERE (status, reach, key) IN ({places})")  # noqa: S608 - a constant
                    self._execute("DELETE FROM vectors WHERE NOT is_final AND key % ?", (PASSAGES,))
                    self._execute("UPDATE vectors SET vector = NULL WHERE NOT is_final")
                    self.forget_progress()
                if self._execute("SELECT 1 FROM space WHERE finals_made_by <> ?", (finals,)):
                    self._execute("UPDATE vectors SET is_final = 0 WHERE is_final")
                self._execute("UPDATE space SET finals_made_by = ?, firsts_made_by = ?", (finals, firsts))
                self._execute("UPDATE parted SET codes = 0")  # vectors of other models lie far from the pivots
                self.commit()
            except BaseException:
                self.rollback()
                raise
        self._finals_made_by = finals

    def lacking(self, memories: Iterable[Memory]) -> list[Memory]:
        """Return the memories whose present text has no vector here, not even from another memory."""
        return [
            memory
            for memory in memories
            if memory.status != "deleted"
            and not self._execute(
                "SELECT 1 FROM vectors WHERE key = ? AND content_hash = ? AND vector IS NOT NULL",
                (memory.seq * PASSAGES, memory.content_hash),
            )
            and not self.final_vectors(memory.content_hash)
        ]

    def lacking_questions(self, memories: Iterable[Memory]) -> list[tuple[int, str]]:
        """Return the key and text of each question of `memories` that has no vector here, not even from another memory."""
        sql = "SELECT 1 FROM vectors WHERE key BETWEEN ? AND ? AND content_hash = ? AND vector IS NOT NULL"
        return [
            (key, text)
            for memory in memories
            if memory.questions and memory.status != "deleted"
            for key, text, content_hash in _keyed_questions(memory)
            if not self._execute(sql, (*_question_keys(memory.seq), content_hash)) and not self.final_vectors(content_hash)
        ]

    def put(
        self, memories: Iterable[Memory], provisional: dict[int, bytes], of_questions: Mapping[int, bytes] | None = None
    ) -> None:
        """Write the rows of these memories for their present text, status and audience; inside `begin` and `commit`.

        provisional: vectors by row number for memories without one; a memory missing there gets its first from the document
        model. of_questions: vectors for questions, by key.
        """
        memories = list(memories)
        hashes = {memory.content_hash for memory in memories}
        hashes.update(content_hash for memory in memories for _, _, content_hash in _keyed_questions(memory))
        finals = {content_hash: self.final_vectors(content_hash) for content_hash in hashes}  # read before rows are deleted
        new_questions = of_questions or {}
        sql = "SELECT is_final, vector FROM vectors WHERE key BETWEEN ? AND ? AND content_hash = ? ORDER BY key"
        for memory in memories:
            key = memory.seq * PASSAGES
            old_rows = self._execute(sql, (key, key + _LAST_PASSAGE, memory.content_hash))
            is_final, vectors = bool(old_rows and old_rows[0][0]), [vector for _, vector in old_rows]
            if not is_final and (final := finals[memory.content_hash]):
                is_final, vectors = True, final
            if not vectors or vectors[0] is None:
                vectors = [provisional.get(memory.seq)]
            owner = _FROM_STATUS[memory.status], reach_of(audience_of(memory.scope, memory.project))
            old_questions = self._question_vectors(memory.seq)
            self._drop(key, key + _LAST_KEY)
            self._write(key, memory.content_hash, owner, vectors, is_final=is_final)
            for question_key, _, content_hash in _keyed_questions(memory):
                is_final, vector = old_questions.get(content_hash, (False, new_questions.get(question_key)))
                if not is_final and (final := finals[content_hash]):
                    is_final, vector = True, final[0]
                self._write(question_key, content_hash, owner, [vector], is_final=is_final)

    def remove_memories(self, seqs: Iterable[int]) -> None:
        """Delete the vectors of purged memories; inside `begin` and `commit`."""
        for seq in seqs:
            self._drop(seq * PASSAGES, seq * PASSAGES + _LAST_KEY)

    def keep_only(self, seqs: Iterable[int]) -> None:
        """Delete the vectors of all other memories: for a store that was restored from a backup."""
        wanted = set(seqs)
        present = {key // PASSAGES for (key,) in self._execute("SELECT key FROM vectors")}
        self.remove_memories(sorted(present - wanted))

    def reach_revision(self, revision: int) -> None:
        """Record that the vectors have reached this store revision; inside `begin` and `commit`."""
        self._execute("UPDATE space SET watermark = max(watermark, ?)", (revision,))

    def forget_progress(self) -> None:
        """Record that every memory has to be visited again; inside `begin` and `commit`."""
        self._execute("UPDATE space SET watermark = -1")

    def part(self) -> int:
        """Put large audiences into cells and return how many changed. Some 15 to 45 s for 1,000,000 memories.

        Cells of another model's vectors are made anew once no memory waits for its final vector.
        """
        from subcog_hooks.store import vector_cells  # loads numpy where there is work

        with TranslatedErrors(self.path):
            if vector_cells.has_outdated_pivots(self._connection):
                is_due = not self.pending(1)
            else:
                is_due = vector_cells.is_check_due(self._connection)
            return vector_cells.part_audiences(self._connection) if is_due else 0

    def overwrite_log(self) -> None:
        """Empty SQLite's log into the file. Raises StoreBusy when another process still reads the old bytes."""
        with TranslatedErrors(self.path):
            database.overwrite_log(self._connection, self.path)

    # the document model's vectors

    def counts(self) -> tuple[int, int]:
        """Return how many memories have final vectors, and how many wait for one, of their text or of a question.

        Deleted memories are not counted.
        """
        total = self._execute("SELECT count(*) FROM vectors WHERE status <> ? AND NOT key % ?", (_DELETED, PASSAGES))[0][0]
        sql = f"SELECT count(DISTINCT key / ?) FROM vectors WHERE {_WAITING_SQL}"  # noqa: S608 - a constant
        waiting = self._execute(sql, (PASSAGES, *_WAITING_VALUES))[0][0]
        return int(total - waiting), int(waiting)

    def pending(self, limit: int = -1) -> list[tuple[int, str]]:
        """Return (key, content hash) of the memories, and of the questions, that wait for their final vectors, in row order."""
        sql = f"SELECT key, content_hash FROM vectors WHERE {_WAITING_SQL} ORDER BY key LIMIT ?"  # noqa: S608 - a constant
        return [(key, content_hash) for key, content_hash in self._execute(sql, (*_WAITING_VALUES, limit))]

    @staticmethod
    def text_at(key: int, memory: Memory) -> tuple[str, str]:
        """Return the text of the memory, or of its question, with this key, and its hash; "" and "" for none."""
        if not key % PASSAGES:
            return memory.content, memory.content_hash
        return next(
            ((text, content_hash) for question_key, text, content_hash in _keyed_questions(memory) if question_key == key),
            ("", ""),
        )

    @staticmethod
    def seq_of(key: int) -> int:
        """Return the row number of the memory that a key belongs to."""
        return key // PASSAGES

    def whole_vectors(self) -> list[tuple[int, bytes]]:
        """Return the final vectors ((dimension,) int8) of whole texts of active memories, each behind its row number."""
        sql = (
            "SELECT key, vector FROM vectors WHERE NOT key % ? AND is_final AND status = ? AND vector IS NOT NULL ORDER BY key"
        )
        return [(key // PASSAGES, vector) for key, vector in self._execute(sql, (PASSAGES, _FROM_STATUS["active"]))]

    def final_vectors(self, content_hash: str) -> list[bytes]:
        """Return the final vectors of a text: the whole text's and then its passages', made for any memory.

        A question has one. The list is empty for a text without final vectors. So no text is embedded twice.
        """
        sql = (
            "WITH kept AS (SELECT min(key) AS whole FROM vectors WHERE content_hash = ? AND is_final) "
            "SELECT vector FROM kept CROSS JOIN vectors ON key BETWEEN whole AND whole + iif(whole % ?, 0, ?) ORDER BY key"
        )
        return [vector for (vector,) in self._execute(sql, (content_hash, PASSAGES, _LAST_PASSAGE))]

    def finish(self, made: Iterable[tuple[int, str, Sequence[bytes]]]) -> int:
        """Replace provisional vectors with final ones, in one transaction. Return how many texts have theirs now.

        made: (key, content hash, int8 vectors: the whole text's, then its passages', which a question has none of). A memory
        that has another text by now, or is gone, is skipped; so are all when another document model is expected by now.
        """
        sql = (
            "SELECT status, reach FROM vectors WHERE key = ? AND content_hash = ? AND NOT is_final "
            "AND ? IN ('', (SELECT finals_made_by FROM space))"
        )
        self.begin()
        try:
            count = 0
            for key, content_hash, vectors in made:
                for owner in self._execute(sql, (key, content_hash, self._finals_made_by)):
                    is_question = key % PASSAGES > 0
                    self._drop(key, key if is_question else key + _LAST_PASSAGE)
                    self._write(key, content_hash, owner, vectors[:1] if is_question else vectors, is_final=True)
                    count += 1
            self.commit()
        except BaseException:
            self.rollback()
            raise
        return count

    def problems(self) -> list[str]:
        """Return the faults of the file, [] for a sound one. Raises VectorsUnusable when a table is missing."""
        faults = [str(row[0]) for row in self._execute("PRAGMA integrity_check(5)")]
        if faults != ["ok"]:
            return faults
        sql = "SELECT count(*) FROM vectors WHERE vector IS NOT NULL AND length(vector) <> ?"
        wrong = self._execute(sql, (self.dimension,))[0][0]
        if wrong:
            return [f"{wrong} vectors of another length"]
        lost = self._execute(
            "SELECT count(*) FROM vectors LEFT JOIN codes USING (status, reach, key) "
            "WHERE vector IS NOT NULL AND status <> ? AND code IS NULL",
            (_DELETED,),
        )[0][0]
        if lost:
            return [f"{lost} vectors without a code"]
        from subcog_hooks.store import vector_cells  # not for a prompt

        with TranslatedErrors(self.path):
            return vector_cells.find_problems(self._connection)

    # inside

    def _question_vectors(self, seq: int) -> dict[str, tuple[bool, bytes]]:
        """Return the vectors of a memory's questions, by the question's hash, and whether each is final."""
        sql = "SELECT content_hash, is_final, vector FROM vectors WHERE key BETWEEN ? AND ? AND vector IS NOT NULL"
        rows = self._execute(sql, _question_keys(seq))
        return {content_hash: (bool(is_final), vector) for content_hash, is_final, vector in rows}

    def _drop(self, first_key: int, last_key: int) -> None:
        keys = first_key, last_key
        self._execute(
            "DELETE FROM codes WHERE (status, reach, key) IN "
            "(SELECT status, reach, key FROM vectors WHERE key BETWEEN ? AND ?)",
            keys,
        )
        self._execute("DELETE FROM vectors WHERE key BETWEEN ? AND ?", keys)

    def _write(
        self, key: int, content_hash: str, owner: tuple[int, int], vectors: Sequence[bytes | None], *, is_final: bool
    ) -> None:
        """Add the rows of a text. owner: its status and reach."""
        for number, vector in enumerate(vectors, key):
            self._execute(
                "INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?)", (number, content_hash, int(is_final), *owner, vector)
            )
        self._execute(
            "INSERT OR REPLACE INTO codes SELECT status, reach, key, vec_quantize_binary(vec_int8(vector)) FROM vectors "
            "WHERE key BETWEEN ? AND ? AND vector IS NOT NULL AND status <> ?",
            (key, key + len(vectors) - 1, _DELETED),
        )


def _question_keys(seq: int) -> tuple[int, int]:
    return seq * PASSAGES + FIRST_QUESTION, seq * PASSAGES + _LAST_KEY


def _keyed_questions(memory: Memory) -> list[tuple[int, str, str]]:
    """Return the key, text and hash of each of a memory's questions; no memory's text has such a hash."""
    first_key = memory.seq * PASSAGES + FIRST_QUESTION
    return [
        (key, question.text, hash_content(f"?\x00{question.text}")) for key, question in enumerate(memory.questions, first_key)
    ]


def _purge_file(path: str, seqs: Sequence[int]) -> None:
    try:
        with VectorStore(vector_file.open_to_write(path, WRITE_WAIT_MS), path, 0) as vectors:
            vectors.begin()
            vectors.remove_memories(seqs)
            vectors.commit()
            vectors.overwrite_log()
    except VectorsUnusable:
        vector_file.remove_file(path)
