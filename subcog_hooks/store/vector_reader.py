"""The vectors of one embedding space, as a search reads them."""

from __future__ import annotations

from subcog_hooks.core import database
from subcog_hooks.store import vector_file
from subcog_hooks.store.memory import MAX_QUESTIONS, STATUSES
from subcog_hooks.store.store_reader import reach_of
from subcog_hooks.store.vector_file import PASSAGES, TranslatedErrors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any, Self  # Any: the STRICT tables guarantee the column types

    import apsw

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home


_STEPS = 20_000  # SQLite instructions between two checks of the deadline: .3 ms of a scan


READ_WAIT_MS = 2_000  # how long a reader waits; the hook gives its own time


FIRST_QUESTION = PASSAGES - MAX_QUESTIONS


# Keys that the scan reads for each wanted memory. Where long memories use up too many keys, the scan is repeated: for 19 of
# 376 queries for 100 memories among 3,118 with 5,694 passages. 3 would cost .7 ms more among 100,000 memories.
KEYS_A_MEMORY = 2


TIES = 16  # a search reads up to 16 times as many keys when many have one code: hundreds of memories of one text


_FROM_STATUS = {status: number for number, status in enumerate(STATUSES)}


_ACTIVE, _DELETED = _FROM_STATUS["active"], _FROM_STATUS["deleted"]


_LAST_KEY = PASSAGES - 1


class VectorReader:
    """The open vectors of one space. Every method raises StoreError when SQLite does."""

    __slots__ = ("_connection", "_finals_made_by", "_inode", "dimension", "path")

    def __init__(self, connection: apsw.Connection, path: str, dimension: int) -> None:
        self._connection = connection
        self._finals_made_by = ""
        self.path = path
        self.dimension = dimension
        self._inode = vector_file.inode_of(path)

    @classmethod
    def reader(cls, home: Home, space: str, dimension: int, busy_ms: float = READ_WAIT_MS) -> Self:
        """Open the vectors read-only. Raises VectorsUnusable, also when there are none yet; StoreBusy, ExtensionMissing."""
        path = vector_file.vectors_path(home, space)
        with TranslatedErrors(path):
            connection = database.open_reader(path, vector_file.VECTORS_SCHEMA, busy_ms)
        return cls(vector_file.prepare_connection(connection, path, dimension), path, dimension)

    def is_gone(self) -> bool:
        """Return whether the file was removed or made anew since it was opened: writes to it are lost then."""
        return vector_file.inode_of(self.path) != self._inode

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

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
        chosen = tuple(_FROM_STATUS[status] for status in statuses) or tuple(range(_DELETED))
        with TranslatedErrors(self.path), self._connection:  # a savepoint: all statements see one state of the file
            reaches = None if audiences is None else [reach_of(audience) for audience in audiences]
            codes, values = self._codes(query, reaches, chosen)
            scan = (
                f"SELECT key, code FROM ({codes}) "  # noqa: S608 - constants and marks
                "ORDER BY vec_distance_hamming(vec_bit(code), vec_quantize_binary(vec_int8(?))), code LIMIT ?"
            )
            limit = KEYS_A_MEMORY * k
            while True:
                rows = self._execute(scan, (*values, query, limit))
                nearest_seqs, is_cut = _first_memories(rows, k)
                if not is_cut or len(rows) < limit or limit > TIES * KEYS_A_MEMORY * k:
                    break
                limit *= 4  # a fourth scan is for memories of 48 passages each
            cosines = self.cosines(query, nearest_seqs)
        return sorted(((cosine, seq) for seq, cosine in cosines.items()), key=lambda hit: (-hit[0], hit[1]))

    def _codes(
        self, query: bytes, reaches: Sequence[int] | None, statuses: Sequence[int]
    ) -> tuple[str, list[apsw.SQLiteValue]]:
        """Return a query for the codes that a search compares, and its values. reaches: None for all.

        Where only active memories are wanted, large audiences give the codes of their nearest cells.
        """
        large = self._in_cells() if tuple(statuses) == (_ACTIVE,) else frozenset()
        if reaches is not None:
            large &= frozenset(reaches)
        sql = f"SELECT key, code FROM codes WHERE status IN ({_placeholders(statuses)})"  # noqa: S608 - marks
        values: list[apsw.SQLiteValue] = [*statuses]
        if reaches is None:
            sql += f" AND reach NOT IN ({_placeholders(large)})" if large else ""
            values += large
        else:
            small = [reach for reach in reaches if reach not in large]
            sql += f" AND reach IN ({_placeholders(small)})"
            values += small
        if large:
            from subcog_hooks.store import vector_cells  # few stores are this large

            sql += f" UNION ALL {vector_cells.near_sql(len(large))}"
            values += [*large, query]
        return sql, values

    def _in_cells(self) -> frozenset[int]:
        if not self._execute("SELECT 1 FROM space WHERE parted"):
            return frozenset()
        from subcog_hooks.store import vector_cells  # few stores are this large

        return vector_cells.find_parted_reaches(self._connection)

    def cosines(self, query: bytes, seqs: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each of these memories to `query`, by row number; memories without a vector are left out.

        The cosine is the mean of the whole text's and the best passage's, or the whole text's without passages. The best
        question's cosine counts where it is higher.
        """
        sql = (
            "SELECT vectors.key, 1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?)) FROM json_each(?) "
            "CROSS JOIN vectors ON vectors.key BETWEEN value AND value + ? WHERE vector IS NOT NULL"
        )
        keys = ",".join([str(seq * PASSAGES) for seq in seqs])
        wholes: dict[int, float] = {}
        best_passage: dict[int, float] = {}
        best_question: dict[int, float] = {}
        for key, cosine in self._execute(sql, (query, f"[{keys}]", _LAST_KEY)) if seqs else ():
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
        sql = (
            "SELECT key, 1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?)) FROM vectors "
            "WHERE key BETWEEN ? AND ? AND vector IS NOT NULL"
        )
        first_key = seq * PASSAGES + FIRST_QUESTION
        rows = self._execute(sql, (query, first_key, seq * PASSAGES + _LAST_KEY))
        return {key - first_key: cosine for key, cosine in rows if cosine is not None}

    def _execute(self, sql: str, values: tuple[apsw.SQLiteValue, ...] = ()) -> list[tuple[Any, ...]]:
        with TranslatedErrors(self.path):
            return self._connection.execute(sql, values).fetchall()


def _placeholders(values: Collection[object]) -> str:
    return ",".join("?" * len(values))


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
