"""The sentences of a prompt that are needs by themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.text.prompt_needs import MAX_PARTS, is_question, separate_needs, split_sentences


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("How are the keys rotated?", []),
        ("Why? Because.", []),
        ("I am back at the ticket from yesterday. How are the keys rotated?", ["How are the keys rotated?"]),
        ("See v1.2 of src/a.py first\nis there a lint rule for it", ["is there a lint rule for it"]),
        ("We moved it. It was slow. Nobody knew. Who owns the queue now? Thanks.", ["Who owns the queue now?"]),
        ("We moved it. It was slow then. Nobody knew why at all. Thanks.", []),
    ],
)
def test_questions_come_first_then_other_sentences_of_few(typed: str, parts: list[str]) -> None:
    assert separate_needs(typed) == parts


@given(st.text())
def test_no_word_of_any_text_is_lost_between_sentences(text: str) -> None:
    sentences = split_sentences(text)
    assert " ".join(sentences).split() == text.split()
    assert len(separate_needs(text)) <= MAX_PARTS
    assert all(isinstance(is_question(sentence), bool) for sentence in sentences)
