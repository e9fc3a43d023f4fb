"""Parsing a model's answer: only short plain texts about the sent notes are used."""

import json

import pytest

from subcog_hooks.cli.proposals.enrichment_questions import read_answer
from subcog_hooks.llm.question import read_numbers

TOKEN = "ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"


def answer(*notes: object) -> str:
    return json.dumps({"notes": notes})


def test_unusable_questions_are_left_out(subtests: pytest.Subtests) -> None:
    cases = [
        "why\x1b[31m is the crane red?",
        "is this \u202e hidden?",
        "what? " * 100,
        "who",
        f"what does the token {TOKEN} open?",
        7,
        {"text": "why is it so?"},
        None,
    ]
    for question in cases:
        with subtests.test(question=question):
            written = read_answer(answer({"number": 1, "questions": [question, "Why is the crane red?"]}), 1)
            assert written == [["Why is the crane red?"]]


def test_unsent_notes_are_ignored_and_the_first_answer_counts() -> None:
    notes = [{"number": number, "questions": [f"Is this about note {number}?"]} for number in (0, 3, -1, 2, 2)]
    notes[-1]["questions"] = ["Is this another word on it?"]
    written = read_answer(answer(*notes, {"number": "1", "questions": ["Is this a text?"]}), 2)
    assert written == [[], ["Is this about note 2?"]]


def test_a_malformed_answer_is_none(subtests: pytest.Subtests) -> None:
    cases = ["", "[]", "{}", '{"notes": 1}', '{"notes": [1]}', '{"notes": [{}]}', "[" * 100_000, "x" * 1_000_000]
    for text in cases:
        with subtests.test(text=text):
            assert read_answer(text, 3) is None
            assert read_numbers(text, 3) is None


def test_eighty_notes_give_no_more_than_were_sent() -> None:
    written = read_answer(answer(*({"number": 1, "questions": ["Is it so?"] * 40} for _ in range(80))), 1)
    assert written == [["Is it so?"]]
