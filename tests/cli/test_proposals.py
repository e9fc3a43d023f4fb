"""Proposals: prompts that teach a memory, their removal with the record, and questions by a model checked."""

import json

import pytest

from subcog_hooks.cli.proposals import memory_questions
from subcog_hooks.cli.proposals.memory_questions import read_answer
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import session as starts
from subcog_hooks.llm.question import read_numbers
from subcog_hooks.store import past_runs, sessions
from subcog_hooks.store.memory import LEARNED, AnsweredQuestion
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.cli.conftest import Ask, Run

RULE = "Nobody merges on Fridays after four, whatever the pipeline shows."
PROMPT = "how late on a Friday may we still ship a change?"
NEAR = "May I still ship this change this Friday evening?"
LIKE_BOTH = "how late on Friday evening may I still ship this change?"
SECRET = f"{PROMPT} The token is ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2"


@pytest.fixture
def ask_again(ask: Ask, home: Home) -> Ask:
    """Store a rule, and two prompts of two sessions that missed it; return `ask`."""
    ask.remember(rule=RULE, cookie="The session cookie is renewed every hour.")
    for number, prompt in enumerate((NEAR, PROMPT)):
        assert "rule" not in ask(prompt, f"before{number}")
    return ask


def open_state(home: Home) -> State:
    return State.open(home, 1_000)


def opened(home: Home, prompt: str) -> None:
    """Point the session of a prompt at the rule, and let its agent open it."""
    state = open_state(home)
    was = next(
        verdict
        for verdict in past_runs.find_latest(state, 100)
        if verdict.prompt is not None and verdict.prompt.startswith(prompt)
    )
    sessions.record_pointed(state, was.session, ("rule",), was.at_ms, was.id)
    state.run("UPDATE pointers SET opened_at = ? WHERE session = ? AND memory = 'rule'", (was.at_ms + 1, was.session))
    state.close()


def teach_and_read(home: Home) -> list[AnsweredQuestion]:
    """Teach from openings, and return the questions of the rule."""
    state = open_state(home)
    state.run("DELETE FROM due_times WHERE task = 'teaching'")
    state.close()
    memory_questions.teach_in_background(home)
    return questions(home)


def questions(home: Home) -> list[AnsweredQuestion]:
    with Store.reader(home) as store:
        return list(store.get("rule").questions)


def test_a_prompt_whose_line_was_opened_teaches(ask_again: Ask, home: Home, subcog: Run) -> None:
    opened(home, PROMPT)
    (question,) = teach_and_read(home)
    assert (question.by, question.text, bool(question.verdict)) == (LEARNED, PROMPT, True)
    assert ask_again(LIKE_BOTH, "after") == ["rule"]
    assert teach_and_read(home) == [question]
    assert subcog("review").code == 1


def test_a_removed_question_is_not_taught_again(ask_again: Ask, home: Home, subcog: Run) -> None:
    opened(home, PROMPT)
    assert len(teach_and_read(home)) == 1
    assert subcog("edit", "rule", "--question", "").code == 0
    opened(home, NEAR)
    assert [question.text for question in teach_and_read(home)] == [NEAR]


def test_an_opening_that_was_called_wrong_teaches_nothing(ask_again: Ask, home: Home, subcog: Run) -> None:
    opened(home, NEAR)
    assert subcog("why", "bad", "rule", _verdict(home, NEAR)).code == 0
    assert teach_and_read(home) == []


def _verdict(home: Home, prompt: str) -> str:
    state = open_state(home)
    verdict_id = next(verdict.id for verdict in past_runs.find_latest(state, 100) if verdict.prompt == prompt)
    state.close()
    return verdict_id


def test_a_prompt_that_held_a_secret_teaches_nothing(ask_again: Ask, home: Home) -> None:
    ask_again(SECRET, "secret")
    opened(home, f"{PROMPT} The token")
    assert teach_and_read(home) == []


def test_an_opening_teaches_after_its_session_was_cleared(ask_again: Ask, home: Home) -> None:
    opened(home, PROMPT)
    state = open_state(home)
    starts.forget_session(state, "before1")
    assert sessions.find_pointed(state, "before1") == frozenset()
    state.close()
    assert len(teach_and_read(home)) == 1


@pytest.mark.parametrize("setting", ["surfacing.learn", "surfacing.log_prompts"])
def test_a_switch_takes_back_what_was_learned(ask_again: Ask, home: Home, subcog: Run, setting: str) -> None:
    opened(home, PROMPT)
    assert len(teach_and_read(home)) == 1
    assert subcog("config", "set", setting, "false").code == 0
    assert questions(home) == []
    assert teach_and_read(home) == []


def test_it_goes_with_its_record_and_leaves_only_when_asked(ask_again: Ask, home: Home, subcog: Run) -> None:
    opened(home, PROMPT)
    (question,) = teach_and_read(home)
    assert question.text not in subcog("export").out
    line = json.loads(subcog("export", "--learned").out.splitlines()[-1])
    assert line["questions"] == [{"text": question.text, "by": LEARNED}]
    assert subcog("show", "rule").out.count(question.text) == 1
    state = open_state(home)
    state.run("DELETE FROM verdicts WHERE id = ?", (question.verdict,))
    state.close()
    assert teach_and_read(home) == []


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
