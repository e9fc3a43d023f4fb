"""Proposals: prompts at which an agent opened a memory and can teach it, waiting ones, and questions checked."""

import json

import pytest

from subcog_hooks.cli.proposals.memory_questions import read_answer
from subcog_hooks.cli.proposals.waiting import SLACK_MS, comes_from
from subcog_hooks.llm.question import read_numbers
from tests.conftest import Maker

LOGIN = "Login uses OAuth2 with PKCE, the implicit flow was dropped after the audit of the SPA"
TAUGHT_MS = 1_772_445_600_000


@pytest.mark.parametrize(
    ("prompt", "session", "at_ms", "origins"),
    [
        (f"remember: {LOGIN}", "two", 0, {"login"}),
        (f"# {LOGIN}", "two", 0, {"login"}),
        (f"Before you begin: {LOGIN.upper()}. How does the login work?", "two", 0, {"login"}),
        ("PKCE login", "two", 0, {"short"}),
        ("How does the PKCE login work?", "two", 0, set()),  # A note of two words is not enough inside a prompt.
        ("How does the login work?", "one", TAUGHT_MS + SLACK_MS, {"login"}),
        ("How does the login work?", "one", TAUGHT_MS + SLACK_MS + 1, set()),
        ("How does the login work?", "two", TAUGHT_MS, set()),
    ],
)
def test_a_note_comes_from_a_prompt_that_has_or_taught_it(
    make: Maker, prompt: str, session: str, at_ms: int, origins: set[str]
) -> None:
    learned = make(LOGIN, id="login", source="session:/sessions/one.jsonl:r0", trust="transcript", created_at=TAUGHT_MS)
    notes = (learned, make("PKCE login", id="short"))
    assert {note.id for note in notes if comes_from(note, prompt, session, at_ms)} == origins


TOKEN = "ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"


def answer(*notes: object) -> str:
    return json.dumps({"notes": notes})


def test_unusable_questions_are_left_out() -> None:
    for question in (
        *(
            "why\x1b[31m is the crane red?",
            "is this \u202e hidden?",
            "what? " * 100,
            "who",
            f"what does the token {TOKEN} open?",
        ),
        *(7, {"text": "why is it so?"}, None),
    ):
        written = read_answer(answer({"number": 1, "questions": [question, "Why is the crane red?"]}), 1)
        assert written == [["Why is the crane red?"]], question


def test_unsent_notes_are_ignored_and_the_first_answer_counts() -> None:
    notes = [{"number": number, "questions": [f"Is this about note {number}?"]} for number in (0, 3, -1, 2, 2)]
    notes[-1]["questions"] = ["Is this another word on it?"] * 40
    written = read_answer(answer(*notes, {"number": "1", "questions": ["Is this a text?"]}, *notes * 16), 2)
    assert written == [[], ["Is this about note 2?"]]


def test_a_malformed_answer_is_none() -> None:
    for text in ("", "[]", "{}", '{"notes": 1}', '{"notes": [1]}', '{"notes": [{}]}', "[" * 100_000, "x" * 1_000_000):
        assert (read_answer(text, 3), read_numbers(text, 3)) == (None, None), text[:20]
