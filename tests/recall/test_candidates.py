"""Words and meaning together: their candidates, the answer when one side fails, and the modes."""

import _thread
from collections.abc import Callable

import apsw
import pytest

from subcog_hooks.cli.results import confidence_of
from subcog_hooks.core.errors import ModelError, StoreError
from subcog_hooks.embed.static_encoder import StaticEncoder, encode_by_language
from subcog_hooks.recall import candidates
from subcog_hooks.recall.candidates import HYBRID, Sources
from subcog_hooks.recall.hits import HIGH, LABELS, LEXICAL, LOW, MEDIUM, SEMANTIC, VERY_HIGH
from subcog_hooks.recall.query import Query
from subcog_hooks.recall.vectors import SearchSpace, Semantic
from subcog_hooks.store import vector_reader
from subcog_hooks.store.index import IndexUnusable, LexicalIndex
from subcog_hooks.store.store_reader import Filter
from tests.recall.shelf import ENOUGH, QUERY, Held, Shelf, candidates_for, find, first, ids, memory, recall_for

EXACT, RELAXED = "lexical_exact", "lexical_relaxed"


NOTES = {
    "cat": "The office cat sleeps on the warm server rack in winter.",
    "pool": "Database connections are recycled after 30 seconds because the load balancer drops idle sockets.",
    "bill": "Invoices are rounded to whole cents per line, never on the total.",
    "port": "The rathole tunnel listens on port 2333.",
}


PARAPHRASE = "Where do kittens nap during cold months?"  # has no word of "cat"


QUESTION = "which port does the rathole tunnel listen on"


@pytest.fixture
def of(shelf: Shelf) -> Sources:
    """Sources with NOTES, like the hook's."""
    shelf.add(NOTES)
    return shelf.by_meaning_too()


@pytest.mark.parametrize("mode", [HYBRID, SEMANTIC])
def test_a_memory_is_found_by_meaning_though_it_shares_no_word(of: Sources, mode: str) -> None:
    hit = first(find(of, PARAPHRASE, mode=mode))
    assert (hit.memory.id, hit.found_by, hit.ranks) == ("cat", (SEMANTIC,), {SEMANTIC: 1})
    assert list(hit.scores) == [SEMANTIC]
    assert find(of, PARAPHRASE, mode=LEXICAL).hits == []


@pytest.mark.parametrize(
    ("mode", "channels", "strategies"),
    [
        (HYBRID, (EXACT, RELAXED, SEMANTIC), (LEXICAL, SEMANTIC)),
        (LEXICAL, (EXACT, RELAXED), (LEXICAL,)),
        (SEMANTIC, (SEMANTIC,), (SEMANTIC,)),
    ],
)
def test_a_mode_names_the_channels_that_run(
    of: Sources, mode: str, channels: tuple[str, ...], strategies: tuple[str, ...]
) -> None:
    answer = find(of, "the rathole tunnel listens on port 2333", mode=mode)
    assert (answer.strategies, answer.note, answer.is_degraded) == (strategies, None, False)
    hit = first(answer)
    assert (hit.memory.id, hit.found_by) == ("port", channels)
    assert set(hit.scores) == set(channels)


@pytest.mark.parametrize(
    ("alpha", "strategies"),
    [(0.0, (LEXICAL,)), (1.0, (SEMANTIC,)), (0.5, (LEXICAL, SEMANTIC)), ("adaptive", (LEXICAL, SEMANTIC))],
)
def test_a_share_of_everything_leaves_the_other_side_out(shelf: Shelf, alpha: float | str, strategies: tuple[str, ...]) -> None:
    shelf.add(NOTES)
    assert find(shelf.with_cosines({"cat": 0.9}, alpha=alpha), QUESTION).strategies == strategies


def test_the_cosine_of_a_lexical_hit_is_looked_up_at_any_rank(shelf: Shelf) -> None:
    shelf.add(NOTES)
    hit = first(find(shelf.with_cosines({"bill": 0.1}), "cents per line"))
    assert (hit.memory.id, hit.found_by) == ("bill", (EXACT, RELAXED))
    assert hit.scores[SEMANTIC] == pytest.approx(0.1, abs=0.01)


