"""Follow-ups: they borrow the topics of the session's earlier prompt."""

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.verdicts import INTENT, SPOKE
from tests.hook.recorded import ORDER, Decide, configure, configure_llm
from tests.llm_server import LlmServer, says


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
        decision = decide(text)
        assert (decision.outcome, decision.borrowed) == (INTENT, ()), text


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
    decision = decide("and the other one?")
    assert decision.outcome == INTENT
    assert decision.borrowed != ()


def test_nothing_is_borrowed_from_another_session_or_without_one(decide: Decide, home: Home) -> None:
    configure(home, "[surfacing]\nmax_memories = 1\nmin_relevance = 0.1\n")
    decide(session="one")
    decide(session="")
    assert [decide("and the other one?", session=session).borrowed for session in ("two", "")] == [(), ()]
