"""Parsing a model's answer: only short plain texts about the sent notes are used."""

import json

import pytest

from subcog_hooks.cli.proposals import enrichment_questions
from subcog_hooks.cli.proposals.enrichment_questions import ModelSuggestions, read_answer
from subcog_hooks.llm.question import read_numbers
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.suggestions import GLOB, KEYWORD, STANDING

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
            notes = read_answer(answer({"number": 1, "questions": [question, "Why is the crane red?"]}), 1)
            assert notes is not None
            assert notes[0].questions == ["Why is the crane red?"]


def test_unsent_notes_are_ignored_and_the_first_answer_counts() -> None:
    notes = [{"number": number, "questions": [f"Is this about note {number}?"]} for number in (0, 3, -1, 2, 2)]
    notes[-1]["questions"] = ["Is this another word on it?"]
    parsed = read_answer(answer(*notes, {"number": "1", "questions": ["Is this a text?"]}), 2)
    assert parsed is not None
    assert [note.questions for note in parsed] == [[], ["Is this about note 2?"]]


def test_a_malformed_answer_is_none(subtests: pytest.Subtests) -> None:
    cases = ["", "[]", "{}", '{"notes": 1}', '{"notes": [1]}', '{"notes": [{}]}', "[" * 100_000, "x" * 1_000_000]
    for text in cases:
        with subtests.test(text=text):
            assert read_answer(text, 3) is None
            assert read_numbers(text, 3) is None


def test_eighty_notes_give_no_more_than_were_sent() -> None:
    parsed = read_answer(answer(*({"number": 1, "questions": ["Is it so?"] * 40} for _ in range(80))), 1)
    assert parsed is not None
    assert [note.questions for note in parsed] == [["Is it so?"]]


def test_proposals_are_few_new_and_without_secrets() -> None:
    memory = Memory(id="a", content="The crane is inspected on Mondays.", keywords=("hoist",), paths=("ops/**",))
    words = ["Crane", "hoist", "x", TOKEN, "lift\x07ing", "lifting gear"]
    for start in range(0, len(words), enrichment_questions.MAX_KEYWORDS):
        written = ModelSuggestions([], words[start : start + enrichment_questions.MAX_KEYWORDS], [], None)
        assert set(enrichment_questions._other_changes(memory, written)) <= {(KEYWORD, "lifting gear")}
    globs = ["ops/**", "**", "/etc/**", "~/x", "a/[", "*.tf", "cranes/**"]
    for glob in globs:
        assert set(enrichment_questions._other_changes(memory, ModelSuggestions([], [], [glob], None))) <= {
            (GLOB, "*.tf"),
            (GLOB, "cranes/**"),
        }
    many = ModelSuggestions([], [], [f"a{number}/**" for number in range(99)], None)
    assert len(list(enrichment_questions._other_changes(memory, many))) == 2


@pytest.mark.parametrize(("stored", "standing", "is_news"), [(None, True, True), (None, False, False), (False, True, False)])
def test_standing_is_proposed_where_unset_and_new(stored: bool | None, standing: bool, is_news: bool) -> None:
    memory = Memory(id="a", content="The crane was inspected on 3 May.", standing=stored)
    assert ([STANDING] if is_news else []) == [
        field for field, _ in enrichment_questions._other_changes(memory, ModelSuggestions([], [], [], standing))
    ]
