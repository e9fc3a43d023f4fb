"""The channel of meaning: near and far memories, filters, the deadline, and the query's one vector."""

import _thread
import sys
from collections.abc import Callable

import pytest

from subcog_hooks.core.errors import StoreError
from subcog_hooks.embed.query_encoder import StaticEncoder, encode_by_language
from subcog_hooks.recall import candidates
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.hits import SEMANTIC
from subcog_hooks.recall.query import Query
from subcog_hooks.recall.vectors import SearchSpace, Semantic
from subcog_hooks.store import vector_reader
from subcog_hooks.store.store_reader import Filter
from tests.recall.shelf import ENOUGH, QUERY, Held, Shelf, find, ids

ASKED = Query("text", ())
PLACES = {"near": 0.9, "middle": 0.5, "far": 0.2}
TEXTS = {name: f"a {name} one" for name in PLACES}


@pytest.fixture
def space(shelf: Shelf) -> SearchSpace:
    shelf.add(TEXTS)
    return SearchSpace(shelf.vectors_at(PLACES), lambda _: QUERY)


def cosines_of(shelf: Shelf, of: Semantic, scope: Filter | None = None, k: int = 10) -> dict[str, float]:
    """The cosines of the channel's hits, by id, nearest first."""
    ranked = of.search(ASKED, scope or Filter(), k, ENOUGH)
    by_seq = shelf.store.by_seqs([seq for _, seq in ranked])
    return {by_seq[seq].id: cosine for cosine, seq in ranked}


def test_memories_from_the_least_cosine_on_are_ranked_by_it(shelf: Shelf, space: SearchSpace) -> None:
    cosines = cosines_of(shelf, Semantic(space, shelf.store, 0.1))
    assert list(cosines) == ["near", "middle", "far"]
    assert cosines == pytest.approx(PLACES, abs=0.01)
    nearer = [list(cosines_of(shelf, Semantic(space, shelf.store, least))) for least in (0.3, 0.95)]
    assert nearer == [["near", "middle"], []]


@pytest.mark.parametrize("nothing", [None, b""])
def test_a_text_with_nothing_to_embed_finds_nothing(shelf: Shelf, space: SearchSpace, nothing: bytes | None) -> None:
    of = Semantic(SearchSpace(space.vectors, lambda _: nothing), shelf.store, 0.0)
    assert of.search(ASKED, Filter(), 10, ENOUGH) == []
    assert of.cosines(ASKED, [1, 2]) == {}


def test_what_is_meant_is_embedded_and_only_once(shelf: Shelf, space: SearchSpace) -> None:
    embedded: list[str] = []

    def encode(text: str) -> bytes:
        embedded.append(text)
        return QUERY

    asked = Query("FK", ())
    asked.meant = "FK forward kinematics"
    of = Semantic(SearchSpace(space.vectors, encode), shelf.store, 0.0)
    of.search(asked, Filter(), 10, ENOUGH)
    of.search(asked, Filter(), 10, ENOUGH)
    of.cosines(asked, [1])
    assert embedded == ["FK forward kinematics"]


@pytest.mark.parametrize("scope", [Filter(), Filter(since=1)])
@pytest.mark.parametrize("k", [2, 5])
def test_whatever_lies_as_near_as_the_last_one_is_found_too(shelf: Shelf, scope: Filter, k: int) -> None:
    shelf.add({f"m{i}": "same words" for i in range(6)})
    space = SearchSpace(shelf.vectors_at({"m0": 0.8}), lambda _: QUERY)
    assert sorted(cosines_of(shelf, Semantic(space, shelf.store, 0.0), scope, k)) == [f"m{i}" for i in range(6)]


def test_a_search_ends_at_its_deadline_and_hinders_no_other(
    shelf: Shelf, space: SearchSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_reader, "_STEPS", 1)
    late = Held()
    of = Semantic(SearchSpace(space.vectors, lambda _: _spend(late)), shelf.store, 0.0)
    assert candidates.run_channel(of, ASKED, Filter(), 10, late).failure == f"{SEMANTIC}: out of time"
    assert list(cosines_of(shelf, Semantic(space, shelf.store, 0.0))) == ["near", "middle", "far"]


def _spend(deadline: Held) -> bytes:
    """Embed a query until the deadline has passed."""
    deadline.has_passed = True
    return QUERY


@pytest.mark.parametrize("text", ["🦀", "🦀🦀 👍", "..."])
def test_a_text_without_a_word_is_near_to_nothing(shelf: Shelf, text: str) -> None:
    shelf.add({"near": "The office cat sleeps.", "east": "別の話をする。"})
    of = shelf.by_meaning_too(min_similarity=0.01)
    assert of.space
    of.space = SearchSpace(of.space.vectors, encode_by_language(StaticEncoder.open().encode))
    assert ids(find(of, text, mode="semantic")) == []


def begin_search(shelf: Shelf, space: SearchSpace, text: str = ASKED.text, scope: Filter | None = None) -> Semantic:
    """A channel whose search for a text goes on in a thread of its own."""
    of = Semantic(space, shelf.store, 0.0)
    of.begin(text, scope or Filter(), 10, ENOUGH)
    return of


@pytest.mark.parametrize("text", [ASKED.text, "a text that the query turns out not to mean"])
def test_what_was_begun_beside_other_work_finds_the_same(shelf: Shelf, space: SearchSpace, text: str) -> None:
    of = begin_search(shelf, space, text)
    assert cosines_of(shelf, of) == cosines_of(shelf, Semantic(space, shelf.store, 0.0))
    of.end()


def test_it_is_begun_once_for_a_text_and_anew_for_another(
    shelf: Shelf, space: SearchSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[object] = []
    start = _thread.start_new_thread

    def count(run: Callable[..., object], given: tuple[object]) -> int:
        threads.append(given)
        return start(run, given)

    monkeypatch.setattr(_thread, "start_new_thread", count)
    of = begin_search(shelf, space)
    for text in (ASKED.text, "another", "another"):
        of.begin(text, Filter(), 10, ENOUGH)
    of.end()
    assert len(threads) == 2


def test_a_narrow_scope_is_not_searched_in_a_thread(shelf: Shelf, space: SearchSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: pytest.fail("the store is read by two threads"))
    of = begin_search(shelf, space, scope=Filter(tags=("blue",)))
    assert cosines_of(shelf, of, Filter(tags=("blue",))) == {}


def test_without_a_thread_to_be_had_it_is_searched_at_once(
    shelf: Shelf, space: SearchSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert list(cosines_of(shelf, begin_search(shelf, space))) == [*PLACES]


def test_what_fails_in_the_thread_fails_where_it_is_wanted(shelf: Shelf, space: SearchSpace) -> None:
    space.vectors._execute("DROP TABLE codes")
    of = begin_search(shelf, space)
    with pytest.raises(StoreError):
        of.search(ASKED, Filter(), 10, ENOUGH)
    of.end()


def test_a_thread_ends_at_the_deadline(shelf: Shelf, space: SearchSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_reader, "_STEPS", 1)
    of = Semantic(space, shelf.store, 0.0)
    of.begin(ASKED.text, Filter(), 10, Held(has_passed=True))
    with pytest.raises(StoreError):
        of.search(ASKED, Filter(), 10, ENOUGH)


def test_the_interpreter_switches_as_before_when_it_has_ended(shelf: Shelf, space: SearchSpace) -> None:
    usual = recall_vectors._USUAL_SECONDS
    of = begin_search(shelf, space)
    assert sys.getswitchinterval() < usual
    of.end()
    of.end()
    assert sys.getswitchinterval() == usual
    assert list(cosines_of(shelf, of)) == [*PLACES]