def test_the_floor_decides_what_is_near(shelf: Shelf) -> None:
    shelf.add(NOTES)
    of = shelf.with_cosines({"cat": 0.2, "pool": 0.1}, min_similarity=0.25)
    for mode in (HYBRID, SEMANTIC):
        assert find(of, "quantum chromodynamics", mode=mode).hits == []
    of = shelf.with_cosines({"cat": 0.2, "pool": 0.1}, min_similarity=0.15)
    assert ids(find(of, "quantum chromodynamics")) == ["cat"]


def test_a_channel_gives_a_rank_to_what_it_has_listed_only(shelf: Shelf) -> None:
    shelf.add(NOTES)
    candidates = candidates_for(
        shelf.with_cosines({"cat": 0.3, "port": 0.9}, semantic_depth=1, lexical_depth=1), "the cat sleeps on the rack"
    )
    hits = {row.id: candidates.hit(row) for row in shelf.store.by_seqs(list(candidates)).values()}
    assert {name: hit.ranks for name, hit in hits.items()} == {"cat": {EXACT: 1, RELAXED: 1}, "port": {SEMANTIC: 1}}
    assert all(SEMANTIC in hit.scores for hit in hits.values())


def broken_encoder(of: Sources) -> None:
    def fail(text: str) -> bytes:
        raise ModelError("query-encoder.bin is damaged", "reinstall subcog")

    assert of.space
    of.space = SearchSpace(of.space.vectors, fail)


def lost_table(of: Sources) -> None:
    assert of.space
    connection = apsw.Connection(of.space.vectors.path)
    connection.execute("DROP TABLE codes")
    connection.close()


def another_dimension(of: Sources) -> None:
    assert of.space
    of.space = SearchSpace(of.space.vectors, lambda _: b"\1" * 32)


@pytest.mark.parametrize("failure", [broken_encoder, lost_table, another_dimension])
def test_when_meaning_fails_words_answer_and_it_is_said(of: Sources, failure: Callable[[Sources], None]) -> None:
    failure(of)
    for mode in (HYBRID, SEMANTIC):
        answer = find(of, QUESTION, mode=mode)
        assert answer.is_degraded
        assert (answer.note or "").startswith(f"{SEMANTIC}: ")
        assert (ids(answer)[0], answer.strategies) == ("port", (LEXICAL,))
        assert confidence_of(answer) in (MEDIUM, LOW)
    answer = recall_for(of, QUESTION)  # the hook's
    assert (ids(answer)[0], answer.is_degraded) == ("port", True)


