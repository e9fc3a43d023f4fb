"""The vectors of one embedding space: an SQLite file beside the lexical index, searched with sqlite-vec's distance functions.

A cache like the index: it may be behind, damaged or missing at any time, and lexical recall never depends on it. A search
scans the binary codes of the vectors (their signs), in a table clustered by status and audience, then compares the int8 vectors
of the nearest codes exactly. The metadata filter of sqlite-vec's own virtual table costs more than the scan: with 100,000 rows
32 ms against 1.8 for 3 audiences of 20, 11 ms against 12 for all.

A long memory has rows for its passages behind the row of its whole text. Its cosine is the mean of the whole text's and the
best passage's, which gains .01 to .02 nDCG@10 on development data. Each question that it answers has a row and a hash of its
own. Where the best question is nearer than the text, its cosine counts.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from subcog_hooks.core import database
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import make_private_folder
from subcog_hooks.store import vector_reader
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.memory import Memory, hash_content
from subcog_hooks.store.store_reader import audience_of, reach_of
from subcog_hooks.store.vector_reader import DELETED, FIRST_QUESTION, PASSAGES, TranslatedErrors, VectorReader, VectorsUnusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import apsw

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.store import Store

    MadeBy = tuple[str, str]  # the makers of final and of provisional vectors; "" for unknown: the present vectors stay
    Encode = Callable[[Sequence[str]], Sequence[bytes | None]]  # texts to provisional int8 vectors, None for a text without one
    Progress = Callable[[int], None]

WRITE_WAIT_MS = 10_000  # how long a writer waits for another, as for the store
LOCK_WAIT_MS = 3_000  # for another process with the lock; then a command uses the vectors as they are
LONG_WAIT_MS = 120_000  # for commands that need the vectors
FOLLOWED_AT_ONCE = 1_000  # memories in one transaction: the document model's writer waits at most half a second

_WAITING_VALUES = PASSAGES, PASSAGES, FIRST_QUESTION, DELETED  # for _WAITING_SQL
_WAITING_SQL = "NOT is_final AND (NOT key % ? OR key % ? >= ?) AND status <> ?"  # texts and questions, not passages
_LAST_PASSAGE = FIRST_QUESTION - 1


class VectorStore(VectorReader):
    """The open vectors of one space. Every method raises StoreError when SQLite does."""

    __slots__ = ("_inode",)

    def __init__(self, connection: apsw.Connection, path: str, dimension: int) -> None:
        super().__init__(connection, path, dimension)
        self._inode = _inode_of(path)

    @classmethod
    def writer(cls, home: Home, space: str, dimension: int, busy_ms: float = WRITE_WAIT_MS) -> VectorStore:
        """Open the vectors for writing; the file is made as needed. Raises StoreError as `reader` does."""
        make_private_folder(home.index)
        path = vector_reader.vectors_path(home, space)
        connection = vector_reader.prepare_connection(_open_to_write(path, busy_ms), path, dimension, may_make=True)
        return cls(connection, path, dimension)

    @staticmethod
    def remove(home: Home, space: str) -> None:
        """Delete the vectors of a space; its next writer makes them anew. Raises StoreError."""
        remove_file(vector_reader.vectors_path(home, space))

    @staticmethod
    def purge(home: Home, seqs: Sequence[int]) -> None:
        """Erase memories, and their bytes on the disk, from the vectors of every space, used or not, without sqlite-vec.

        A file that is damaged, or of another version, is deleted: it can be made anew. The other files are done where
        one cannot be. Raises StoreError; StoreBusy when another process still reads the old bytes.
        """
        failure: StoreError | None = None
        for path in find_vector_files(home):
            try:
                try:
                    with VectorStore(_open_to_write(path, WRITE_WAIT_MS), path, 0) as vectors:
                        with vectors.transaction():
                            vectors.remove_memories(seqs)
                        vectors.overwrite_log()
                except VectorsUnusable:
                    remove_file(path)
            except StoreError as error:
                failure = error
        if failure:
            raise failure

    # following the store

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a write transaction, undone by an exception. It raises StoreBusy when another process writes for long."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def expect(self, made_by: MadeBy) -> None:
        """Keep only vectors that were made by these models.

        Final vectors of another document model become provisional until they are replaced. Provisional vectors of another
        encoder are dropped, and every memory is visited again.
        """
        ((old_finals, old_firsts),) = self._execute("SELECT finals_made_by, firsts_made_by FROM space")
        finals, firsts = made_by[0] or old_finals, made_by[1] or old_firsts
        self._finals_made_by = finals
        if (finals, firsts) == (old_finals, old_firsts):
            return
        with self.transaction():
            if firsts != old_firsts:
                places = "SELECT status, reach, key FROM vectors WHERE NOT is_final"
                self._execute(f"DELETE FROM codes WHERE (status, reach, key) IN ({places})")  # noqa: S608 - a constant
                self._execute("DELETE FROM vectors WHERE NOT is_final AND key % ?", (PASSAGES,))
                self._execute("UPDATE vectors SET vector = NULL WHERE NOT is_final")
                self.forget_progress()
            if finals != old_finals:
                self._execute("UPDATE vectors SET is_final = 0 WHERE is_final")
            self._execute("UPDATE space SET finals_made_by = ?, firsts_made_by = ?", (finals, firsts))

    def lacking(self, memories: Iterable[Memory]) -> list[tuple[int, str]]:
        """Return the key and text of each text and question of `memories` that has no vector, not even of another memory."""
        sql = "SELECT 1 FROM vectors WHERE key BETWEEN ? AND ? AND content_hash = ? AND vector IS NOT NULL"
        return [
            (key, text)
            for memory in memories
            if memory.status != "deleted"
            for key, (text, content_hash) in texts_of(memory).items()
            if not self._execute(sql, (*_keys_of(memory.seq), content_hash)) and not self.final_vectors(content_hash)
        ]

    def put(self, memories: Iterable[Memory], provisional: Mapping[int, bytes]) -> None:
        """Write the rows of these memories for their present texts, status and audience; in a transaction.

        provisional: vectors by key for texts without one; a text missing there gets its first from the document model.
        """
        texts_by_memory = [(memory, texts_of(memory)) for memory in memories]
        hashes = {content_hash for _, texts in texts_by_memory for _, content_hash in texts.values()}
        finals = {content_hash: self.final_vectors(content_hash) for content_hash in hashes}  # read before rows are deleted
        sql = "SELECT content_hash, is_final, vector FROM vectors WHERE key BETWEEN ? AND ? AND vector IS NOT NULL ORDER BY key"
        for memory, texts in texts_by_memory:
            present: dict[str, tuple[bool, list[bytes]]] = {}
            for content_hash, is_final, vector in self._execute(sql, _keys_of(memory.seq)):
                present.setdefault(content_hash, (bool(is_final), []))[1].append(vector)
            owner = vector_reader.NUMBER_OF_STATUS[memory.status], reach_of(audience_of(memory.scope, memory.project))
            self._drop(*_keys_of(memory.seq))
            for key, (_, content_hash) in texts.items():
                is_final, vectors = present.get(content_hash, (False, []))
                if not is_final and (final := finals[content_hash]):
                    is_final, vectors = True, final[:1] if key % PASSAGES else final
                self._write(key, content_hash, owner, vectors or [provisional.get(key)], is_final=is_final)

    def remove_memories(self, seqs: Iterable[int]) -> None:
        """Delete the vectors of purged memories; in a transaction."""
        for seq in seqs:
            self._drop(*_keys_of(seq))

    def keep_only(self, seqs: Iterable[int]) -> None:
        """Delete the vectors of all other memories: for a store that was restored from a backup."""
        wanted = set(seqs)
        present = {key // PASSAGES for (key,) in self._execute("SELECT key FROM vectors")}
        self.remove_memories(sorted(present - wanted))

    def reach_revision(self, revision: int) -> None:
        """Record that the vectors have reached this store revision; in a transaction."""
        self._execute("UPDATE space SET watermark = max(watermark, ?)", (revision,))

    def forget_progress(self) -> None:
        """Record that every memory has to be visited again; in a transaction."""
        self._execute("UPDATE space SET watermark = -1")

    def overwrite_log(self) -> None:
        """Empty SQLite's log into the file. Raises StoreBusy when another process still reads the old bytes."""
        with TranslatedErrors(self.path):
            database.overwrite_log(self._connection, self.path)

    def is_gone(self) -> bool:
        """Return whether the file was removed or made anew since it was opened: writes to it are lost then."""
        return _inode_of(self.path) != self._inode

    # the document model's vectors

    def counts(self) -> tuple[int, int]:
        """Return how many undeleted memories have final vectors, and how many wait for one, of their text or of a question."""
        total = self._execute("SELECT count(*) FROM vectors WHERE status <> ? AND NOT key % ?", (DELETED, PASSAGES))[0][0]
        sql = f"SELECT count(DISTINCT key / ?) FROM vectors WHERE {_WAITING_SQL}"  # noqa: S608 - a constant
        waiting = self._execute(sql, (PASSAGES, *_WAITING_VALUES))[0][0]
        return int(total - waiting), int(waiting)

    def pending(self, limit: int = -1) -> list[tuple[int, str]]:
        """Return (key, content hash) of the memories and questions that wait for their final vectors, in row order."""
        sql = f"SELECT key, content_hash FROM vectors WHERE {_WAITING_SQL} ORDER BY key LIMIT ?"  # noqa: S608 - a constant
        return [(key, content_hash) for key, content_hash in self._execute(sql, (*_WAITING_VALUES, limit))]

    @staticmethod
    def seq_of(key: int) -> int:
        """Return the row number of the memory that a key belongs to."""
        return key // PASSAGES

    def whole_vectors(self) -> list[tuple[int, bytes]]:
        """Return the final vectors ((dimension,) int8) of whole texts of active memories, each behind its row number."""
        sql = (
            "SELECT key, vector FROM vectors WHERE NOT key % ? AND is_final AND status = ? AND vector IS NOT NULL ORDER BY key"
        )
        return [(key // PASSAGES, vector) for key, vector in self._execute(sql, (PASSAGES, vector_reader.ACTIVE))]

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
        count = 0
        with self.transaction():
            for key, content_hash, vectors in made:
                for owner in self._execute(sql, (key, content_hash, self._finals_made_by)):
                    is_question = key % PASSAGES > 0
                    self._drop(key, key if is_question else key + _LAST_PASSAGE)
                    self._write(key, content_hash, owner, vectors[:1] if is_question else vectors, is_final=True)
                    count += 1
        return count

    def problems(self) -> list[str]:
        """Return the faults of the file, [] for a sound one. Raises VectorsUnusable when a table is missing."""
        rows = [str(row[0]) for row in self._execute("PRAGMA integrity_check(5)")]
        if rows != ["ok"]:
            return rows
        uncoded = "vectors LEFT JOIN codes USING (status, reach, key) WHERE vector IS NOT NULL AND status <> ? AND code IS NULL"
        ((lost,),) = self._execute(f"SELECT count(*) FROM {uncoded}", (DELETED,))  # noqa: S608 - a constant
        return [f"{lost} vectors without a code"] if lost else []

    # inside

    def _drop(self, first_key: int, last_key: int) -> None:
        places = "SELECT status, reach, key FROM vectors WHERE key BETWEEN ? AND ?"
        self._execute(f"DELETE FROM codes WHERE (status, reach, key) IN ({places})", (first_key, last_key))  # noqa: S608 - a constant
        self._execute("DELETE FROM vectors WHERE key BETWEEN ? AND ?", (first_key, last_key))

    def _write(
        self, key: int, content_hash: str, owner: tuple[int, int], vectors: Sequence[bytes | None], *, is_final: bool
    ) -> None:
        """Add the rows of a text. owner: its status and reach."""
        for number, vector in enumerate(vectors, key):
            values = number, content_hash, int(is_final), *owner, vector
            self._execute("INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?)", values)
        coded = "SELECT status, reach, key, vec_quantize_binary(vec_int8(vector)) FROM vectors"
        sql = f"INSERT OR REPLACE INTO codes {coded} WHERE key BETWEEN ? AND ? AND vector IS NOT NULL AND status <> ?"
        self._execute(sql, (key, key + len(vectors) - 1, DELETED))


def remove_file(path: str) -> None:
    for name in (path, f"{path}-wal", f"{path}-shm"):
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{name} cannot be removed: {error.strerror}", "another process may be using it") from error


def find_vector_files(home: Home) -> list[str]:
    """Return the files of all spaces' vectors, also of other versions of subcog."""
    try:
        names = os.listdir(home.index)
    except FileNotFoundError:
        return []
    return [os.path.join(home.index, name) for name in sorted(names) if name.startswith("vectors-") and name.endswith(".db")]


def _inode_of(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return -1


def texts_of(memory: Memory) -> dict[int, tuple[str, str]]:
    """Return the memory's whole text and its questions, each with its hash, by key. No memory's text has a question's hash."""
    first_key = memory.seq * PASSAGES
    questions = {
        key: (question.text, hash_content(f"?\x00{question.text}"))
        for key, question in enumerate(memory.questions, first_key + FIRST_QUESTION)
    }
    return {first_key: (memory.content, memory.content_hash), **questions}


def _keys_of(seq: int) -> tuple[int, int]:
    return seq * PASSAGES, seq * PASSAGES + vector_reader.LAST_KEY


def _open_to_write(path: str, busy_ms: float) -> apsw.Connection:
    with TranslatedErrors(path):
        connection = database.open_writer(path, vector_reader.VECTORS_SCHEMA, busy_ms)
        connection.pragma("secure_delete", True)  # purged vectors do not stay in free pages
    return connection


def lock_path(home: Home, space: str) -> str:
    """Return the lock file of the process that updates or remakes a space's vectors."""
    return os.path.join(home.index, f"vectors-{space}.following.lock")


def open_following(
    home: Home,
    store: Store,
    space: str,
    dimension: int,
    encode: Encode,
    progress: Progress | None = None,
    *,
    made_by: MadeBy,
    anew: bool = False,
    wait_ms: int | None = None,
) -> VectorStore:
    """Bring the vectors of a space to the store's revision and return them; a damaged file is made anew.

    One process does so at a time. wait_ms: how long to wait for another one, None for LOCK_WAIT_MS; then StoreBusy is raised,
    and that process, or the next one, brings the rest. made_by: vectors of other models are replaced. anew: check the whole
    file for damage and visit every memory; vectors of unchanged texts are kept. Raises StoreError, and
    ExtensionMissing without sqlite-vec.
    """

    def follow(*, anew: bool) -> VectorStore:
        vectors = VectorStore.writer(home, space, dimension)
        try:
            if anew and (problems := vectors.problems()):
                raise VectorsUnusable(f"{vectors.path}: {problems[0]}")
            vectors.expect(made_by)
            if anew:
                vectors.forget_progress()
            follow_store(vectors, store, encode, progress)
        except BaseException:
            vectors.close()
            raise
        return vectors

    patience = LOCK_WAIT_MS if wait_ms is None else wait_ms
    with ProcessLock(lock_path(home, space), patience, "bringing the vectors up to date"):
        try:
            return follow(anew=anew)
        except VectorsUnusable:  # raised by the check, or later
            VectorStore.remove(home, space)
            return follow(anew=False)


def follow_store(vectors: VectorStore, store: Store, encode: Encode, progress: Progress | None = None) -> None:
    """Bring the vectors to the store's revision: new texts get provisional vectors, the others keep theirs.

    It goes on until nothing has been stored meanwhile, so that a process that did not wait finds its memories here. Each chunk
    is read and written under the file's write lock, so a later state never gives way to an earlier one. Raises StoreError.
    """
    while True:
        after, until = vectors.watermark(), store.revision()
        if after >= 0 and not store.has_revision(after):
            after = -1  # the store was restored from a backup, perhaps an older one: visit all memories
        if after >= until:
            return
        _put_changes(vectors, store, after, until, encode, progress)


def _put_changes(vectors: VectorStore, store: Store, after: int, until: int, encode: Encode, progress: Progress | None) -> None:
    from_seq = 0
    all_seqs: list[int] = []
    while True:
        with vectors.transaction():
            chunk = store.changes(after, until, from_seq, FOLLOWED_AT_ONCE)
            if not chunk:
                vectors.remove_memories(store.purged_after(after))
                if after < 0:
                    vectors.keep_only(all_seqs)
                    vectors.forget_progress()
                vectors.reach_revision(until)
                return
            lacking = vectors.lacking(chunk)
            encoded = encode([text for _, text in lacking]) if lacking else []
            vectors.put(chunk, {key: vector for (key, _), vector in zip(lacking, encoded, strict=True) if vector})
        from_seq = chunk[-1].seq + 1
        if after < 0:
            all_seqs += [memory.seq for memory in chunk]
        if progress:
            progress(len(chunk))
