"""The vectors of one embedding space as a search reads them: their file, and sqlite-vec's functions."""

from __future__ import annotations

import os
import sys

import apsw

from subcog_hooks.core import database
from subcog_hooks.core.database import Database
from subcog_hooks.core.errors import StoreCorrupt, StoreError, StoreTooNew, StoreTooOld
from subcog_hooks.store.memory import MAX_QUESTIONS, STATUSES
from subcog_hooks.store.store_reader import reach_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Self  # Any: the STRICT tables guarantee the column types

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home

VECTORS_FORMAT = 3  # raised whenever the tables change: each version of subcog has its own file
PASSAGES = 256  # keys a memory: 0 is the whole text, then come the passages, at the end the questions
FIRST_QUESTION = PASSAGES - MAX_QUESTIONS
LAST_KEY = PASSAGES - 1
NUMBER_OF_STATUS = {status: number for number, status in enumerate(STATUSES)}  # in the tables
ACTIVE, DELETED = NUMBER_OF_STATUS["active"], NUMBER_OF_STATUS["deleted"]

READ_WAIT_MS = 2_000  # how long a reader waits; the hook gives its own time
# Keys that the scan reads for each wanted memory. Where long memories use up too many keys, the scan is repeated: for 19 of
# 376 queries for 100 memories among 3,118 with 5,694 passages. 3 would cost .7 ms more among 100,000 memories.
KEYS_A_MEMORY = 2
TIES = 16  # a search reads up to 16 times as many keys when many have one code: hundreds of memories of one text

_STEPS = 20_000  # SQLite instructions between two checks of the deadline: .3 ms of a scan
_COSINE = "1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?))"
_LATER = "run `subcog doctor --fix`"
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

VECTORS_SCHEMA = database.Schema(os.path.join(os.path.dirname(__file__), "vectors.sql"), VECTORS_FORMAT, "NORMAL")


class VectorsUnusable(StoreError):
    """The vectors are missing, damaged or of another shape: search by words goes on, and they are made anew."""


class ExtensionMissing(StoreError):
    """sqlite-vec is not installed, or SQLite may not load it here: search by words goes on."""


