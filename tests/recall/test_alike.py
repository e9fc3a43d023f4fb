"""The questions of a memory in recall: the best of them counts, beside the memory's own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.verdicts.verdict_view import MEANINGS
from subcog_hooks.recall import alike, query, words
from subcog_hooks.recall.alike import Likeness, most_alike_question
from subcog_hooks.recall.hits import LEXICAL, QUESTIONS, Answer
from subcog_hooks.recall.logit import LEARNED_LIKE, LIKE, LIKE_WEIGHT
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import LEARNED, MODEL, AnsweredQuestion
from subcog_hooks.store.store_reader import Filter, Mark
from tests.recall.shelf import ENOUGH, Shelf, find, first, ids, memory, recall_for


def questions_of(*questions: str) -> tuple[AnsweredQuestion, ...]:
    return tuple(map(AnsweredQuestion, questions))


PKCE = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped."


LOGIN = questions_of("how do visitors sign in to the website", "which handshake replaced passwords", "ブラウザでのログイン")


@pytest.fixture
def notes(shelf: Shelf) -> LexicalIndex:
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    shelf.add({"visitors": "Visitors of the museum are counted at the gate.", "plain": "Nothing of the kind."})
    return shelf.fill().index()


def scores_of(index: LexicalIndex, text: str) -> dict[int, float]:
    ranked = words.AskedLike(index).search(query.analyse_query(text, index), Filter(), 10, ENOUGH)
    return {seq: score for score, seq in ranked}


def test_the_words_of_a_question_find_its_memory(notes: LexicalIndex, shelf: Shelf) -> None:
    (seq,) = scores_of(notes, "visitors signing in")
    assert shelf.store.by_seqs([seq])[seq].id == "pkce"
    assert scores_of(notes, "implicit flow") == {}
    assert len(scores_of(notes, "ログイン")) == 1  # in a script without spaces, too


def test_the_best_question_counts_and_not_all_of_them_together(notes: LexicalIndex) -> None:
    (first_one,) = scores_of(notes, "visitors website").values()
    (second_one,) = scores_of(notes, "handshake").values()
    (spread_over_two,) = scores_of(notes, "visitors website handshake").values()
    assert spread_over_two == pytest.approx(max(first_one, second_one), abs=1e-4)


def test_a_search_finds_by_a_question_and_says_so(shelf: Shelf, notes: LexicalIndex) -> None:
    assert notes.max_questions == 3
    of = shelf.by_words()
    hit = first(find(of, "which handshake replaced passwords?"))
    assert (hit.memory.id, hit.found_by) == ("pkce", (QUESTIONS,))
    answer = find(of, "implicit flow SPA visitors website")
    assert answer.strategies == (LEXICAL,)
    assert first(answer).ranks.keys() == {"lexical_relaxed", QUESTIONS}


def likeness(index: LexicalIndex, text: str, *questions: str, cosines: dict[int, float] | None = None) -> Likeness:
    return most_alike_question(text, questions_of(*questions), cosines or {}, index.analysers)


def test_the_share_is_of_the_questions_words_by_their_stems(index: LexicalIndex) -> None:
    german = "Wie lehnen wir die Buchung eines Gastes ab?"
    cases = [
        ("please tell me how visitors were signing in", "how do visitors sign in to the website", 2 / 3),
        ("what is it", "what is it", 1.0),
        ("ログインは何ですか", "ログイン", 1.0),
        ("anything", "?", 0.0),
        ("Wie werden die Buchungen der Gäste abgelehnt?", german, 0.5),
        ("Wie wird das Boot der Crew abgelehnt?", german, 0.0),
    ]
    found = [likeness(index, text, question) for text, question, _ in cases]
    assert [likest.value for likest in found] == pytest.approx([share for *_, share in cases])


def test_of_several_questions_the_likest_is_told(index: LexicalIndex) -> None:
    likest = likeness(index, "sign in", "who counts visitors", "sign in", "sign in again")
    assert (likest.question, likest.value) == ("sign in", 1.0)
    nearer = likeness(index, "xyzzy", "who counts visitors", "which gate", cosines={0: 0.2, 1: 0.9})
    assert (nearer.question, nearer.value) == ("which gate", 0.45)


def test_a_query_like_a_question_has_a_term_of_its_own(shelf: Shelf) -> None:
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    sources = shelf.fill().by_meaning_too()
    like = first(recall_for(sources, "Which handshake replaced the passwords?"))
    assert (like.memory.id, like.asked_like) == ("pkce", "which handshake replaced passwords")
    ((_, value, adds),) = [term for term in like.terms if term[0] == "asked_like"]
    assert value > LIKE
    assert adds == pytest.approx(LIKE_WEIGHT * (value - LIKE), abs=1e-3)
    assert like.relevance > 0.8
    assert "asked_like" in MEANINGS
    unlike = first(recall_for(sources, "How many passwords does the database server allow for each connection?"))
    assert unlike.asked_like is None
    assert [adds < 0.0 for name, _, adds in unlike.terms if name == "asked_like"] == [True]


def test_a_question_that_nobody_asks_takes_nothing_from_the_text(shelf: Shelf) -> None:
    shelf.add(
        None,
        memory(PKCE, id="with", questions=questions_of("who counts the visitors of the museum")),
        memory(PKCE, id="without"),
    )
    shelf.fill()
    hits = {
        hit.memory.id: hit for hit in recall_for(shelf.by_meaning_too(), "Why was the implicit flow of OAuth2 dropped?").hits
    }
    assert hits["with"].relevance == hits["without"].relevance
    assert hits["with"].terms == hits["without"].terms


def test_without_meaning_or_index_questions_count_by_words(shelf: Shelf) -> None:
    before = shelf.fill().by_words()
    shelf.add(None, memory(PKCE, id="pkce", questions=LOGIN))
    for of in (before, shelf.by_words()):
        like = first(recall_for(of, "Which handshake replaced the passwords?"))
        assert like.asked_like == "which handshake replaced passwords"
        assert [(value, round(adds, 3)) for name, value, adds in like.terms if name == "asked_like"] == [(1.0, 4.4)]


def test_a_question_that_was_learned_needs_less_likeness(shelf: Shelf) -> None:
    question = "which handshake replaced passwords"
    for by in (MODEL, LEARNED):
        shelf.add(None, memory(f"{PKCE} ({by})", id=by, questions=(AnsweredQuestion(question, by),)))
    answer = recall_for(shelf.fill().by_words(), "What is it with the handshake and the passwords of 1999?")
    hits = {hit.memory.id: hit for hit in answer.hits}
    adds = {by: {name: (value, adds) for name, value, adds in hit.terms}["asked_like"] for by, hit in hits.items()}
    assert adds[MODEL][0] == adds[LEARNED][0]
    assert adds[LEARNED][1] - adds[MODEL][1] == pytest.approx(LIKE_WEIGHT * (LIKE - LEARNED_LIKE), abs=1e-3)
    assert hits[LEARNED].relevance > hits[MODEL].relevance


KEYS = "The signing keys of the release service are rotated every quarter by hand."


PROMPT = "How do we rotate the signing keys?"


PARAPHRASE = "What is the procedure for rotating our signing keys?"


OTHER = "Who gets the release service's invoices every quarter?"


TERMS = st.dictionaries(st.text(max_size=8), st.floats(0.0, 1.5), max_size=24)


@pytest.fixture
def marked_shelf(shelf: Shelf) -> Shelf:
    """KEYS, called wrong for PROMPT, among other memories."""
    shelf.fill()
    shelf.add({"keys": KEYS, "cookie": "The session cookie is renewed every hour."})
    mark(shelf, "keys", PROMPT)
    return shelf


def mark(shelf: Shelf, id_: str, prompt: str) -> None:
    asked = alike.prompt_terms(prompt, shelf.index())
    shelf.store.mark(Mark(shelf.store.get(id_).seq, f"of {prompt}", alike.terms_to_text(asked), 1))


def relevance(answer: Answer, id_: str) -> float:
    return next(hit.relevance for hit in answer.hits if hit.memory.id == id_)


def test_for_the_prompt_itself_it_is_not_relevant_at_all(marked_shelf: Shelf) -> None:
    for prompt in (PROMPT, "  the SIGNING keys - how do we rotate them?"):
        answer = recall_for(marked_shelf.by_words(), prompt)
        assert relevance(answer, "keys") == 0.0
        assert ids(answer)[-1] == "keys"
        assert (answer.hits[-1].marked, answer.hits[-1].probability > 0.25) == (0.0, True)


def test_for_a_paraphrase_it_counts_less_and_all_else_as_ever(marked_shelf: Shelf) -> None:
    marked_shelf.add({"ring": "The key ring is rotated with the signing keys of the release service."})

    def relevances(prompt: str) -> dict[str, float]:
        return {hit.memory.id: hit.relevance for hit in recall_for(marked_shelf.by_words(), prompt).hits}

    paraphrase, other = relevances(PARAPHRASE), relevances(OTHER)
    marked_shelf.store.unmark(marked_shelf.store.get("keys").seq, [f"of {PROMPT}"])
    usual = relevances(PARAPHRASE)
    assert 0.0 <= paraphrase.pop("keys") < usual.pop("keys") / 2
    assert (paraphrase, other) == (usual, relevances(OTHER))


def test_the_nearest_of_several_marks_decides(marked_shelf: Shelf) -> None:
    before = relevance(recall_for(marked_shelf.by_words(), PARAPHRASE), "keys")
    mark(marked_shelf, "keys", OTHER)
    assert relevance(recall_for(marked_shelf.by_words(), PARAPHRASE), "keys") == before
    mark(marked_shelf, "keys", PARAPHRASE)
    assert relevance(recall_for(marked_shelf.by_words(), PARAPHRASE), "keys") == 0.0


def test_added_topics_leave_a_prompt_similar(marked_shelf: Shelf) -> None:
    text = f"{PROMPT}\nsigstore cosign transparency log"
    assert relevance(recall_for(marked_shelf.by_words(), text, prompt=PROMPT), "keys") == 0.0


@given(TERMS, TERMS)
def test_an_overlap_is_a_share_symmetric_and_whole_for_equals(asked: dict[str, float], marked: dict[str, float]) -> None:
    shared = alike.terms_overlap(asked, marked)
    assert 0.0 <= shared <= 1.0 + 1e-9
    assert shared == alike.terms_overlap(marked, asked)
    assert alike.terms_overlap(asked, asked) == (1.0 if sum(asked.values()) else 0.0)
    assert alike.terms_overlap(asked, {f"not {name}": 1.0 for name in asked if f"not {name}" not in asked}) == 0.0
    assert alike.terms_from_text(alike.terms_to_text(asked)) == asked


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_remaining_share_falls_with_the_overlap(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert 0.0 <= alike.remaining_share(high) <= alike.remaining_share(low) <= 1.0
    assert alike.remaining_share(0.0) == 1.0
    assert alike.remaining_share(1.0) == 0.0


@given(st.one_of(st.text(), st.sampled_from(["[]", "3", "null", '{"a": "b"}', '{"a": null}', '{"a": true}', "{", ""])))
def test_whatever_a_mark_holds_reading_it_never_fails(text: str) -> None:
    assert all(isinstance(weight, float) for weight in alike.terms_from_text(text).values())
