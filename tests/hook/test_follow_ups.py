"""The place of a prompt in its session: at the first the same evidence means more, and a later one may follow up."""

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.recall.hits import BEGUN
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import INTENT, SPOKE, RecordedVerdict
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import ORDER, QUESTION, Decide, configure, configure_llm
from tests.llm_server import LlmServer, says

SMALL_TALK = "ok, thanks"
SEEKING = "What did we decide about the lighthouse lamp relay and the tide sensor?"


def position_terms(verdict: RecordedVerdict) -> set[float]:
    """Return the terms by which the position changes the explained candidates."""
    terms = [
        {name: adds for name, _, adds in candidate.terms}.get(BEGUN, 0.0) for candidate in verdict.candidates if candidate.terms
    ]
    assert terms
    return set(terms)


def best(verdict: RecordedVerdict) -> float:
    return verdict.candidates[0].relevance


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

    def of_the_table(verdict: RecordedVerdict) -> float:
        return next(candidate.relevance for candidate in verdict.candidates if candidate.id == "table")

    first = of_the_table(decide(session="one"))
    for _ in range(5):
        decide(SMALL_TALK, session="two")
    assert of_the_table(decide(QUESTION, session="two")) == first


def test_a_follow_up_borrows_what_the_prompt_before_was_about(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    first = decide()
    second = decide("and the other one?")
    assert first.intent is not None
    assert second.intent is not None
    assert second.borrowed == first.intent.topics
    assert second.intent.confidence == first.intent.confidence
    assert second.outcome == SPOKE
    assert {*second.injected} <= {"drift", "volts"}
    third = decide("and what about the third?")
    assert third.borrowed == second.borrowed


def test_a_no_about_a_follow_up_silences_nothing(decide: Decide, home: Home) -> None:
    with LlmServer(says("none", 0.9)) as server:
        configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
        decide()
        configure_llm(home, server, "[surfacing]", "max_memories = 1", "min_relevance = 0.1")
        second = decide("what about the other one?")
        assert len(server.requests) == 1
    assert (second.outcome, bool(second.borrowed)) == (SPOKE, True)


def test_an_acknowledgement_or_an_order_borrows_nothing(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    decide()
    for text in ("ok", "thanks!", "continue", "go on", "ok?", "and fix it", "make it blue"):
        verdict = decide(text)
        assert (verdict.outcome, verdict.borrowed) == (INTENT, ()), text


def test_an_acknowledgement_between_does_not_part_them(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    decide()
    decide("ok, thanks")
    assert decide("and the other one?").outcome == SPOKE


@pytest.mark.parametrize("unknown", ["[nomem] how is the cargo insured?", "how is the cargo insured? password=hunter2xyz"])
def test_nothing_is_borrowed_across_a_prompt_that_is_not_kept(decide: Decide, home: Home, unknown: str) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    decide()
    decide(unknown)
    assert decide("and the other one?").borrowed == ()


def test_a_follow_up_of_an_order_stays_silent(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmin_relevance = 0.5\n")
    decide(ORDER)
    verdict = decide("and the other one?")
    assert verdict.outcome == INTENT
    assert verdict.borrowed != ()


def test_nothing_is_borrowed_from_another_session_or_without_one(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    decide(session="one")
    decide(session="")
    assert [decide("and the other one?", session=session).borrowed for session in ("two", "")] == [(), ()]
