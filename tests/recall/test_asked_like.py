"""The questions of a memory in recall: the best of them counts, beside the memory's own words."""

import pytest

from subcog_hooks.recall import query, words
from subcog_hooks.recall.asked_like import Likeness, most_like
from subcog_hooks.recall.candidates import HYBRID
from subcog_hooks.recall.hits import LEXICAL, QUESTIONS
from subcog_hooks.recall.logit import LEARNED_LIKE, LIKE, LIKE_WEIGHT
from subcog_hooks.recall.relevance import NAMES
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import LEARNED, MODEL, AnsweredQuestion
from subcog_hooks.store.store import Filter
from tests.recall.shelf import ENOUGH, Shelf, find, first, handed, ids, memory


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
    ranked = words.AskedLike(index).search(query.analyse(text, index), Filter(), 10, ENOUGH)
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


# ---- evidence -------------------------------------------------------------------------------------------------------------


def likeness(index: LexicalIndex, text: str, *questions: str, cosines: dict[int, float] | None = None) -> Likeness:
    return most_like(text, asked(*questions), cosines or {}, index.analysers)


def test_the_share_is_of_the_questions_words_by_their_stems(index: LexicalIndex) -> None:
    found = likeness(index, "please tell me how visitors were signing in", "how do visitors sign in to the website")
    assert (found.share, found.cosine, found.value) == (2 / 3, None, 2 / 3)


def test_of_several_questions_the_likest_is_told(index: LexicalIndex) -> None:
    found = likeness(index, "sign in", "who counts visitors", "sign in", "sign in again")
    assert (found.question, found.share) == ("sign in", 1.0)
    nearer = likeness(index, "xyzzy", "who counts visitors", "which gate", cosines={0: 0.2, 1: 0.9})
    assert (nearer.question, nearer.value) == ("which gate", 0.45)


def test_a_question_of_function_words_and_one_without_spaces_can_be_asked(index: LexicalIndex) -> None:
    assert likeness(index, "what is it", "what is it").share == 1.0
    assert likeness(index, "ログインは何ですか", "ログイン").share == 1.0
    assert likeness(index, "anything", "?").share == 0.0


def test_a_query_like_a_question_is_evidence_with_a_term_of_its_own(shelf: Shelf) -> None:
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    shelf.fill()
    sources = shelf.by_meaning_too()
    like = first(handed(sources, "Which handshake replaced the passwords?"))
    assert (like.memory.id, like.asked_like) == ("pkce", "which handshake replaced passwords")
    ((_, value, adds),) = [term for term in like.terms if term[0] == "asked_like"]
    assert value > LIKE
    assert adds == pytest.approx(LIKE_WEIGHT * (value - LIKE), abs=1e-3)
    assert like.relevance > 0.8
    assert "asked_like" in NAMES


def test_what_only_its_question_brought_is_held_back_by_what_the_question_lacks(shelf: Shelf) -> None:
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    shelf.fill()
    unlike = first(handed(shelf.by_meaning_too(), "How many passwords does the database server allow for each connection?"))
    assert unlike.asked_like is None
    assert [adds < 0.0 for name, _, adds in unlike.terms if name == "asked_like"] == [True]


def test_a_question_that_nobody_asks_takes_nothing_from_the_text(shelf: Shelf) -> None:
    shelf.add(
        None, memory(PKCE, id="with", questions=asked("who counts the visitors of the museum")), memory(PKCE, id="without")
    )
    shelf.fill()
    hits = {hit.memory.id: hit for hit in handed(shelf.by_meaning_too(), "Why was the implicit flow of OAuth2 dropped?").hits}
    assert hits["with"].relevance == hits["without"].relevance
    assert hits["with"].terms == hits["without"].terms


def test_without_meaning_the_words_of_the_question_are_the_evidence(shelf: Shelf) -> None:
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    shelf.fill()
    like = first(handed(shelf.by_words(), "Which handshake replaced the passwords?"))
    assert [(value, round(adds, 3)) for name, value, adds in like.terms if name == "asked_like"] == [(1.0, 4.4)]


def test_a_memory_that_the_index_has_not_reached_is_found_by_its_question(shelf: Shelf) -> None:
    shelf.fill()
    sources = shelf.by_words()
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    assert first(handed(sources, "Which handshake replaced the passwords?")).asked_like == "which handshake replaced passwords"


def test_a_question_in_another_language_is_alike_whatever_the_endings(notes: LexicalIndex) -> None:
    like = most_like(
        "Wie werden die Buchungen der Gäste abgelehnt?",
        asked("Wie lehnen wir die Buchung eines Gastes ab?"),
        {},
        notes.analysers,
    )
    assert like.share >= 0.5
    assert (
        most_like(
            "Wie wird das Boot der Crew abgelehnt?", asked("Wie lehnen wir die Buchung eines Gastes ab?"), {}, notes.analysers
        ).share
        == 0.0
    )


def test_a_word_of_another_language_finds_its_other_forms(shelf: Shelf) -> None:
    shelf.add(
        {"paid": "Die Überweisungen der Gäste sind vorab zu zahlen und werden nicht erstattet.", "pier": "The pier is closed."}
    )
    shelf.fill()
    terms = {term.whole: term for term in query.analyse("Wie wird eine Überweisung erstattet?", shelf.index()).terms}
    assert terms["uberweisung"].known
    assert "eine" not in terms


def test_a_question_that_was_learned_needs_less_likeness(shelf: Shelf) -> None:
    question = "which handshake replaced passwords"
    for by in (MODEL, LEARNED):
        shelf.add(None, memory(f"{PKCE} ({by})", id=by, questions=(AnsweredQuestion(question, by),)))
    shelf.fill()
    answer = handed(shelf.by_words(), "What is it with the handshake and the passwords of 1999?")
    hits = {hit.memory.id: hit for hit in answer.hits}
    adds = {by: {name: (value, adds) for name, value, adds in hit.terms}["asked_like"] for by, hit in hits.items()}
    assert adds[MODEL][0] == adds[LEARNED][0]
    assert adds[LEARNED][1] - adds[MODEL][1] == pytest.approx(LIKE_WEIGHT * (LIKE - LEARNED_LIKE), abs=1e-3)
    assert hits[LEARNED].relevance > hits[MODEL].relevance
