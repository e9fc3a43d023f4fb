"""The cells that the codes of an audience with very many memories are parted into, so that a search reads some of them alone.

An inverted file over the binary codes: k-means on a sample of the vectors gives the pivots, each code lies with the pivot that
its vector is nearest to, and a search reads the cells whose pivots are nearest to the query. In a file of fewer than LARGE
active codes all is whole, and a search is exact up to the codes; so are small audiences of a larger one, and other statuses.

Measured on 996,000 notes (documentation of Debian packages, and 3,118 whose 376 questions are asked): by meaning alone .343 of
what is asked for is among the first ten, .367 when all codes are read, in an eighth of the time; by words and meaning .562 and
.570.
"""

from __future__ import annotations

from subcog_hooks.store.memory import STATUSES
from subcog_hooks.store.vector_file import PASSAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw
    import numpy as np

    Array = np.ndarray[Any, Any]
    Progress = Callable[[int], None]

LARGE = 100_000  # active codes of a file from which on its audiences are parted
LARGE_AUDIENCE = 20_000  # those with more, that is
A_CELL = 250  # codes of a cell, about
MOST_CELLS = 4_096
PROBED = 192  # cells that a search reads
GROWTH = 2  # times as many codes as when it was parted: it is parted anew
LOOK_EVERY = 1_000  # memories: whoever brings the next thousand counts

ACTIVE = STATUSES.index("active")  # as the tables have it

_SAMPLED = 24  # vectors of a cell
_ROUNDS = 5  # of k-means
_AT_ONCE = 8_192  # vectors compared with all pivots
_PLACED_AT_ONCE = 20_000  # codes in one transaction: some .3 s in which others wait to write
_SEED = 5


def near_sql(count: int) -> str:
    """Return the query for the codes of `count` parted audiences' nearest cells; its values: their reaches, and the query.

    Columns: key, code. The cells of all of them compete.
    """
    marks = ",".join("?" * count)
    return (
        "SELECT placed.key, placed.code FROM (SELECT reach, cell FROM cells "  # noqa: S608 - marks and a constant
        f"WHERE reach IN ({marks}) ORDER BY vec_distance_cosine(vec_int8(pivot), vec_int8(?)) LIMIT {PROBED}) AS near "
        "CROSS JOIN placed ON placed.reach = near.reach AND placed.cell = near.cell"
    )


def parted(connection: apsw.Connection) -> frozenset[int]:
    """Return the reaches of the audiences that lie in cells."""
    return frozenset(reach for (reach,) in _rows(connection, "SELECT reach FROM parted WHERE is_complete"))


def is_to_be_looked_at(connection: apsw.Connection) -> bool:
    """Return whether so many memories have come since the last look that an audience may have grown large."""
    sql = "SELECT (SELECT coalesce(max(key), 0) / ? FROM vectors) - counted >= ? FROM space"
    return bool(_rows(connection, sql, (PASSAGES, LOOK_EVERY))[0][0])


def are_of_other_models(connection: apsw.Connection) -> bool:
    """Return whether the pivots were made of vectors that are being replaced by another model's."""
    return bool(_rows(connection, "SELECT EXISTS (SELECT 1 FROM parted WHERE NOT codes)")[0][0])


def part(connection: apsw.Connection, progress: Progress | None = None) -> int:
    """Put the audiences that have grown large in cells, make those whole that are no longer; return how many it were.

    One transaction for every _PLACED_AT_ONCE codes, and until the last of them searches read the audience whole. A kill loses
    what was begun: the next one begins again. progress: told how many codes have been placed.
    """
    due = _due(connection)
    for reach, count in due:
        _forget(connection, reach)
        if count > LARGE_AUDIENCE:
            _part(connection, reach, count, progress)
    connection.execute("UPDATE space SET counted = (SELECT coalesce(max(key), 0) / ? FROM vectors)", (PASSAGES,))
    return len(due)


def problems(connection: apsw.Connection) -> list[str]:
    """Return what is wrong with the cells, [] where nothing is."""
    sql = (
        "SELECT reach, (SELECT count(*) FROM codes WHERE status = ? AND codes.reach = parted.reach) - "
        "(SELECT count(*) FROM placed WHERE placed.reach = parted.reach) FROM parted WHERE is_complete"
    )
    return [f"{abs(lost)} codes that are not in their cells" for _, lost in _rows(connection, sql, (ACTIVE,)) if lost]


