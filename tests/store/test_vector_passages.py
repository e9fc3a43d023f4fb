"""The passages of a long memory: its cosine is the mean of the whole's and the best one's, and they go where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.store.conftest import SMALL_DIMENSION, assert_as_made_anew, cosine, finish, follow, nearest_to, put, settle, vector
from tests.store.letters import final, finals

MOST = 48  # passages of a memory


def mean_rule(query: bytes, whole: bytes, passages: Sequence[bytes]) -> float:
    """A memory's cosine, computed another way."""
    of_whole = cosine(query, whole)
    return (of_whole + max(cosine(query, passage) for passage in passages)) / 2 if passages else of_whole


def flip(query: bytes, seed: int, components: int) -> bytes:
    """A vector that differs from `query` in this number of components."""
    values = np.frombuffer(query, np.int8).copy()
    values[np.random.default_rng(seed).choice(len(values), components, replace=False)] *= -1
    return values.tobytes()


def keep(vectors: VectorStore, memories: Sequence[Memory], of: dict[int, list[bytes]]) -> None:
    """Bring these memories in with these final vectors, by row number: the whole's, then the passages'."""
    put(vectors, memories)
    hashes = {memory.seq: memory.content_hash for memory in memories}
    waiting = {vectors.seq_of(key): key for key, _ in vectors.pending()}
    vectors.finish((waiting[seq], hashes[seq], made) for seq, made in of.items())


def keys_of(vectors: VectorStore, memory: Memory) -> list[int]:
    """A memory's keys in the table of vectors; those in the table of codes are the same."""
    connection = apsw.Connection(vectors.path, flags=apsw.SQLITE_OPEN_READONLY)
    sql = "SELECT key FROM {} WHERE key BETWEEN ? AND ? ORDER BY key"
    of_table = [
        [row[0] for row in connection.execute(sql.format(table), (memory.seq * 256, memory.seq * 256 + 255))]
        for table in ("vectors", "codes")
    ]
    connection.close()
    assert of_table[0] == of_table[1]
    return [int(str(key)) for key in of_table[0]]


# ---- searching ------------------------------------------------------------------------------------------------------------


def test_cosine_is_the_mean_of_whole_and_best_passage(vectors: VectorStore, store: Store, make: Maker) -> None:
    long, short = store.add([make("long"), make("short")])
    query = vector(7_000)
    parts = [flip(query, seed, components) for seed, components in ((1, 30), (2, 25), (3, 5), (4, 36))]
    keep(vectors, [long, short], {long.seq: parts, short.seq: [flip(query, 5, 10)]})
    expected = {long.seq: mean_rule(query, parts[0], parts[1:]), short.seq: cosine(query, flip(query, 5, 10))}
    assert expected[short.seq] > expected[long.seq] > cosine(query, parts[0])
    assert vectors.cosines(query, [long.seq, short.seq]) == pytest.approx(expected, abs=1e-6)
    hits = vectors.nearest(query, 9, None)
    assert [seq for _, seq in hits] == [short.seq, long.seq]
    assert {seq: score for score, seq in hits} == pytest.approx(expected, abs=1e-6)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(counts=st.lists(st.integers(0, 6) | st.sampled_from([0, MOST]), min_size=1, max_size=12), seed=st.integers(1, 10_000))
@example(counts=[MOST] * 12, seed=1)
def test_the_nearest_of_all_are_those_of_a_comparison_one_by_one(
    vectors: VectorStore, make: Maker, counts: list[int], seed: int
) -> None:
    memories = [make(f"{seed} {number}", project="shop" if number % 3 else None) for number in range(len(counts))]
    for number, memory in enumerate(memories, 1):
        memory.seq = number
    with vectors.transaction():
        vectors.keep_only([])
    query = vector(seed)
    of = {
        m.seq: [flip(query, seed + m.seq * 99 + i, 3 + (seed + i) % 50) for i in range(n + 1)]
        for m, n in zip(memories, counts, strict=True)
    }
    keep(vectors, memories, of)
    for audiences in (None, ("project:shop",)):
        wanted = [memory.seq for memory in memories if audiences is None or memory.project]
        expected = {seq: mean_rule(query, of[seq][0], of[seq][1:]) for seq in wanted}
        for k in (len(memories), 100):
            hits = vectors.nearest(query, k, audiences)
            assert {seq: score for score, seq in hits} == pytest.approx(expected, abs=1e-6)
            assert hits == sorted(hits, key=lambda hit: (-hit[0], hit[1]))


