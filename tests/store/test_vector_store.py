"""The vectors of a space: nearness, audiences, final vectors and their makers."""

from pathlib import Path

import numpy as np
import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of
from subcog_hooks.store.vector_reader import PASSAGES
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.store.conftest import SMALL, SMALL_DIMENSION, cosine, put, vector

# ---- searching ------------------------------------------------------------------------------------------------------------


def test_the_nearest_are_those_of_a_comparison_one_by_one(
    vectors: VectorStore, crowd: list[Memory], subtests: pytest.Subtests
) -> None:
    audiences_cases = [None, ("project:shop",), ("project:shop", "user", "org"), ("project:nobody",)]
    for audiences in audiences_cases:
        for statuses in [("active",), ("superseded", "archived"), ()]:
            with subtests.test(audiences=audiences, statuses=statuses):
                query = vector(7_000)
                wanted = [
                    memory
                    for memory in crowd
                    if (audiences is None or audience_of(memory.scope, memory.project) in audiences)
                    and (not statuses or memory.status in statuses)
                ]
                expected = sorted(((cosine(query, vector(memory.seq)), memory.seq) for memory in wanted), reverse=True)
                hits = vectors.nearest(query, 1_000, audiences, statuses)
                assert [seq for _, seq in hits] == [seq for _, seq in expected]
                assert [score for score, _ in hits] == pytest.approx([score for score, _ in expected], abs=1e-6)


def test_the_binary_codes_choose_whom_the_exact_comparison_ranks(vectors: VectorStore, crowd: list[Memory]) -> None:
    query = np.frombuffer(vector(7_000), np.int8)

    def differing_signs(memory: Memory) -> int:
        return int(((np.frombuffer(vector(memory.seq), np.int8) > 0) != (query > 0)).sum())

    hits = vectors.nearest(query.tobytes(), 20, None, ())
    farthest = max(differing_signs(memory) for memory in crowd if memory.seq in {seq for _, seq in hits})
    assert len(hits) == 20
    assert {memory.seq for memory in crowd if differing_signs(memory) < farthest} <= {seq for _, seq in hits}
    assert hits == sorted(hits, key=lambda hit: (-hit[0], hit[1]))


def test_cosines_are_looked_up_for_those_that_have_a_vector(vectors: VectorStore, crowd: list[Memory]) -> None:
    query = vector(7_000)
    asked = [memory.seq for memory in crowd[:3]]
    assert vectors.cosines(query, [*asked, 99_999]) == pytest.approx({s: cosine(query, vector(s)) for s in asked}, abs=1e-6)
    assert vectors.cosines(query, []) == {}


# ---- final vectors --------------------------------------------------------------------------------------------------------


def test_a_new_memory_waits_for_its_final_vector(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make("one"), make("two"), make("three")])
    put(vectors, memories)
    waiting = vectors.pending()
    assert [(vectors.seq_of(key), content_hash) for key, content_hash in waiting] == [
        (memory.seq, memory.content_hash) for memory in memories
    ]
    assert vectors.pending(2) == waiting[:2]
    assert vectors.finish((key, content_hash, [vector(key + 1)]) for key, content_hash in waiting[:2]) == 2
    assert (vectors.counts(), vectors.pending()) == ((2, 1), waiting[2:])
    assert vectors.nearest(vector(waiting[0][0] + 1), 1, None)[0][1] == memories[0].seq


def test_a_memory_that_changed_meanwhile_is_left_alone(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make("old text"), make("gone"), make("done")])
    put(vectors, memories)
    waiting = vectors.pending()
    vectors.finish([(*waiting[2], [vector(3)])])
    put(vectors, [memories[0].with_changes(content="new text")])
    with vectors.transaction():
        vectors.remove_memories([memories[1].seq])
    assert vectors.finish((key, content_hash, [vector(9)]) for key, content_hash in waiting) == 0
    assert vectors.counts() == (1, 1)
    assert vectors.final_vectors(memories[0].content_hash) == []
    assert vectors.final_vectors(memories[2].content_hash) == [vector(3)]


def test_the_bytes_of_a_purged_memory_are_gone_from_the_disk(vectors: VectorStore, crowd: list[Memory], home: Home) -> None:
    gone = vector(crowd[0].seq)
    with vectors.transaction():
        vectors.remove_memories([crowd[0].seq])
    vectors.close()  # the last one to close empties the log into the file
    raw = b"".join(path.read_bytes() for path in Path(home.index).iterdir())
    assert gone not in raw
    assert np.packbits(np.frombuffer(gone, np.int8) > 0, bitorder="little").tobytes() not in raw
    assert vector(crowd[1].seq) in raw


# ---- who made them --------------------------------------------------------------------------------------------------------


@pytest.fixture
def half_final(vectors: VectorStore, store: Store, make: Maker) -> list[Memory]:
    """One memory with a final vector of the model "m1", one with a provisional one of the encoder "e1"."""
    vectors.expect(("m1", "e1"))
    memories = store.add([make("one"), make("two")])
    put(vectors, memories)
    vectors.finish((key, content_hash, [vector(70)]) for key, content_hash in vectors.pending(1))
    with vectors.transaction():
        vectors.reach_revision(store.revision())
    return memories


def test_expecting_the_same_makers_again_changes_nothing(vectors: VectorStore, half_final: list[Memory]) -> None:
    for made_by in (("m1", "e1"), ("", "e1"), ("m1", ""), ("", "")):
        vectors.expect(made_by)
        assert vectors.counts() == (1, 1)
        assert vectors.watermark() > 0


@pytest.mark.parametrize(("model", "final"), [("m1", 1), ("", 1), ("m2", 0)])
def test_provisional_vectors_of_another_encoder_are_dropped(
    vectors: VectorStore, half_final: list[Memory], model: str, final: int
) -> None:
    vectors.expect((model, "e2"))
    assert (vectors.counts(), vectors.watermark()) == ((final, 2 - final), -1)
    assert [seq for _, seq in vectors.nearest(vector(70), 5, None)] == [half_final[0].seq]
    assert vectors.problems() == []
    assert vectors.lacking(half_final) == [(half_final[1].seq * PASSAGES, half_final[1].content)]


def test_a_process_that_still_has_the_old_model_finishes_nothing(
    home: Home, vectors: VectorStore, half_final: list[Memory]
) -> None:
    with VectorStore.writer(home, SMALL, SMALL_DIMENSION) as later:
        later.expect(("m2", "e1"))
        assert vectors.finish((key, content_hash, [vector(9)]) for key, content_hash in vectors.pending()) == 0
        assert later.counts() == (0, 2)
