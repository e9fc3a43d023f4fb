"""The sentences of a prompt that are needs by themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.text.needs import MOST_PARTS, asks, parts_of, sentences


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("How are the keys rotated?", []),
        ("Why? Because.", []),
        (
            "I am back at the ticket from yesterday. How are the keys rotated?",
            ["How are the keys rotated?"],
        ),
        (
            "See v1.2 of src/a.py first\nis there a lint rule for it",
            ["is there a lint rule for it"],
        ),
        ("We moved it. It was slow. Nobody knew. Who owns the queue now? Thanks.", ["Who owns the queue now?"]),
        ("We moved it. It was slow then. Nobody knew why at all. Thanks.", []),
    ],
)
def test_questions_come_first_and_other_sentences_where_there_are_few(typed: str, parts: list[str]) -> None:
    assert parts_of(typed) == parts


@given(st.text())
def test_no_word_of_any_text_is_lost_between_sentences(text: str) -> None:
    found = sentences(text)
    assert " ".join(found).split() == text.split()
    assert len(parts_of(text)) <= MOST_PARTS
    assert all(isinstance(asks(sentence), bool) for sentence in found)