def test_a_long_memory_does_not_crowd_others_out(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make(f"note {number}") for number in range(30)])
    query = vector(7_000)
    of = {memory.seq: [flip(query, memory.seq, 20)] for memory in memories}
    for memory in memories[:5]:
        of[memory.seq] += [flip(query, memory.seq * 100 + number, 2) for number in range(MOST)]
    keep(vectors, memories, of)
    for k in (1, 5, 7, 29):
        assert len(vectors.nearest(query, k, None)) == k
    assert {seq for _, seq in vectors.nearest(query, 5, None)} == {memory.seq for memory in memories[:5]}


def test_a_passage_brings_its_memory_among_the_nearest(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make(f"note {number}") for number in range(50)])
    query = vector(7_000)
    of = {memory.seq: [flip(query, memory.seq, 20)] for memory in memories}
    deep = memories[30].seq
    of[deep] = [flip(query, 1, 40), flip(query, 2, 32), query]
    keep(vectors, memories, of)
    assert deep in {seq for _, seq in vectors.nearest(query, 3, None)}


@pytest.mark.parametrize("k", [1, 3, 10, 17])
def test_the_order_of_insertion_does_not_show_at_the_cut(home: Home, make: Maker, k: int) -> None:
    texts = [f"note {number}" for number in range(40)]
    query = vector(7_000)

    def find_nearest(name: str, order: Sequence[str]) -> set[str]:
        memories = [make(text) for text in order]
        for number, memory in enumerate(memories, 1):
            memory.seq = number
        with VectorStore.writer(home, name, SMALL_DIMENSION) as vectors:
            # all at one distance by their codes, of the wholes and of the passages
            of = {
                m.seq: [flip(query, texts.index(m.content) * 9 + i, 16) for i in range(texts.index(m.content) % 4)]
                for m in memories
            }
            keep(vectors, memories, {m.seq: of[m.seq] or [flip(query, texts.index(m.content) * 9, 16)] for m in memories})
            return {memories[seq - 1].content for _, seq in vectors.nearest(query, k, None)}

    forwards = find_nearest("forwards", texts)
    assert len(forwards) == k
    assert find_nearest("backwards", texts[::-1]) == forwards


def test_a_whole_of_nothing_but_zeros_is_near_to_nothing(vectors: VectorStore, store: Store, make: Maker) -> None:
    refused, other = store.add([make("refused"), make("other")])
    keep(vectors, [refused, other], {refused.seq: [bytes(SMALL_DIMENSION)], other.seq: [vector(1), bytes(SMALL_DIMENSION)]})
    assert [seq for _, seq in vectors.nearest(vector(1), 9, None)] == [other.seq]
    assert vectors.nearest(bytes(SMALL_DIMENSION), 9, None) == []


# ---- where they go --------------------------------------------------------------------------------------------------------


def test_memories_are_counted_not_passages(home: Home, store: Store, notes: list[Memory], long_notes: list[Memory]) -> None:
    with follow(home, store) as vectors:
        assert vectors.counts() == (0, 7)
        assert [len(keys_of(vectors, memory)) for memory in long_notes] == [1, 1, 1]  # A provisional vector is of the whole.
        assert [vectors.seq_of(key) for key, _ in vectors.pending()] == [memory.seq for memory in notes + long_notes]
        finish(vectors, store)
        assert (vectors.counts(), vectors.pending()) == ((7, 0), [])
        assert [len(keys_of(vectors, memory)) for memory in (notes[0], *long_notes)] == [1, 3, 4, 11]


