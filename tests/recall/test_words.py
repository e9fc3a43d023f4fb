"""The channels of words: their matches, the parts of a score, and ties at the cut."""

from collections.abc import Callable

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.recall import query
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.search import Beginnings, Pieces
from subcog_hooks.recall.words import ExactWords, Relaxed
from subcog_hooks.store import index_writer
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import ENOUGH, Shelf, memory

Kind = type[ExactWords] | type[Relaxed] | type[Beginnings] | type[Pieces]

NOTES = {
    "wal": "The write-ahead log is flushed before every commit.",
    "log": "Ahead of a release, write the change log.",
    "pump": "HttpClient pumps retries into the queue, see net/http_client.py.",
    "base": "Databases are configured by hand; schedulers are not.",
    "east": "東京リージョンでは認証サーバーを二重化している。",
}


@pytest.fixture
def notes(shelf: Shelf) -> LexicalIndex:
    shelf.add(NOTES)
    return shelf.fill().index()


@pytest.fixture
def find_ids(shelf: Shelf, notes: LexicalIndex) -> Callable[..., list[str]]:
    """The ids that a channel finds, best first."""

    def find_with(kind: Kind, text: str, k: int = 10) -> list[str]:
        ranked = kind(notes).search(query.analyse_query(text, notes), Filter(), k, ENOUGH)
        assert [score for score, _ in ranked] == sorted((score for score, _ in ranked), reverse=True)
        by_seq = shelf.store.by_seqs([seq for _, seq in ranked])
        return [by_seq[seq].id for _, seq in ranked]

    return find_with


def test_exact_finds_what_has_all_of_it(find_ids: Callable[..., list[str]], subtests: pytest.Subtests) -> None:
    cases = [
        ("flushed commit", ["wal"], "all terms"),
        ("flushing commits", ["wal"], "by their stems"),
        ("flushed queue", [], "each term is in another memory"),
        ("flushed chromodynamics", [], "a term that no memory has"),
        ("was the log flushed", ["wal"], "function words are not asked for"),
        ('"write ahead"', ["wal"], "a phrase in order"),
        ('"ahead write"', [], "the words are there, in another order"),
        ('"write ahead" "every commit"', ["wal"], "both phrases"),
        ('"write ahead" "change log"', [], "each phrase is in another memory"),
        ('"write ahead" chromodynamics', ["wal"], "beside a phrase words are not asked for"),
        ('"quantum chromodynamics"', [], "a phrase of words that no memory has"),
        ('"flushed"', ["wal"], "a phrase of one word"),
        ("HttpClient", ["pump"], "an identifier"),
        ("http_client.py", ["pump"], "the last part of a path"),
        ("認証サーバー", ["east"], "a script without spaces"),
        ("the of and", [], "words that no memory has, all of them function words"),
    ]
    for text, expected, why in cases:
        with subtests.test(text=text):
            assert find_ids(ExactWords, text) == expected, why


def test_of_a_prompt_nobody_expects_all_terms_in_one_memory(shelf: Shelf) -> None:
    words = [f"word{chr(97 + i)}" for i in range(9)]
    shelf.add({"all": " ".join(words)})
    assert [list(scores(shelf, " ".join(words[:count]), ExactWords)) for count in (8, 9)] == [["all"], []]


def test_relaxed_finds_what_has_any_of_it(find_ids: Callable[..., list[str]], subtests: pytest.Subtests) -> None:
    cases = [
        ("flushed queue", {"wal", "pump"}, "any term"),
        ("flushing chromodynamics", {"wal"}, "a term that no memory has is passed over"),
        ("release logs", {"log", "wal"}, "by stems"),
        ("client", {"pump"}, "a part of an identifier"),
        ("parse_client", {"pump"}, "a part of another identifier"),
        ("証", {"east"}, "a character inside"),
        ("before the chromodynamics", set(), "function words alone never find anything"),
        ("chromodynamics", set(), "nothing has it"),
    ]
    for text, expected, why in cases:
        with subtests.test(text=text):
            assert set(find_ids(Relaxed, text)) == expected, why


def test_beginnings_finds_words_with_another_ending(find_ids: Callable[..., list[str]]) -> None:
    cases = [
        ("configures", ["base"]),
        ("flusher", ["wal"]),
        ("releasing", ["log"]),
        ("configxy", ["base"]),  # five letters are enough for a beginning
        ("confixyz", ["base"]),
        ("confwxyz", []),  # three may be another ending
        ("con", ["base"]),
        ("co", []),  # too short for a beginning
        ("zonk", []),
        ("", []),
    ]
    assert [(text, actual) for text, expected in cases if (actual := find_ids(Beginnings, text)) != expected] == []


def test_pieces_finds_words_inside_words_and_misspelt_ones(find_ids: Callable[..., list[str]]) -> None:
    cases = [
        ("tabas", ["base"]),
        ("chedul", ["base"]),
        ("tab", ["base"]),
        ("ta", []),  # too short to be a piece
        ("comitt", []),  # two edits, and too short for that
        ("relaese", ["log"]),
        ("haxx", []),  # two letters off `hand`: too short for that
        ("zz", []),
        ("a.*", []),
        ("", []),
    ]
    assert [(text, actual) for text, expected in cases if (actual := find_ids(Pieces, text)) != expected] == []


