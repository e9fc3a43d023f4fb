"""Vectors for the tests of this folder: a small space of random ones, and the letters', which follow a store."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import vector_store
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import PASSAGES, vectors_path
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.store.letters import DIMENSION, MADE_BY, SPACE, encode, finals

SMALL = "small"
SMALL_DIMENSION = 64


def vector(seed: int) -> bytes:
    """A `(SMALL_DIMENSION,) int8` vector."""
    return np.random.default_rng(seed).integers(-127, 128, SMALL_DIMENSION, np.int8).tobytes()


def cosine(a: bytes, b: bytes) -> float:
    x, y = (np.frombuffer(raw, np.int8).astype(np.float64) for raw in (a, b))
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def put(vectors: VectorStore, memories: Sequence[Memory], of: Callable[[int], bytes] = vector) -> None:
    """Store these memories' vectors, each made from its row number."""
    with vectors.transaction():
        vectors.put(memories, {memory.seq * PASSAGES: of(memory.seq) for memory in memories})


@pytest.fixture
def state(home: Home) -> Iterator[State]:
    home.create()
    opened = State.open(home, 100)
    yield opened
    opened.close()


@pytest.fixture
def vectors(home: Home) -> Iterator[VectorStore]:
    with VectorStore.writer(home, SMALL, SMALL_DIMENSION) as opened:
        yield opened


@pytest.fixture
def crowd(vectors: VectorStore, store: Store, make: Maker) -> list[Memory]:
    """300 memories of three projects, the user and the organisation, of three statuses."""
    owners: list[dict[str, object]] = [{"project": "shop"}, {"project": "blog"}, {"project": "yard"}, {}, {"scope": "org"}]
    statuses = ("active", "active", "superseded", "archived")
    memories = store.add([make(f"note {i}", status=statuses[i % 4], **owners[i % 5]) for i in range(300)])
    put(vectors, memories)
    return memories


Row = tuple[int, str, int, int, int, bytes, bytes | None]  # key, content hash, final, status, reach, vector, code


def follow(home: Home, store: Store, *, anew: bool = False, made_by: tuple[str, str] = MADE_BY) -> VectorStore:
    return vector_store.open_following(home, store, SPACE, DIMENSION, encode, made_by=made_by, anew=anew)


def rows(home: Home) -> list[Row]:
    """The rows of all memories that are not deleted."""
    connection = apsw.Connection(vectors_path(home, SPACE), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        sql = (
            "SELECT key, content_hash, is_final, status, reach, vector, "
            "(SELECT code FROM codes WHERE codes.key = vectors.key) FROM vectors ORDER BY key"
        )
        codes = connection.execute("SELECT count(*), count(DISTINCT key) FROM codes").fetchall()[0]
        fetched: list[Row] = connection.execute(sql).fetchall()  # type: ignore[assignment]  # the STRICT tables say so
        assert codes[0] == codes[1] == sum(row[6] is not None for row in fetched), "a code of nobody, or two of one"
    finally:
        connection.close()
    return fetched


def assert_as_made_anew(home: Home, store: Store, tmp_path: Path) -> None:
    """Check that a new home would make the same vectors from this store."""
    other = Home(str(tmp_path / "anew"))
    shutil.rmtree(other.root, ignore_errors=True)
    follow(other, store).close()

    def vector_rows(of_home: Home) -> list[tuple[object, ...]]:
        wholes = (row for row in rows(of_home) if row[3] < 4 and not row[0] % 256)
        return [(key, hash_, status, reach, bool(code)) for key, hash_, _, status, reach, _, code in wholes]

    assert vector_rows(home) == vector_rows(other)
    texts = {memory.seq: memory.content for memory in store.all(("active", "pending", "superseded", "archived"))}
    of_memories: dict[int, list[Row]] = {}
    for row in rows(home):
        of_memories.setdefault(row[0] // 256, []).append(row)
    for seq, of_one in of_memories.items():
        assert [row[0] for row in of_one] == list(range(seq * 256, seq * 256 + len(of_one)))
        assert len({row[1:5] for row in of_one}) == 1, "a passage that did not move with its memory"
        if of_one[0][3] < 4:
            text = texts[seq]
            assert [row[5] for row in of_one] == (finals(text) if of_one[0][2] else encode([text])), text
        assert len({bool(row[6]) for row in of_one}) == 1, "some have a code, some not"


def finish(vectors: VectorStore, store: Store) -> None:
    memories = {vectors.seq_of(key): key for key, _ in vectors.pending()}
    pending = store.by_seqs(list(memories))
    vectors.finish((memories[seq], memory.content_hash, finals(memory.content)) for seq, memory in pending.items())


def settle(home: Home, store: Store) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)


def nearest_to(vectors: VectorStore, text: str) -> int | None:
    query = encode([text])[0]
    assert query is not None
    hits = vectors.nearest(query, 5, None)
    return hits[0][1] if hits else None


@pytest.fixture
def notes(store: Store, make: Maker) -> list[Memory]:
    return store.add([make(text, id=text) for text in ("anchor", "buoy", "crane", "dredger")])


@pytest.fixture
def long_notes(store: Store, make: Maker) -> list[Memory]:
    """Three memories of two, three and ten passages."""
    return store.add(
        [make("harbour mast", id="mast"), make("the sluice keeper's key", id="key"), make("tide " * 20, id="tide")]
    )


def damage(path: str) -> None:
    with open(path, "r+b") as file:
        for page in range(1, os.path.getsize(path) // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)


def overwrite(path: str) -> None:
    Path(path).write_bytes(b"garbage" * 2_000)


def lose_codes(path: str) -> None:
    run_sql(path, "DELETE FROM codes")


def lose_a_table(path: str) -> None:
    run_sql(path, "DROP TABLE codes")


def run_sql(path: str, sql: str) -> None:
    connection = apsw.Connection(path)
    connection.execute(sql)
    connection.close()
