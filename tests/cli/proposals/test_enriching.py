"""What a model writes is taken apart: nothing but short plain texts about the notes that were sent is made use of."""

import json

import pytest

from subcog_hooks.cli.proposals import enriching
from subcog_hooks.cli.proposals.enriching import Written, read_answer
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.suggestions import GLOB, KEYWORD, STANDING

TOKEN = "ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"


def answer(*notes: object) -> str:
    return json.dumps({"notes": notes})


def test_what_is_no_plain_short_question_is_left_out(subtests: pytest.Subtests) -> None:
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
            found = read_answer(answer({"number": 1, "questions": [question, "Why is the crane red?"]}), 1)
            assert found is not None
            assert found[0].questions == ["Why is the crane red?"]


def test_unsent_notes_are_ignored_and_the_first_answer_counts() -> None:
    notes = [{"number": number, "questions": [f"Is this about note {number}?"]} for number in (0, 3, -1, 2, 2)]
    notes[-1]["questions"] = ["Is this another word on it?"]
    found = read_answer(answer(*notes, {"number": "1", "questions": ["Is this a text?"]}), 2)
    assert found is not None
    assert [one.questions for one in found] == [[], ["Is this about note 2?"]]


def test_an_answer_of_another_form_is_none(subtests: pytest.Subtests) -> None:
    cases = ["", "[]", "{}", '{"notes": 1}', '{"notes": [1]}', '{"notes": [{}]}', "[" * 100_000, "x" * 1_000_000]
    for text in cases:
        with subtests.test(text=text):
            assert read_answer(text, 3) is None
            assert enriching.read_conflicts(text, 3) is None


def test_a_thousand_notes_give_no_more_than_were_sent() -> None:
    found = read_answer(answer(*({"number": 1, "questions": ["Is it so?"] * 1000} for _ in range(1000))), 1)
    assert found is not None
    assert [one.questions for one in found] == [["Is it so?"]]


def test_proposals_are_few_new_and_without_secrets() -> None:
    memory = Memory(id="a", content="The crane is inspected on Mondays.", keywords=("hoist",), paths=("ops/**",))
    words = ["Crane", "hoist", "x", TOKEN, "lift\x07ing", "lifting gear"]
    for start in range(0, len(words), enriching.MOST_KEYWORDS):
        written = Written([], words[start : start + enriching.MOST_KEYWORDS], [], None)
        assert set(enriching._proposed(memory, written)) <= {(KEYWORD, "lifting gear")}
    globs = ["ops/**", "**", "/etc/**", "~/x", "a/[", "*.tf", "cranes/**"]
    for glob in globs:
        assert set(enriching._proposed(memory, Written([], [], [glob], None))) <= {(GLOB, "*.tf"), (GLOB, "cranes/**")}
    assert len(list(enriching._proposed(memory, Written([], [], [f"a{number}/**" for number in range(99)], None)))) == 2


@pytest.mark.parametrize(("said", "standing", "is_news"), [(None, True, True), (None, False, False), (False, True, False)])
def test_standing_is_proposed_where_unset_and_new(said: bool | None, standing: bool, is_news: bool) -> None:
    memory = Memory(id="a", content="The crane was inspected on 3 May.", standing=said)
    assert ([STANDING] if is_news else []) == [field for field, _ in enriching._proposed(memory, Written([], [], [], standing))]
