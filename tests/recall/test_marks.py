"""Marks: a memory that was called wrong for a prompt counts less for prompts like it, and for no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import alike
from subcog_hooks.recall.hits import Answer
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store_reader import Mark
from tests.recall.shelf import Shelf, ids, recall_for

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


def test_terms_have_whole_identifiers_and_cjk_bigrams(index: LexicalIndex) -> None:
    assert set(alike.prompt_terms("Why does parse_args refuse 認証サーバー?", index)) >= {"parse_args", "refus", "認証"}


def test_as_much_of_a_prompt_is_read_as_a_verdict_keeps(index: LexicalIndex) -> None:
    long = "Where does zebra go? " + "so it goes on " * 500
    assert alike.prompt_terms(long, index) == alike.prompt_terms(long[: alike.MAX_PROMPT], index)


@given(TERMS, TERMS)
def test_an_overlap_is_a_share_symmetric_and_whole_for_equals(asked: dict[str, float], marked: dict[str, float]) -> None:
    shared = alike.terms_overlap(asked, marked)
    assert 0.0 <= shared <= 1.0 + 1e-9
    assert shared == alike.terms_overlap(marked, asked)
    assert alike.terms_overlap(asked, asked) == (1.0 if sum(asked.values()) else 0.0)
    assert alike.terms_overlap(asked, {f"not {name}": 1.0 for name in asked if f"not {name}" not in asked}) == 0.0
    assert alike.terms_from_text(alike.terms_to_text(asked)) == asked


@given(TERMS, TERMS, st.text(max_size=8), st.floats(0.01, 1.5))
def test_common_terms_raise_the_overlap_and_others_lower_it(
    asked: dict[str, float], marked_shelf: dict[str, float], name: str, weight: float
) -> None:
    if name in asked or name in marked_shelf:
        return
    before = alike.terms_overlap(asked, marked_shelf)
    assert alike.terms_overlap({**asked, name: weight}, {**marked_shelf, name: weight}) >= before - 1e-9
    assert alike.terms_overlap({**asked, name: weight}, marked_shelf) <= before + 1e-9


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_remaining_share_falls_with_the_overlap(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert 0.0 <= alike.remaining_share(high) <= alike.remaining_share(low) <= 1.0
    assert alike.remaining_share(0.0) == 1.0
    assert alike.remaining_share(1.0) == 0.0


@given(st.one_of(st.text(), st.sampled_from(["[]", "3", "null", '{"a": "b"}', '{"a": null}', '{"a": true}', "{", ""])))
def test_whatever_a_mark_holds_reading_it_never_fails(text: str) -> None:
    assert all(isinstance(weight, float) for weight in alike.terms_from_text(text).values())