class TranslatedErrors:
    """Turns SQLite's errors into ours: a file that cannot be read any more raises VectorsUnusable."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.SQLError):  # a missing table, or a vector of another length
            raise VectorsUnusable(f"{self._path} cannot be used: {error}", _LATER) from error
        if isinstance(error, apsw.Error):
            error = database.translate_error(error, self._path)
        if isinstance(error, StoreCorrupt | StoreTooNew | StoreTooOld) or (
            isinstance(error, StoreError) and not os.path.isfile(self._path)
        ):
            raise VectorsUnusable(error.message, _LATER) from error
        if isinstance(error, StoreError):
            raise error


def prepare_connection(connection: apsw.Connection, path: str, dimension: int, *, may_make: bool = False) -> apsw.Connection:
    """Return the connection with sqlite-vec loaded, or close it. Raises VectorsUnusable, ExtensionMissing.

    may_make: write down the dimension in a new file.
    """
    try:
        load_extension(connection)
        with TranslatedErrors(path):
            rows = connection.execute("SELECT dimension FROM space").fetchall()  # reading needs no lock
            if may_make and not rows:
                new = "INSERT INTO space SELECT -1, ?, '', '' WHERE NOT EXISTS (SELECT 1 FROM space)"
                connection.execute(new, (dimension,))
                rows = connection.execute("SELECT dimension FROM space").fetchall()
        if rows != [(dimension,)]:
            actual = rows[0][0] if rows else "no"
            raise VectorsUnusable(f"{path} has vectors of {actual} dimensions, expected {dimension}", _LATER)
    except BaseException:
        connection.close()
        raise
    return connection


def vectors_path(home: Home, space: str) -> str:
    return os.path.join(home.index, f"vectors-{VECTORS_FORMAT}-{space}.db")


def load_extension(connection: apsw.Connection) -> None:
    """Load sqlite-vec into a connection, from beside apsw's folder: its own package imports sqlite3.

    Raises ExtensionMissing.
    """
    file = os.path.join(os.path.dirname(os.path.dirname(apsw.__file__)), "sqlite_vec", "vec0")
    if not os.path.exists(file + _SUFFIX):
        raise ExtensionMissing("sqlite-vec is not installed; search is by words alone", "pip install sqlite-vec")
    try:
        connection.enable_load_extension(True)
        connection.load_extension(file)
        connection.enable_load_extension(False)
    except (apsw.Error, AttributeError) as error:  # a build of SQLite without extensions lacks the method
        message = f"sqlite-vec cannot be loaded ({error}); search is by words alone"
        raise ExtensionMissing(message, "reinstall subcog") from error


class VectorReader(Database):
    """The open vectors of one space. Every method raises StoreError when SQLite does."""

    __slots__ = ("_finals_made_by", "dimension")

    def __init__(self, connection: apsw.Connection, path: str, dimension: int) -> None:
        super().__init__(connection, path)
        self._finals_made_by = ""
        self.dimension = dimension

    @classmethod
    def reader(cls, home: Home, space: str, dimension: int, busy_ms: float = READ_WAIT_MS) -> Self:
        """Open the vectors read-only. Raises VectorsUnusable, also when there are none yet; StoreBusy, ExtensionMissing."""
        path = vectors_path(home, space)
        with TranslatedErrors(path):
            connection = database.open_reader(path, VECTORS_SCHEMA, busy_ms)
        return cls(prepare_connection(connection, path, dimension), path, dimension)

    def watermark(self) -> int:
        """Return the store revision that the vectors have reached, -1 for none."""
        rows = self._execute("SELECT watermark FROM space")
        return int(rows[0][0]) if rows else -1

    def expire_at(self, deadline: Deadline | None) -> None:
        """Break off searches with a StoreError when the deadline passes; None lets them end."""
        stop = None if deadline is None else lambda: not deadline.work_left_ms()
        self._connection.set_progress_handler(stop, _STEPS if stop else 0)

    def nearest(
        self, query: bytes, k: int, audiences: tuple[str, ...] | None, statuses: tuple[str, ...] = ("active",)
    ) -> list[tuple[float, int]]:
        """Return about `k` memories nearest to `query` ((dimension,) int8), as (cosine, row number), nearest first.

        audiences, statuses: None and () for all. The k memories with the best binary code, of the whole text or of a passage,
        are compared exactly, as in `cosines`. Memories that tie with the last code are compared too, so that the order of
        insertion does not matter.
        """
        condition, values = _scope_sql(audiences, statuses)
        order = "vec_distance_hamming(vec_bit(code), vec_quantize_binary(vec_int8(?))), code"
        scan = f"SELECT key, code FROM codes WHERE {condition} ORDER BY {order} LIMIT ?"  # noqa: S608 - marks and constants
        with TranslatedErrors(self.path), self._connection:  # a savepoint: all statements see one state of the file
            limit = KEYS_A_MEMORY * k
            while True:
                rows = self._execute(scan, (*values, query, limit))
                nearest_seqs, is_cut = _first_memories(rows, k)
                if not is_cut or len(rows) < limit or limit > TIES * KEYS_A_MEMORY * k:
                    break
                limit *= 4  # a fourth scan is for memories of 48 passages each
            cosines = self.cosines(query, nearest_seqs)
        return sorted(((cosine, seq) for seq, cosine in cosines.items()), key=lambda hit: (-hit[0], hit[1]))

    def has_pending(self, audiences: tuple[str, ...] | None, statuses: tuple[str, ...]) -> bool:
        """Return whether a memory of these waits for its final vector. audiences, statuses: None and () for all."""
        condition, values = _scope_sql(audiences, statuses)
        return bool(self._execute(f"SELECT 1 FROM vectors WHERE NOT is_final AND {condition} LIMIT 1", values))  # noqa: S608 - marks

    def cosines(self, query: bytes, seqs: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each of these memories to `query`, by row number; memories without a vector are left out.

        The cosine is the mean of the whole text's and the best passage's, or the whole text's without passages. The best
        question's cosine counts where it is higher.
        """
        wanted = "json_each(?) CROSS JOIN vectors ON vectors.key BETWEEN value AND value + ?"
        sql = f"SELECT vectors.key, {_COSINE} FROM {wanted} WHERE vector IS NOT NULL"  # noqa: S608 - constants
        keys = ",".join([str(seq * PASSAGES) for seq in seqs])
        wholes: dict[int, float] = {}
        best_passage: dict[int, float] = {}
        best_question: dict[int, float] = {}
        for key, cosine in self._execute(sql, (query, f"[{keys}]", LAST_KEY)) if seqs else ():
            if cosine is None:  # a vector of zeros
                continue
            seq, passage = divmod(key, PASSAGES)
            if not passage:
                wholes[seq] = cosine
            elif passage >= FIRST_QUESTION:
                best_question[seq] = max(cosine, best_question.get(seq, -2.0))
            elif cosine > best_passage.get(seq, -2.0):
                best_passage[seq] = cosine
        cosines = {seq: (cosine + best_passage.get(seq, cosine)) / 2 for seq, cosine in wholes.items()}
        for seq, cosine in best_question.items():
            cosines[seq] = max(cosine, cosines.get(seq, -2.0))
        return cosines

    def question_cosines(self, query: bytes, seq: int) -> dict[int, float]:
        """Return the cosine of each of a memory's questions to `query`, by the question's position from 0."""
        sql = f"SELECT key, {_COSINE} FROM vectors WHERE key BETWEEN ? AND ? AND vector IS NOT NULL"  # noqa: S608 - a constant
        first_key = seq * PASSAGES + FIRST_QUESTION
        rows = self._execute(sql, (query, first_key, seq * PASSAGES + LAST_KEY))
        return {key - first_key: cosine for key, cosine in rows if cosine is not None}

    def _execute(self, sql: str, values: tuple[apsw.SQLiteValue, ...] = ()) -> list[tuple[Any, ...]]:
        with TranslatedErrors(self.path):
            return self._connection.execute(sql, values).fetchall()


def _scope_sql(audiences: tuple[str, ...] | None, statuses: tuple[str, ...]) -> tuple[str, tuple[int, ...]]:
    """Return the condition of these audiences and statuses, and its values. audiences, statuses: None and () for all."""
    numbers = tuple(NUMBER_OF_STATUS[status] for status in statuses) or tuple(range(DELETED))
    condition = f"status IN ({','.join('?' * len(numbers))})"
    if audiences is None:
        return condition, numbers
    return f"{condition} AND reach IN ({','.join('?' * len(audiences))})", (*numbers, *map(reach_of, audiences))


def _first_memories(rows: Iterable[tuple[int, bytes]], k: int) -> tuple[list[int], bool]:
    """Return the first `k` memories of (key, code) rows, plus ties with the last code; and whether more may follow."""
    seqs: dict[int, None] = {}
    last_code = b""
    for key, code in rows:
        if len(seqs) >= k and code != last_code:
            return list(seqs), False
        if key // PASSAGES not in seqs:
            seqs[key // PASSAGES] = None
            last_code = code
    return list(seqs), True
