"""Marks: a memory that was called wrong for a prompt counts less for prompts like it, and for no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import marks
from subcog_hooks.recall.hits import Answer
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store import Mark
from tests.recall.shelf import Shelf, handed, ids

KEYS = "The signing keys of the release service are rotated every quarter by hand."
PROMPT = "How do we rotate the signing keys?"
PARAPHRASE = "What is the procedure for rotating our signing keys?"
OTHER = "Who gets the release service's invoices every quarter?"

TERMS = st.dictionaries(st.text(max_size=8), st.floats(0.0, 1.5), max_size=24)


@pytest.fixture
def marked(shelf: Shelf) -> Shelf:
    """KEYS, called wrong for PROMPT, among other memories."""
    shelf.fill()
    shelf.add({"keys": KEYS, "cookie": "The session cookie is renewed every hour."})
    mark(shelf, "keys", PROMPT)
    return shelf


def mark(shelf: Shelf, id_: str, prompt: str) -> None:
    asked = marks.terms(prompt, shelf.index())
    shelf.store.mark(Mark(shelf.store.get(id_).seq, f"of {prompt}", marks.to_text(asked), 1))


def relevance(answer: Answer, id_: str) -> float:
    return next(hit.relevance for hit in answer.hits if hit.memory.id == id_)


def test_for_the_prompt_itself_it_is_not_relevant_at_all(marked: Shelf) -> None:
    answer = handed(marked.by_words(), PROMPT)
    assert relevance(answer, "keys") == 0.0
    assert ids(answer)[-1] == "keys"
    hit = answer.hits[-1]
    assert (hit.marked, hit.probability > 0.25) == (0.0, True)


def test_case_order_and_what_stands_around_it_change_nothing(marked: Shelf) -> None:
    assert relevance(handed(marked.by_words(), "  the SIGNING keys - how do we rotate them?"), "keys") == 0.0


def test_for_a_paraphrase_it_counts_clearly_less(marked: Shelf) -> None:
    lowered = relevance(handed(marked.by_words(), PARAPHRASE), "keys")
    marked.store.unmark(marked.store.get("keys").seq, [f"of {PROMPT}"])
    usual = relevance(handed(marked.by_words(), PARAPHRASE), "keys")
    assert 0.0 <= lowered < usual / 2


def test_for_another_prompt_it_counts_as_ever(marked: Shelf) -> None:
    with_mark = handed(marked.by_words(), OTHER)
    assert {hit.marked for hit in with_mark.hits} == {1.0}
    marked.store.unmark(marked.store.get("keys").seq, [f"of {PROMPT}"])
    without = handed(marked.by_words(), OTHER)
    assert [(hit.memory.id, hit.relevance) for hit in with_mark.hits] == [
        (hit.memory.id, hit.relevance) for hit in without.hits
    ]


def test_other_memories_count_as_ever(marked: Shelf) -> None:
    marked.add({"ring": "The key ring is rotated with the signing keys of the release service."})
    assert relevance(handed(marked.by_words(), PROMPT), "ring") > 0.0


def test_the_nearest_of_several_marks_decides(marked: Shelf) -> None:
    before = relevance(handed(marked.by_words(), PARAPHRASE), "keys")
    mark(marked, "keys", OTHER)
    assert relevance(handed(marked.by_words(), PARAPHRASE), "keys") == before
    mark(marked, "keys", PARAPHRASE)
    assert relevance(handed(marked.by_words(), PARAPHRASE), "keys") == 0.0


def test_topics_that_were_added_to_a_prompt_do_not_make_it_another(marked: Shelf) -> None:
    text = f"{PROMPT}\nsigstore cosign transparency log"
    assert relevance(handed(marked.by_words(), text, prompt=PROMPT), "keys") == 0.0


def test_identifiers_are_compared_whole_and_scripts_without_spaces_by_their_characters(index: LexicalIndex) -> None:
    assert set(marks.terms("Why does parse_args refuse 認証サーバー?", index)) >= {"parse_args", "refus", "認証"}


def test_as_much_of_a_prompt_is_read_as_a_decision_keeps(index: LexicalIndex) -> None:
    long = "Where does zebra go? " + "so it goes on " * 500
    assert marks.terms(long, index) == marks.terms(long[: marks.READ], index)


@given(TERMS, TERMS)
def test_an_overlap_is_a_share_that_reads_the_same_from_both_sides(asked: dict[str, float], marked: dict[str, float]) -> None:
    found = marks.overlap(asked, marked)
    assert 0.0 <= found <= 1.0 + 1e-9
    assert found == marks.overlap(marked, asked)


@given(TERMS)
def test_a_prompt_is_like_itself_and_unlike_one_without_a_common_term(asked: dict[str, float]) -> None:
    assert marks.overlap(asked, asked) == (1.0 if sum(asked.values()) else 0.0)
    assert marks.overlap(asked, {f"{name} not": weight for name, weight in asked.items() if f"{name} not" not in asked}) == 0.0


@given(TERMS, TERMS, st.text(max_size=8), st.floats(0.01, 1.5))
def test_what_is_asked_by_both_brings_them_nearer_and_what_one_asks_takes_them_apart(
    asked: dict[str, float], marked: dict[str, float], name: str, weight: float
) -> None:
    if name in asked or name in marked:
        return
    before = marks.overlap(asked, marked)
    assert marks.overlap({**asked, name: weight}, {**marked, name: weight}) >= before - 1e-9
    assert marks.overlap({**asked, name: weight}, marked) <= before + 1e-9


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_nearer_the_less_is_left_and_never_more_than_there_was(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.0 <= marks.factor(high) <= marks.factor(low) <= 1.0
    assert marks.factor(0.0) == 1.0
    assert marks.factor(1.0) == 0.0


@given(TERMS)
def test_terms_are_read_as_they_were_written(asked: dict[str, float]) -> None:
    assert marks.from_text(marks.to_text(asked)) == asked


@given(st.one_of(st.text(), st.sampled_from(["[]", "3", "null", '{"a": "b"}', '{"a": null}', '{"a": true}', "{", ""])))
def test_whatever_a_mark_holds_reading_it_never_fails(text: str) -> None:
    assert all(isinstance(weight, float) for weight in marks.from_text(text).values())
