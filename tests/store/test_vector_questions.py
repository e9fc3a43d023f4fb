"""The vectors of a memory's questions: each by itself, the best counts, and they go where the memory goes."""

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import AnsweredQuestion, Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audiences_of
from subcog_hooks.store.vector_reader import FIRST_QUESTION
from subcog_hooks.store.vector_store import VectorStore, texts_of
from tests.conftest import Maker
from tests.store.conftest import cosine, follow
from tests.store.letters import encode, final

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


def finish(vectors: VectorStore, store: Store) -> int:
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
        assert finish(vectors, store) == 4
        assert (vectors.counts(), vectors.pending()) == ((3, 0), [])
        assert vectors.question_cosines(final(ANCHOR), anchor.seq)[0] == pytest.approx(1.0, abs=1e-6)
        assert vectors.final_vectors(anchor.content_hash) == [final("anchor"), final("a passage of it")]


def test_a_question_has_one_vector_however_many_are_made(home: Home, store: Store, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        key, content_hash = next(row for row in vectors.pending() if row[0] % 256 == FIRST_QUESTION)
        assert vectors.finish([(key, content_hash, [final(ANCHOR), final("too much")])]) == 1
        assert vectors.final_vectors(content_hash) == [final(ANCHOR)]
        assert len(vectors.question_cosines(final(BUOY), anchor.seq)) == 2


def test_final_vectors_stay_when_questions_come_go_and_move(home: Home, store: Store, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
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
        finish(vectors, store)
    (other,) = store.add([make("another", questions=agent_questions(BUOY))])
    with follow(home, store) as vectors:
        assert [key for key, _ in vectors.pending()] == [other.seq * 256]
        assert anchor.questions[1] == other.questions[0]


def test_text_equal_to_a_question_is_embedded_by_itself(home: Home, store: Store, make: Maker, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    (other,) = store.add([make(BUOY)])
    with follow(home, store) as vectors:
        assert [key for key, _ in vectors.pending()] == [other.seq * 256]
        assert texts_of(anchor)[anchor.seq * 256 + FIRST_QUESTION + 1][1] != other.content_hash


@pytest.mark.parametrize("change", [{"status": "superseded"}, {"status": "deleted"}, {"scope": "project", "project": "shop"}])
def test_they_move_with_their_memory(home: Home, store: Store, anchor: Memory, change: dict[str, object]) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    store.update([store.get(anchor.id).with_changes(**change)])
    with follow(home, store) as vectors:
        assert anchor.seq not in {seq for _, seq in vectors.nearest(final(BUOY), 9, audiences_of())}


def test_a_purged_memory_leaves_none_behind(home: Home, store: Store, anchor: Memory) -> None:
    follow(home, store).close()
    store.purge([anchor.id])
    with follow(home, store) as vectors:
        assert vectors.question_cosines(first(BUOY), anchor.seq) == {}


def test_of_another_encoder_they_are_made_anew(home: Home, store: Store, anchor: Memory) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    store.update([store.get(anchor.id).with_changes(questions=agent_questions(ANCHOR, "new"))])
    follow(home, store).close()
    with follow(home, store, made_by=("other", "other")) as vectors:
        assert len(vectors.question_cosines(first(BUOY), anchor.seq)) == 2
        assert len(vectors.pending()) == 5
