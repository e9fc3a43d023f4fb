"""Learning from second looks: its time, the effect of a yes and a no, and its removal with the prompt's record."""

import json

import pytest

from subcog_hooks.cli.proposals import teaching
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import TOOL_EVENT
from subcog_hooks.store import decision_log, recorded_decisions
from subcog_hooks.store.decision import FOUND, HANDED_OVER, INJECTED, MODEL_CHOICE, MOVED_ON, Candidate, Decision
from subcog_hooks.store.decision_log import LOOK_EVENT
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


def found_late(home: Home, prompt: str, *, chosen: bool = False, used: bool = True) -> None:
    """Record that the second look at a prompt found the rule: chosen by a model, or given, and used."""
    state = open_state(home)
    was = next(
        decision
        for decision in recorded_decisions.find_latest(state, 100)
        if decision.prompt is not None and decision.prompt.startswith(prompt)
    )
    ranks = {MODEL_CHOICE: 1} if chosen else {}
    late = [Candidate("rule", "learnings", 0.4, 0.4, FOUND, ranks)]
    outcome = MOVED_ON if chosen else HANDED_OVER
    call, session, given = f"call-{was.id}", was.session, [_of_rule("given")]
    recorded = [
        Decision(
            f"look-{was.id}", was.at_ms + 1, LOOK_EVENT, session, "", outcome, reason=call, candidates=late, looked_at=was.id
        ),
        Decision(call, was.at_ms + 2, TOOL_EVENT, session, "", "spoke", candidates=[_of_rule(INJECTED)]),
    ]
    if used:
        recorded.append(Decision(f"later-{was.id}", was.at_ms + 3, TOOL_EVENT, session, "", "repeated", candidates=given))
    for decision in recorded:
        decision_log.keep_decision(state, decision, decision.at_ms)
    state.close()


def _of_rule(outcome: str) -> Candidate:
    return Candidate("rule", "learnings", 0.4, 0.4, outcome)


def teach_and_read(home: Home) -> list[AnsweredQuestion]:
    """Teach from second looks, and return the questions of the rule."""
    state = open_state(home)
    state.run("DELETE FROM flags WHERE name = 'teaching'")
    state.close()
    teaching.teach_in_background(home)
    return questions(home)


def questions(home: Home) -> list[AnsweredQuestion]:
    with Store.reader(home) as store:
        return list(store.get("rule").questions)


def list_suggestions(subcog: Run) -> list[dict[str, str]]:
    return subcog("review", "--jsonl").rows


def test_two_prompts_that_one_question_serves_teach_it(ask_again: Ask, home: Home, subcog: Run) -> None:
    found_late(home, PROMPT)
    found_late(home, NEAR)
    (question,) = teach_and_read(home)
    assert (question.by, question.text in (PROMPT, NEAR), bool(question.decision)) == (LEARNED, True, True)
    assert ask_again(LIKE_BOTH, "after") == ["rule"]
    assert teach_and_read(home) == [question]
    assert subcog("review").code == 1


def test_a_models_first_choice_counts_after_the_session_moved_on(ask_again: Ask, home: Home) -> None:
    found_late(home, PROMPT, chosen=True, used=False)
    found_late(home, NEAR)
    assert len(teach_and_read(home)) == 1


def test_one_prompt_waits_for_a_yes_which_keeps_it_for_good(ask_again: Ask, home: Home, subcog: Run) -> None:
    found_late(home, PROMPT)
    assert teach_and_read(home) == []
    (suggestion,) = list_suggestions(subcog)
    assert (suggestion["memory"], suggestion["suggests"], suggestion["value"], suggestion["by"]) == (
        "rule",
        "question",
        PROMPT,
        "second look",
    )
    done = subcog("review", "--accept", suggestion["id"])
    assert (done.code, done.err.startswith("done: rule answers the question")) == (0, True)
    assert questions(home) == [AnsweredQuestion(PROMPT, LEARNED)]
    subcog("config", "set", "surfacing.log_prompts", "false")
    assert questions(home) == [AnsweredQuestion(PROMPT, LEARNED)]
    assert PROMPT in subcog("export").out


def test_a_no_holds(ask_again: Ask, home: Home, subcog: Run) -> None:
    found_late(home, PROMPT)
    teach_and_read(home)
    (suggestion,) = list_suggestions(subcog)
    assert subcog("review", "--accept", suggestion["id"], "--reject", suggestion["id"]).code == 2
    assert subcog("review", "--reject", suggestion["id"]).code == 0
    found_late(home, NEAR)
    assert teach_and_read(home) == []
    assert [other["value"] for other in list_suggestions(subcog)] == [NEAR]


def test_what_was_not_used_or_was_called_wrong_teaches_nothing(ask_again: Ask, home: Home, subcog: Run) -> None:
    found_late(home, PROMPT, used=False)
    assert teach_and_read(home) == []
    assert subcog("review").code == 1
    found_late(home, NEAR)
    assert subcog("why", "--bad", "rule", _decision(home, NEAR)).code == 0
    assert teach_and_read(home) == []
    assert subcog("review").code == 1


def _decision(home: Home, prompt: str) -> str:
    state = open_state(home)
    decision_id = next(decision.id for decision in recorded_decisions.find_latest(state, 100) if decision.prompt == prompt)
    state.close()
    return decision_id


def test_a_prompt_that_held_a_secret_teaches_nothing(ask_again: Ask, home: Home, subcog: Run) -> None:
    ask_again(SECRET, "secret")
    found_late(home, f"{PROMPT} The token")
    assert teach_and_read(home) == []
    assert subcog("review").code == 1


@pytest.mark.parametrize("setting", ["surfacing.learn", "surfacing.log_prompts"])
def test_a_switch_takes_back_what_was_learned_and_waits(ask_again: Ask, home: Home, subcog: Run, setting: str) -> None:
    found_late(home, PROMPT)
    teach_and_read(home)
    assert len(list_suggestions(subcog)) == 1
    found_late(home, NEAR)
    assert len(teach_and_read(home)) == 1
    assert subcog("config", "set", setting, "false").code == 0
    assert questions(home) == []
    assert teach_and_read(home) == []
    assert subcog("review").code == 1


def test_it_goes_with_its_record_and_leaves_only_when_asked(ask_again: Ask, home: Home, subcog: Run) -> None:
    found_late(home, PROMPT)
    found_late(home, NEAR)
    (question,) = teach_and_read(home)
    assert question.text not in subcog("export").out
    line = json.loads(subcog("export", "--learned").out.splitlines()[-1])
    assert line["questions"] == [{"text": question.text, "by": LEARNED}]
    assert subcog("show", "rule").out.count(question.text) == 1
    state = open_state(home)
    state.run("DELETE FROM decisions WHERE id = ?", (question.decision,))
    state.close()
    assert teach_and_read(home) == []