def test_equal_text_takes_over_all_final_vectors(
    home: Home, store: Store, long_notes: list[Memory], make: Maker, tmp_path: Path
) -> None:
    settle(home, store)
    second = store.add([make(long_notes[1].content, project="shop")])[0]
    with follow(home, store) as vectors:
        assert vectors.pending() == []
        assert vectors.final_vectors(second.content_hash) == finals(second.content)
        assert len(keys_of(vectors, second)) == 4
    store.purge([long_notes[1].id])
    with follow(home, store) as vectors:
        assert vectors.final_vectors(second.content_hash) == finals(second.content)
    assert_as_made_anew(home, store, tmp_path)


def test_passages_move_with_their_memory(home: Home, store: Store, long_notes: list[Memory], tmp_path: Path) -> None:
    settle(home, store)
    moved = long_notes[2].with_changes(scope="project", project="shop", status="archived")
    store.update([moved])
    with follow(home, store) as vectors:
        assert vectors.counts() == (3, 0)
        assert [seq for _, seq in vectors.nearest(final("tide " * 2), 9, ("project:shop",), ("archived",))] == [moved.seq]
        assert moved.seq not in {seq for _, seq in vectors.nearest(final("tide " * 2), 9, None)}
    assert_as_made_anew(home, store, tmp_path)


def test_a_purged_memory_leaves_no_passage_not_even_on_the_disk(home: Home, store: Store, long_notes: list[Memory]) -> None:
    settle(home, store)
    gone = finals(long_notes[2].content)
    store.purge([long_notes[2].id])
    VectorStore.purge(home, [long_notes[2].seq])
    raw = b"".join(path.read_bytes() for path in Path(home.index).iterdir())
    assert [made in raw for made in gone] == [False] * len(gone)
    assert [made in raw for made in finals(long_notes[1].content)] == [True] * 4
    with follow(home, store) as vectors:
        assert (vectors.counts(), keys_of(vectors, long_notes[2])) == ((2, 0), [])


def test_memories_that_a_backup_does_not_have_leave_no_passage(home: Home, store: Store, long_notes: list[Memory]) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
        with vectors.transaction():
            vectors.keep_only([long_notes[0].seq])
        assert [len(keys_of(vectors, memory)) for memory in long_notes] == [3, 0, 0]


def test_passages_of_another_model_serve_until_replaced(
    home: Home, store: Store, long_notes: list[Memory], tmp_path: Path
) -> None:
    long = long_notes[2]
    settle(home, store)
    with follow(home, store, made_by=("a later model", "encoder")) as vectors:
        assert vectors.counts() == (0, 3)
        assert len(vectors.pending()) == 3
        assert len(keys_of(vectors, long)) == 11
        assert vectors.final_vectors(long.content_hash) == []
    store.update([long.with_changes(scope="project", project="shop")])  # it takes them along
    with follow(home, store, made_by=("a later model", "encoder")) as vectors:
        assert len(keys_of(vectors, long)) == 11
        key = next(key for key, hash_ in vectors.pending() if hash_ == long.content_hash)
        assert vectors.finish([(key, long.content_hash, [final("whole"), final("part")])]) == 1
        assert vectors.final_vectors(long.content_hash) == [final("whole"), final("part")]
        assert (vectors.counts(), len(keys_of(vectors, long))) == ((1, 2), 2)


def test_another_encoder_drops_the_provisional_passages(
    home: Home, store: Store, long_notes: list[Memory], tmp_path: Path
) -> None:
    settle(home, store)
    follow(home, store, made_by=("a later model", "encoder")).close()
    with follow(home, store, made_by=("a later model", "another encoder")) as vectors:
        assert [len(keys_of(vectors, memory)) for memory in long_notes] == [1, 1, 1]
        assert nearest_to(vectors, long_notes[0].content) == long_notes[0].seq
    assert_as_made_anew(home, store, tmp_path)