def _due(connection: apsw.Connection) -> list[tuple[int, int]]:
    """Return the reach and the number of active codes of each audience that is not parted as it should be."""
    counted = dict(_rows(connection, "SELECT reach, count(*) FROM codes WHERE status = ? GROUP BY reach", (ACTIVE,)))
    known = {reach: (count, done) for reach, count, done in _rows(connection, "SELECT reach, codes, is_complete FROM parted")}
    due = []
    is_large = sum(counted.values()) > LARGE
    for reach, count in counted.items():
        before, done = known.get(reach, (0, 0))
        if is_large and count > LARGE_AUDIENCE and (not done or count > GROWTH * before):
            due.append((reach, count))
    return due + [(reach, counted.get(reach, 0)) for reach in known if counted.get(reach, 0) <= LARGE_AUDIENCE // GROWTH]


def _forget(connection: apsw.Connection, reach: int) -> None:
    with _Written(connection):
        for table in ("placed", "cells", "parted"):
            connection.execute(f"DELETE FROM {table} WHERE reach = ?", (reach,))  # noqa: S608 - one of three names
        _count(connection)


def _part(connection: apsw.Connection, reach: int, count: int, progress: Progress | None) -> None:
    pivots = _pivots(connection, reach, count)
    with _Written(connection):  # from here on the triggers place what is new
        connection.execute("INSERT INTO parted VALUES (?, ?, 0)", (reach, count))
        named = [(reach, cell, pivot.tobytes()) for cell, pivot in enumerate(pivots)]
        connection.executemany("INSERT INTO cells VALUES (?, ?, ?)", named)
    directions = _unit(pivots).T
    after = -1
    while True:
        with _Written(connection):
            sql = (
                "SELECT codes.key, codes.code, vectors.vector FROM codes JOIN vectors USING (key) "
                "WHERE codes.status = ? AND codes.reach = ? AND codes.key > ? ORDER BY codes.key LIMIT ?"
            )
            found = _rows(connection, sql, (ACTIVE, reach, after, _PLACED_AT_ONCE))
            if not found:
                connection.execute("UPDATE parted SET is_complete = 1 WHERE reach = ?", (reach,))
                _count(connection)
                return
            nearest = _nearest(_matrix([vector for _, _, vector in found]), directions)
            rows = [(reach, cell, key, code) for (key, code, _), cell in zip(found, nearest, strict=True)]
            connection.executemany("INSERT OR REPLACE INTO placed VALUES (?, ?, ?, ?)", rows)
        after = found[-1][0]
        if progress:
            progress(len(found))


def _count(connection: apsw.Connection) -> None:
    connection.execute("UPDATE space SET parted = (SELECT count(*) FROM parted WHERE is_complete)")


def _rows(connection: apsw.Connection, sql: str, values: tuple[apsw.SQLiteValue, ...] = ()) -> list[tuple[Any, ...]]:
    return connection.execute(sql, values).fetchall()


class _Written:
    """A write transaction, undone by an exception."""

    __slots__ = ("_connection",)

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


# k-means, by cosine


def _pivots(connection: apsw.Connection, reach: int, count: int) -> Array:
    """Return the pivots of an audience, (cells, dimension) int8, from an even sample of its vectors."""
    import numpy as np  # 65 ms, and few stores are this large

    cells = min(MOST_CELLS, max(1, count // A_CELL))
    step = max(1, count // (cells * _SAMPLED))
    sql = (
        "SELECT vectors.vector FROM (SELECT key, row_number() OVER (ORDER BY key) AS place FROM codes "
        "WHERE status = ? AND reach = ?) AS chosen JOIN vectors USING (key) WHERE chosen.place % ? = 0"
    )
    sample = _unit(_matrix([vector for (vector,) in _rows(connection, sql, (ACTIVE, reach, step))]))
    chance = np.random.default_rng(_SEED)
    pivots = sample[chance.choice(len(sample), min(cells, len(sample)), replace=False)]
    for _ in range(_ROUNDS):
        nearest = _nearest(sample, pivots.T)
        sums = np.zeros_like(pivots)
        np.add.at(sums, nearest, sample)
        empty = np.bincount(nearest, minlength=len(pivots)) == 0
        sums[empty] = sample[chance.choice(len(sample), int(empty.sum()))]
        pivots = _unit(sums)
    peaks = np.maximum(np.abs(pivots).max(axis=1, keepdims=True), 1e-9)
    rounded: Array = np.rint(pivots * (127 / peaks)).astype(np.int8)
    return rounded


def _matrix(vectors: Sequence[bytes]) -> Array:
    import numpy as np  # as above

    return np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), -1)


def _unit(rows: Array) -> Array:
    """Return the rows with length 1; one of nothing but zeros stays."""
    import numpy as np  # as above

    wide = rows.astype(np.float32)
    of_one: Array = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-9)
    return of_one


def _nearest(rows: Array, pivots: Array) -> list[int]:
    """Return the number of the pivot that each row is nearest to. pivots: (dimension, cells), of length 1."""
    import numpy as np  # as above

    found: list[int] = []
    for start in range(0, len(rows), _AT_ONCE):
        found += np.argmax(rows[start : start + _AT_ONCE].astype(np.float32) @ pivots, axis=1).tolist()
    return found
