"""Words and meaning together: their candidates, the answer when one side fails, and the modes."""

from collections.abc import Callable

import apsw
import pytest

from subcog_hooks.core.errors import ModelError
from subcog_hooks.recall import candidates, words
from subcog_hooks.recall.candidates import HYBRID, Sources
from subcog_hooks.recall.hits import HIGH, LABELS, LEXICAL, LOW, MEDIUM, SEMANTIC, VERY_HIGH
from subcog_hooks.recall.vectors import SearchSpace
from subcog_hooks.store.index import IndexUnusable, LexicalIndex
from tests.recall.shelf import Held, Shelf, candidates_for, find, first, ids, memory, recall_for

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


# ---- what each side brings ------------------------------------------------------------------------------------------------


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


# ---- when a channel fails -------------------------------------------------------------------------------------------------


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
        assert answer.confidence in (MEDIUM, LOW)
    answer = recall_for(of, QUESTION)  # the hook's
    assert (ids(answer)[0], answer.is_degraded) == ("port", True)


def test_a_failure_caps_what_two_strategies_agree_on_at_medium(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({}, memory(NOTES["port"], id="port", tags=("rathole",)))
    of = shelf.with_cosines({"port": 0.9}, tags=0.1)
    assert find(of, QUESTION).confidence in (VERY_HIGH, HIGH)
    broken_encoder(of)
    answer = find(of, QUESTION)
    assert (answer.strategies, first(answer).agreement, answer.confidence) == ((LEXICAL, LABELS), 1.0, MEDIUM)


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


# ---- agreement and completeness -------------------------------------------------------------------------------------------


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


def test_a_net_sets_the_lexical_channels_and_the_min_cosine(shelf: Shelf) -> None:
    shelf.add(NOTES)
    of = shelf.with_cosines({"cat": 0.2}, min_similarity=0.25)
    wide = candidates.Strictness(0.5, (words.Beginnings,))
    hits = {hit.memory.id: hit.found_by for hit in find(of, "tunneling", strictness=wide).hits}
    assert hits == {"port": ("lexical_beginnings",), "cat": (SEMANTIC,)}
