"""The place of a prompt in its session: at the first prompt the same evidence means more than at a later one."""

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.recall.hits import BEGUN
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import SPOKE, Decision
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import ORDER, QUESTION, Decide

SMALL_TALK = "ok, thanks"
SEEKING = "What did we decide about the lighthouse lamp relay and the tide sensor?"


def position_terms(decision: Decision) -> set[float]:
    """Return the terms by which the position changes the explained candidates."""
    terms = [
        {name: adds for name, _, adds in candidate.terms}.get(BEGUN, 0.0)
        for candidate in decision.candidates
        if candidate.terms
    ]
    assert terms
    return set(terms)


def best(decision: Decision) -> float:
    return decision.candidates[0].relevance


def test_later_in_a_session_the_same_question_needs_more(decide: Decide) -> None:
    assert [position_terms(decide()) for _ in range(6)] == [{0.0}, {-1.2025}, {-1.2025}, {-1.85}, {-1.85}, {-1.85}]


def test_every_session_begins_anew(decide: Decide) -> None:
    first = best(decide(session="one"))
    decide(SMALL_TALK, session="one")
    assert best(decide(session="two")) == first
    assert best(decide(session="one")) < first


@pytest.mark.parametrize("between", [SMALL_TALK, "[nomem] how is the cargo insured?", ORDER])
def test_every_prompt_counts_whatever_became_of_it(decide: Decide, between: str) -> None:
    for _ in range(3):
        decide(between)
    assert position_terms(decide()) == {-1.85}


def test_without_a_session_every_prompt_is_the_first(decide: Decide) -> None:
    assert [position_terms(decide(session="")) for _ in range(2)] == [{0.0}, {0.0}]


def test_sure_answers_and_what_is_asked_for_come_at_any_time(decide: Decide) -> None:
    for _ in range(10):
        decide(SMALL_TALK)
    late = decide()
    assert (late.outcome, position_terms(late)) == (SPOKE, {-1.85})
    assert position_terms(decide(SEEKING)) == {0.0}
    assert position_terms(decide()) == {-1.85}


def test_what_a_trigger_brings_is_as_relevant_as_ever(decide: Decide, home: Home, make: Maker) -> None:
    with Store.writer(home) as store:
        store.add([make("Look at the tide table first.", id="table", triggers=("lamp relay",))])
        follow(home, store)

    def of_the_table(decision: Decision) -> float:
        return next(candidate.relevance for candidate in decision.candidates if candidate.id == "table")

    first = of_the_table(decide(session="one"))
    for _ in range(5):
        decide(SMALL_TALK, session="two")
    assert of_the_table(decide(QUESTION, session="two")) == first
