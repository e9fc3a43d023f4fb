"""The questions of a memory in recall: the best of them counts, beside the memory's own words."""

import pytest

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.questions import AnsweredQuestion
from subcog_hooks.memory.store import Filter
from subcog_hooks.recall import lexical, query
from subcog_hooks.recall.candidates import HYBRID
from subcog_hooks.recall.hits import LEXICAL, QUESTIONS
from tests.recall.shelf import ENOUGH, Shelf, find, first, ids, memory


def asked(*questions: str) -> tuple[AnsweredQuestion, ...]:
    return tuple(map(AnsweredQuestion, questions))


PKCE = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped."
LOGIN = asked("how do visitors sign in to the website", "which handshake replaced passwords", "ブラウザでのログイン")


@pytest.fixture
def notes(shelf: Shelf) -> LexicalIndex:
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    shelf.add({"visitors": "Visitors of the museum are counted at the gate.", "plain": "Nothing of the kind."})
    shelf.fill()
    return shelf.index()


def scored(index: LexicalIndex, text: str) -> dict[int, float]:
    ranked = lexical.AskedLike(index).search(query.analyse(text, index), Filter(), 10, ENOUGH)
    return {seq: score for score, seq in ranked}


def test_the_words_of_a_question_find_its_memory(notes: LexicalIndex, shelf: Shelf) -> None:
    (found,) = scored(notes, "visitors signing in")
    assert shelf.store.by_seqs([found])[found].id == "pkce"
    assert scored(notes, "implicit flow") == {}


def test_the_best_question_counts_and_not_all_of_them_together(notes: LexicalIndex) -> None:
    (first_one,) = scored(notes, "visitors website").values()
    (second_one,) = scored(notes, "handshake").values()
    (spread_over_two,) = scored(notes, "visitors website handshake").values()
    assert spread_over_two == pytest.approx(max(first_one, second_one), abs=1e-4)


def test_a_script_without_spaces_finds_it_too(notes: LexicalIndex) -> None:
    assert len(scored(notes, "ログイン")) == 1


def test_a_search_finds_by_a_question_and_says_so(shelf: Shelf, notes: LexicalIndex) -> None:
    assert notes.most_questions == 3
    hit = first(find(shelf.by_words(), "which handshake replaced passwords?", mode=HYBRID))
    assert (hit.memory.id, hit.found_by) == ("pkce", (QUESTIONS,))


def test_where_no_memory_has_questions_nothing_is_searched_for_them(shelf: Shelf) -> None:
    shelf.add({"a": PKCE})
    sources = shelf.by_words()
    assert sources.index.most_questions == 0
    hit = first(find(sources, "implicit flow"))
    assert QUESTIONS not in hit.ranks
    assert set(hit.ranks) <= {"lexical_exact", "lexical_relaxed"}


def test_a_word_that_only_questions_have_is_known_and_no_misspelling(shelf: Shelf) -> None:
    shelf.add({"a": "The handshakes are counted."}, memory(PKCE, id="pkce", questions=asked("which handsheke replaced it")))
    answer = find(shelf.by_words(), "handsheke", is_typed=True)
    assert ids(answer) == ["pkce"]


@pytest.mark.parametrize("change", [{"status": "superseded"}, {"status": "deleted"}, {"questions": ()}])
def test_they_go_with_their_memory(shelf: Shelf, notes: LexicalIndex, change: dict[str, object]) -> None:
    assert notes.most_questions == 3
    shelf.store.update([shelf.store.get("pkce").replaced(**change)])
    assert "pkce" not in ids(find(shelf.by_words(), "which handshake replaced passwords?"))


def test_words_of_text_and_question_are_one_strategy(shelf: Shelf) -> None:
    shelf.add(None, memory(PKCE, id="pkce", questions=asked("implicit flow of the SPA")))
    shelf.fill()
    answer = find(shelf.by_words(), "implicit flow SPA")
    assert answer.strategies == (LEXICAL,)
    assert QUESTIONS in first(answer).ranks
