"""Cells of audiences with very many memories: searching, keeping them in step, and damage."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import vector_cells, vector_reader
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.store.vector_reader import PASSAGES
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.store.conftest import SMALL, SMALL_DIMENSION, put

LARGE = 300
SHOP, MILL = "project:shop", "project:mill"
TOPICS = np.random.default_rng(3).normal(size=(40, SMALL_DIMENSION))


def of_topic(seed: int) -> bytes:
    """A vector near to one of 40 topics, as texts are."""
    drawn = np.random.default_rng(seed)
    made = TOPICS[drawn.integers(len(TOPICS))] + drawn.normal(scale=0.6, size=SMALL_DIMENSION)
    return bytes(np.rint(made * 127 / np.abs(made).max()).astype(np.int8).tobytes())


@pytest.fixture(autouse=True)
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with hundreds of memories."""
    for name, value in (("LARGE", 600), ("LARGE_AUDIENCE", LARGE), ("CODES_PER_CELL", 10), ("CHECK_EVERY", 50)):
        monkeypatch.setattr(vector_cells, name, value)
    monkeypatch.setattr(vector_reader, "PROBED_CELLS", 12)


@pytest.fixture
def many(store: Store, make: Maker) -> list[Memory]:
    """500 memories of one project, 200 of another."""
    store.add([make(f"Note {n}.", project="shop" if n < 500 else "mill") for n in range(700)])
    return sorted(store.by_seqs(list(range(1, 701))).values(), key=lambda memory: memory.seq)


@pytest.fixture
def large(home: Home, many: list[Memory]) -> Iterator[VectorStore]:
    """Their vectors, the shop's in cells."""
    with VectorStore.writer(home, SMALL, SMALL_DIMENSION) as vectors:
        put(vectors, many, of_topic)
        assert vectors.part() == 1
        yield vectors