def test_a_failure_caps_what_two_strategies_agree_on_at_medium(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({}, memory(NOTES["port"], id="port", tags=("rathole",)))
    of = shelf.with_cosines({"port": 0.9}, tags=0.1)
    assert confidence_of(find(of, QUESTION)) in (VERY_HIGH, HIGH)
    broken_encoder(of)
    answer = find(of, QUESTION)
    assert (answer.strategies, first(answer).agreement, confidence_of(answer)) == ((LEXICAL, LABELS), 1.0, MEDIUM)


def test_words_alone_or_a_lesser_space_say_what_was_missing(shelf: Shelf) -> None:
    shelf.add(NOTES)
    of = shelf.by_words()
    of.note = "there is no model"
    answer = find(of, "rathole")
    assert (ids(answer), answer.note, answer.is_degraded) == (["port"], "there is no model", True)
    by_words = find(of, "rathole", mode=LEXICAL)
    assert (by_words.note, by_words.is_degraded) == (None, False)
    of = shelf.with_cosines({"cat": 0.9})
    of.note = "the model big lacks model.onnx"
    assert "the model big lacks model.onnx" in (find(of, PARAPHRASE).note or "")


def test_without_time_words_answer_and_late_channels_are_named(of: Sources) -> None:
    answer = find(of, QUESTION, deadline=Held(has_passed=True))
    assert (ids(answer), first(answer).found_by, answer.is_degraded) == (["port"], (RELAXED,), True)
    assert answer.note == "; ".join(f"{name}: no time was left for it" for name in (EXACT, SEMANTIC))


@pytest.mark.parametrize("error", [IndexUnusable("the index is damaged"), ZeroDivisionError()])
def test_unusable_indexes_and_faults_in_code_are_for_the_caller(
    of: Sources, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> list[tuple[float, int]]:
        raise error

    monkeypatch.setattr(LexicalIndex, "search", fail)
    with pytest.raises(type(error)):
        find(of, QUESTION)


def test_a_text_with_nothing_to_embed_is_searched_by_its_words(shelf: Shelf) -> None:
    shelf.add({"east": "東京リージョンでは認証サーバーを二重化している。"})
    of = shelf.with_cosines({"east": 0.9})
    assert of.space
    of.space = SearchSpace(of.space.vectors, lambda _: b"")
    answer = find(of, "認証")
    assert (ids(answer), answer.note) == (["east"], None)
    assert find(of, "認証", mode=SEMANTIC).hits == []


def test_exact_and_relaxed_words_are_one_strategy(shelf: Shelf) -> None:
    shelf.add(NOTES)
    candidates = candidates_for(shelf.with_cosines({"port": 0.9, "cat": 0.8}), QUESTION)
    by_id = shelf.store.by_ids(list(NOTES))
    assert (EXACT in candidates.lists, RELAXED in candidates.lists) == (True, True)
    assert {name: candidates.agreement(by_id[name].seq) for name in ("port", "cat", "bill")} == {
        "port": 1.0,
        "cat": 0.5,
        "bill": 0.0,
    }


def test_strategies_agree_on_what_each_has_among_its_first(shelf: Shelf) -> None:
    shelf.add({f"m{i:02}": f"crane {'and berth ' * i}" for i in range(14)})
    candidates = candidates_for(shelf.with_cosines({f"m{i:02}": 0.9 - i / 100 for i in range(14)}), "crane")
    seqs = {name: row.seq for name, row in shelf.store.by_ids(["m00", "m04", "m05", "m13"]).items()}
    assert {name: candidates.agreement(seq) for name, seq in seqs.items()} == {"m00": 1.0, "m04": 1.0, "m05": 0.0, "m13": 0.0}
    assert candidates.lists[SEMANTIC][seqs["m13"]] == 14


@pytest.mark.parametrize(
    ("depths", "is_complete"),
    [
        ({"lexical_depth": 50, "semantic_depth": 50}, True),
        ({"lexical_depth": 5, "semantic_depth": 50}, False),
        ({"lexical_depth": 50, "semantic_depth": 5}, False),
    ],
)
def test_lists_are_complete_when_longer_lists_add_nothing(shelf: Shelf, depths: dict[str, int], is_complete: bool) -> None:
    shelf.add({f"m{i:02}": f"crane {i}" for i in range(20)})
    of = shelf.with_cosines({f"m{i:02}": 0.9 for i in range(20)}, **depths)
    assert candidates_for(of, "crane").is_complete is is_complete
    assert candidates_for(of, "crane", deeper=8).is_complete


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


def test_a_narrow_scope_is_not_searched_in_a_thread(shelf: Shelf, space: SearchSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_thread, "start_new_thread", lambda *_: pytest.fail("the store is read by two threads"))
    of = begin_search(shelf, space, scope=Filter(tags=("blue",)))
    assert cosines_of(shelf, of, Filter(tags=("blue",))) == {}


def test_a_thread_ends_at_the_deadline(shelf: Shelf, space: SearchSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_reader, "_STEPS", 1)
    of = Semantic(space, shelf.store, 0.0)
    of.begin(ASKED.text, Filter(), 10, Held(has_passed=True))
    with pytest.raises(StoreError):
        of.search(ASKED, Filter(), 10, ENOUGH)
