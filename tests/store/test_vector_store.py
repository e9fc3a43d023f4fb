"""The vectors of a space: nearness, audiences, final vectors and their makers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import AnsweredQuestion, Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of, audiences_of
from subcog_hooks.store.vector_reader import FIRST_QUESTION, PASSAGES
from subcog_hooks.store.vector_store import VectorStore, texts_of
from tests.conftest import Maker
from tests.store.conftest import SMALL, SMALL_DIMENSION, cosine, finish, follow, put, settle, vector
from tests.store.letters import encode, final, finals


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


ANCHOR, BUOY = "what holds the ship in place", "how does a boat stay where it is"


def agent_questions(*texts: str) -> tuple[AnsweredQuestion, ...]:
    return tuple(map(AnsweredQuestion, texts))


@pytest.fixture
def anchor(store: Store, make: Maker) -> Memory:
    return store.add([make("anchor", questions=agent_questions(ANCHOR, BUOY)), make("buoy"), make("crane")])[0]


def first(text: str) -> bytes:
    (made,) = encode([text])
    assert made is not None
    return made


def finish_all(vectors: VectorStore, store: Store) -> int:
    waiting = vectors.pending()
    memories = store.by_seqs([vectors.seq_of(key) for key, _ in waiting])
    texts = {key: texts_of(memories[vectors.seq_of(key)])[key] for key, _ in waiting}
    assert [content_hash for _, content_hash in waiting] == [texts[key][1] for key, _ in waiting]
    return vectors.finish((key, content_hash, [final(texts[key][0])]) for key, content_hash in waiting)


def test_the_best_of_text_and_questions_counts(home: Home, store: Store, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        query = first(BUOY)
        assert vectors.cosines(query, [anchor.seq])[anchor.seq] == pytest.approx(1.0, abs=1e-6)
        assert vectors.cosines(first("anchor"), [anchor.seq])[anchor.seq] == pytest.approx(1.0, abs=1e-6)
        assert vectors.nearest(query, 1, None)[0][1] == anchor.seq
        expected = {0: cosine(query, first(ANCHOR)), 1: 1.0}
        assert vectors.question_cosines(query, anchor.seq) == pytest.approx(expected, abs=1e-6)
        assert vectors.question_cosines(query, anchor.seq + 1) == {}


def test_a_memory_waits_until_its_questions_are_final_too(home: Home, store: Store, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        assert vectors.counts() == (0, 3)
        assert len(vectors.pending()) == 5
        whole = next((key, hash_) for key, hash_ in vectors.pending() if key == anchor.seq * 256)
        vectors.finish([(*whole, [final("anchor"), final("a passage of it")])])
        assert vectors.counts() == (0, 3)
        assert finish_all(vectors, store) == 4
        assert (vectors.counts(), vectors.pending()) == ((3, 0), [])
        assert vectors.question_cosines(final(ANCHOR), anchor.seq)[0] == pytest.approx(1.0, abs=1e-6)
        assert vectors.final_vectors(anchor.content_hash) == [final("anchor"), final("a passage of it")]


def test_final_vectors_stay_when_questions_come_go_and_move(home: Home, store: Store, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        finish_all(vectors, store)
    store.update([store.get(anchor.id).with_changes(questions=agent_questions("new", BUOY))])
    with follow(home, store) as vectors:
        assert [key % 256 for key, _ in vectors.pending()] == [FIRST_QUESTION]
        assert vectors.question_cosines(final(BUOY), anchor.seq)[1] == pytest.approx(1.0, abs=1e-6)
        assert vectors.final_vectors(anchor.content_hash) == [final("anchor")]
    store.update([store.get(anchor.id).with_changes(questions=())])
    with follow(home, store) as vectors:
        assert (vectors.counts(), vectors.question_cosines(final(BUOY), anchor.seq)) == ((3, 0), {})


def test_question_shared_by_two_memories_is_embedded_once(home: Home, store: Store, make: Maker, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        finish_all(vectors, store)
    (other,) = store.add([make("another", questions=agent_questions(BUOY))])
    with follow(home, store) as vectors:
        assert [key for key, _ in vectors.pending()] == [other.seq * 256]
        assert anchor.questions[1] == other.questions[0]


@pytest.mark.parametrize("change", [{"status": "superseded"}, {"status": "deleted"}, {"scope": "project", "project": "shop"}])
def test_they_move_with_their_memory(home: Home, store: Store, anchor: Memory, change: dict[str, object]) -> None:
    with follow(home, store) as vectors:
        finish_all(vectors, store)
    store.update([store.get(anchor.id).with_changes(**change)])
    with follow(home, store) as vectors:
        assert anchor.seq not in {seq for _, seq in vectors.nearest(final(BUOY), 9, audiences_of())}


def test_of_another_encoder_they_are_made_anew(home: Home, store: Store, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        finish_all(vectors, store)
    store.update([store.get(anchor.id).with_changes(questions=agent_questions(ANCHOR, "new"))])
    follow(home, store).close()
    with follow(home, store, made_by=("other", "other")) as vectors:
        assert len(vectors.question_cosines(first(BUOY), anchor.seq)) == 2
        assert len(vectors.pending()) == 5


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


def test_memories_are_counted_not_passages(home: Home, store: Store, notes: list[Memory], long_notes: list[Memory]) -> None:
    with follow(home, store) as vectors:
        assert vectors.counts() == (0, 7)
        assert [len(keys_of(vectors, memory)) for memory in long_notes] == [1, 1, 1]  # A provisional vector is of the whole.
        assert [vectors.seq_of(key) for key, _ in vectors.pending()] == [memory.seq for memory in notes + long_notes]
        finish(vectors, store)
        assert (vectors.counts(), vectors.pending()) == ((7, 0), [])
        assert [len(keys_of(vectors, memory)) for memory in (notes[0], *long_notes)] == [1, 3, 4, 11]


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


def test_a_purge_passes_over_a_space_that_cannot_be_purged(home: Home, store: Store, long_notes: list[Memory]) -> None:
    settle(home, store)
    Path(home.index, "vectors-1-another.db").mkdir()
    with pytest.raises(StoreError):
        VectorStore.purge(home, [long_notes[2].seq])
    with follow(home, store) as vectors:
        assert (len(keys_of(vectors, long_notes[1])), keys_of(vectors, long_notes[2])) == (4, [])


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