def rows(vectors: VectorStore, sql: str) -> Sequence[tuple[object, ...]]:
    connection = apsw.Connection(vectors.path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def in_shop(memory: Memory) -> bool:
    return audience_of(memory.scope, memory.project) == SHOP


def nearest_seqs(vectors: VectorStore, query: bytes, audiences: tuple[str, ...] | None, k: int = 10) -> list[int]:
    return [seq for _, seq in vectors.nearest(query, k, audiences)]


def test_only_the_large_audience_lies_in_cells_each_code_once(large: VectorStore, many: list[Memory]) -> None:
    placed = rows(large, "SELECT key FROM placed ORDER BY key")
    assert [key for (key,) in placed] == [memory.seq * PASSAGES for memory in many if in_shop(memory)]
    assert 30 < len(rows(large, "SELECT DISTINCT cell FROM placed")) <= 50
    assert large.problems() == []
    assert large.part() == 0  # as long as nothing has grown


@pytest.mark.parametrize("audiences", [(SHOP,), (SHOP, MILL), None])
def test_a_search_reads_some_cells_and_finds_nearly_the_same(large: VectorStore, audiences: tuple[str, ...] | None) -> None:
    same = 0
    for number in range(60):
        query = of_topic(9_000 + number)
        whole = [seq for _, seq in large.nearest(query, 10, audiences, ("active", "pending"))]  # of all codes; none is pending
        same += len(set(whole) & set(nearest_seqs(large, query, audiences)))
    assert same > 0.9 * 600
    read, values = large._codes(query, None, (vector_reader.ACTIVE,))
    assert len(large._execute(read, tuple(values))) < 450


def test_another_status_is_read_whole(large: VectorStore, store: Store, many: list[Memory]) -> None:
    gone = [memory for memory in many if in_shop(memory)][:100]
    for memory in gone:
        memory.status = "archived"
    put(large, gone, of_topic)
    assert nearest_seqs(large, of_topic(gone[7].seq), (SHOP,), 1) != [gone[7].seq]
    assert [seq for _, seq in large.nearest(of_topic(gone[7].seq), 1, (SHOP,), ("active", "archived"))] == [gone[7].seq]
    assert large.problems() == []


def test_cells_follow_new_deleted_and_moved_memories(large: VectorStore, store: Store, make: Maker, many: list[Memory]) -> None:
    store.add([make(f"Late {n}.", project="shop") for n in range(20)])
    late = list(store.by_seqs(list(range(701, 721))).values())
    put(large, late, of_topic)
    assert all(nearest_seqs(large, of_topic(memory.seq), (SHOP,), 1) == [memory.seq] for memory in late)
    moved, purged = many[3], many[4]
    moved.project = "mill"
    put(large, [moved], of_topic)
    with large.transaction():
        large.remove_memories([purged.seq])
    assert {moved.seq, purged.seq}.isdisjoint(nearest_seqs(large, of_topic(moved.seq), (SHOP,), 600))
    assert nearest_seqs(large, of_topic(moved.seq), (MILL,), 1) == [moved.seq]
    assert large.problems() == []


def test_doubled_audience_is_parted_again_shrunken_is_whole(
    large: VectorStore, store: Store, make: Maker, many: list[Memory]
) -> None:
    store.add([make(f"More {n}.", project="shop") for n in range(600)])
    put(large, list(store.by_seqs(list(range(701, 1_301))).values()), of_topic)
    assert large.part() == 1
    assert len(rows(large, "SELECT cell FROM cells")) == 110
    assert large.problems() == []
    with large.transaction():
        large.remove_memories(range(100, 1_301))
    store.add([make("Last.", project="mill")])
    put(large, list(store.by_seqs([1_301]).values()), of_topic)
    with VectorStore.writer(Home(str(Path(large.path).parents[1])), SMALL, SMALL_DIMENSION) as again:
        again._execute("UPDATE space SET counted = 0")
        assert again.part() == 1
    assert rows(large, "SELECT * FROM cells UNION ALL SELECT 1, 2, 3 FROM placed") == []
    assert nearest_seqs(large, of_topic(50), (SHOP,), 1) == [50]


def test_cells_are_remade_once_all_vectors_are_replaced(large: VectorStore, many: list[Memory]) -> None:
    large.expect(("a", "b"))  # the first that is known of them
    assert large.part() == 0  # all are provisional, and wait
    _finish_all(large, of_topic)
    assert large.part() == 1
    assert large.part() == 0
    large.expect(("a of another release", "b of another release"))
    turned = np.linalg.qr(np.random.default_rng(8).normal(size=(SMALL_DIMENSION, SMALL_DIMENSION)))[0]

    def of_another(seed: int) -> bytes:
        wide = np.frombuffer(of_topic(seed), np.int8) @ turned
        return bytes(np.rint(wide * 127 / np.abs(wide).max()).astype(np.int8).tobytes())

    before = rows(large, "SELECT pivot FROM cells")
    assert large.part() == 0
    assert rows(large, "SELECT pivot FROM cells") == before  # searched as they are meanwhile
    _finish_all(large, of_another)
    assert large.part() == 1
    assert large.problems() == []
    same = 0
    for number in range(60):
        query = of_another(9_000 + number)
        whole = [seq for _, seq in large.nearest(query, 10, (SHOP,), ("active", "pending"))]
        same += len(set(whole) & set(nearest_seqs(large, query, (SHOP,))))
    assert same > 0.9 * 600


def _finish_all(vectors: VectorStore, of: Callable[[int], bytes]) -> None:
    vectors.finish([(key, content_hash, [of(vectors.seq_of(key))]) for key, content_hash in vectors.pending()])


def test_what_was_broken_off_is_not_searched_and_begins_again(
    home: Home, many: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cells, "_PLACED_AT_ONCE", 60)

    select_rows = vector_cells._select_rows

    def stop_after_first(connection: apsw.Connection, sql: str, values: tuple[Any, ...] = ()) -> Any:
        if sql.startswith("SELECT codes.key") and values[2] >= 0:  # behind the first codes
            raise KeyboardInterrupt
        return select_rows(connection, sql, values)

    monkeypatch.setattr(vector_cells, "_select_rows", stop_after_first)
    with VectorStore.writer(home, SMALL, SMALL_DIMENSION) as vectors:
        put(vectors, many, of_topic)
        with pytest.raises(KeyboardInterrupt):
            vectors.part()
        monkeypatch.setattr(vector_cells, "_select_rows", select_rows)
        assert len(rows(vectors, "SELECT key FROM placed")) == 60
        moved = many[90:99]
        assert [nearest_seqs(vectors, of_topic(memory.seq), (SHOP,), 1) for memory in moved] == [[m.seq] for m in moved]
        assert vectors.problems() == []
        assert vectors.part() == 1
        assert len(rows(vectors, "SELECT key FROM placed")) == 500