@pytest.mark.parametrize("kind", [Beginnings, Pieces])
def test_of_a_long_query_a_few_words_are_looked_for_so(find_ids: Callable[..., list[str]], kind: Kind) -> None:
    many = [f"aaaa{chr(97 + i)}bbbb" for i in range(8)]  # before the other by the alphabet
    assert find_ids(kind, " ".join(["databa", *many[:7]])) == ["base"]
    assert find_ids(kind, " ".join(["databa", *many])) == []


def scores(shelf: Shelf, text: str, kind: Kind = Relaxed, k: int = 50) -> dict[str, float]:
    index = shelf.index()
    ranked = kind(index).search(query.analyse_query(text, index), Filter(), k, ENOUGH)
    by_seq = shelf.store.by_seqs([seq for _, seq in ranked])
    return {by_seq[seq].id: score for score, seq in ranked}


def test_all_words_in_a_long_memory_beat_one_repeated_word(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({"all": "the crane and the berth lie behind a long quay with " + "many other things " * 10, "other": "a crane"})
    shelf.add({"often": "crane crane crane crane"})
    of = scores(shelf, "crane berth")
    assert of["all"] > of["often"] > of["other"]


def test_a_tag_adds_less_to_a_score_than_the_word(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({"both": "the crane turns"}, tags=("crane",))
    shelf.add({"word": "the crane turns", "more": "a crane stands"})
    shelf.add({"tag": "the davit turns"}, tags=("crane",))
    of = scores(shelf, "crane")
    assert of["both"] > of["word"] > of["tag"] > 0.0


def test_a_whole_identifier_is_ahead_of_its_parts(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({"parts": "the timeout to parse the args", "whole": "parse_args is slow" + " on long lines" * 4})
    for text in ("parse_args timeout", "parse_args"):
        of = scores(shelf, text)
        assert of["whole"] > of["parts"]


@pytest.mark.parametrize("text", ["crane berth", "how does a crane berth"])
def test_each_known_word_once_gives_the_full_score(shelf: Shelf, text: str) -> None:
    shelf.add({f"m{i:02}": f"the gull at quay seven sees number {i}" for i in range(40)})  # each as long as the one below
    shelf.add({"all": "how crane at berth seven sees number 41"})
    of = scores(shelf, text)
    index = shelf.index()
    assert recall_words.full_score(index, query.analyse_query(text, index)) == pytest.approx(of["all"], rel=0.05)


def test_an_unknown_word_counts_a_quarter_of_the_rarest_word(shelf: Shelf) -> None:
    shelf.fill()
    shelf.add({"all": "crane at berth seven"})
    index = shelf.index()
    known_score, more = (
        recall_words.full_score(index, query.analyse_query(text, index))
        for text in ("crane berth", "crane berth chromodynamics")
    )
    assert more - known_score == pytest.approx(0.25 * index.rarity("body", "chromodynamics"))


def test_a_word_of_often_changed_memories_never_scores_negative(home: Home, shelf: Shelf) -> None:
    """tantivy counts replaced documents until they are merged away: more have the word than there are memories."""
    shelf.add({"still": "quiet water", **{f"m{i}": f"crane {i}" for i in range(6)}})
    index = index_writer.bring_up_to_date(home, shelf.store)
    for times in range(3):
        shelf.store.update(
            [
                row.with_changes(content=f"crane again {times}")
                for row in shelf.store.by_ids([f"m{i}" for i in range(6)]).values()
            ]
        )
        index = index_writer.bring_up_to_date(home, shelf.store)
    assert index.document_frequency("body", "crane") > index.documents == 7
    hits_and_full_score = query.analyse_query("crane", index)
    assert index.rarity("body", "crane") > 0.0
    assert recall_words.full_score(index, hits_and_full_score) > 0.0
    assert hits_and_full_score.terms[0].weight >= 0.0
    assert all(score > 0.0 for score, _ in Relaxed(index).search(hits_and_full_score, Filter(), 10, ENOUGH))


@pytest.mark.parametrize(("k", "fetched"), [(2, 5), (5, 5), (9, 35), (30, 35), (60, 35)])
def test_whatever_scores_as_the_last_one_is_fetched_too(shelf: Shelf, k: int, fetched: int) -> None:
    shelf.add({f"a{i:02}": "crane crane" for i in range(5)})
    shelf.add({f"b{i:02}": "crane and berth and quay" for i in range(30)})
    assert sorted(scores(shelf, "crane", k=k)) == sorted(scores(shelf, "crane"))[:fetched]


def test_only_what_is_in_scope_is_counted(shelf: Shelf) -> None:
    shelf.add({"mine": "crane", "also": "berth"}, project="shop")
    shelf.add({"theirs": "crane"}, project="blog")
    shelf.add({}, memory("crane", status="archived"), memory("crane", tags=("Blue",), namespace="decisions"))
    index = shelf.index()
    assert recall_words.count_memories(index, Filter()) == 4
    assert recall_words.count_memories(index, Filter(audiences=audiences_of("shop"))) == 3
    assert recall_words.count_memories(index, Filter(statuses=())) == 5
    assert recall_words.count_memories(index, Filter(tags=("blue",), namespaces=("decisions",))) == 1


def test_a_filter_has_no_say_in_a_score(shelf: Shelf) -> None:
    shelf.add({"mine": "crane and berth"}, project="shop", namespace="decisions", created_at=9_000)
    index = shelf.fill().index()
    narrow = Filter(audiences=audiences_of("shop"), namespaces=("decisions",), since=5_000)
    asked = query.analyse_query("crane", index)
    assert Relaxed(index).search(asked, narrow, 5, ENOUGH) == Relaxed(index).search(asked, Filter(), 5, ENOUGH)
