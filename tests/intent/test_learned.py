"""The effects of one prompt on the next: a cached answer, and a failing LLM that is left alone."""

from subcog_hooks.core.paths import Home
from subcog_hooks.intent import classifier, detector, keywords
from subcog_hooks.intent.detector import COMPLETED, DURATION, HOUR_MS, STARTED
from subcog_hooks.llm import breaker
from subcog_hooks.llm.disclosure import disclosable_text as may_be_shown
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from tests import llm_server
from tests.intent.asked import (
    ANOTHER,
    LONG_MS,
    NO,
    QUESTION,
    YES,
    asking,
    call,
    examine_with,
    metric_values,
    provider_of,
    status,
)
from tests.llm_server import LlmServer


def test_an_answer_is_asked_for_once(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        first = examine_with(home, state, asking(server))
        second = examine_with(home, state, asking(server))
        assert len(server.requests) == 1
    assert (first.intent.llm_status, second.intent.llm_status) == ("success", "cached")
    for name in ("type", "confidence", "topics", "keywords", "source"):
        assert getattr(second.intent, name) == getattr(first.intent, name)
    assert (second.llm_seconds, second.llm_reason) == (None, "")
    assert metric_values(state) == {**call("success"), f'{DURATION}{{source="hybrid"}}': 2}


def test_another_prompt_or_model_or_server_asks_again(home: Home, state: State) -> None:
    with LlmServer(YES) as server, LlmServer(NO) as other:
        assert status(home, state, asking(server)) == "success"
        assert status(home, state, asking(server), ANOTHER) == "success"
        assert status(home, state, asking(server, llm__model="another-model")) == "success"
        assert status(home, state, asking(other)) == "success"
        assert [request.json["model"] for request in server.requests] == ["a-model", "a-model", "another-model"]
        assert status(home, state, asking(server)) == "cached"


def test_neither_failures_nor_answers_where_no_texts_are_kept(home: Home, state: State) -> None:
    with LlmServer(llm_server.fails(500), YES) as server:
        settings = asking(server)
        statuses = [status(home, state, settings, keeps_answers=keeps) for keeps in (True, False, False)]
    assert statuses == ["error", "success", "success"]
    assert metric_values(state) == {
        STARTED: 3,
        f'{COMPLETED}{{status="error"}}': 1,
        f'{COMPLETED}{{status="success"}}': 2,
        f'{DURATION}{{source="keyword"}}': 1,
        f'{DURATION}{{source="hybrid"}}': 2,
    }


def test_an_unreadable_cached_answer_is_asked_for_again(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        breaker.cache_answer(
            state,
            breaker.answer_key(provider_of(settings, home), classifier.build_question(QUESTION)),
            "not JSON",
            now_ms(),
            HOUR_MS,
        )
        assert status(home, state, settings) == "success"


# ---- a provider that fails again and again --------------------------------------------------------------------------------


def end_rest(state: State, settings: Settings, home: Home) -> None:
    """Let the provider's rest be over."""
    breaker.open_breaker(state, provider_of(settings, home).circuit, now_ms() - 1)


def test_after_three_failures_it_is_left_alone(home: Home, state: State) -> None:
    with LlmServer(llm_server.fails(500), llm_server.resets(), llm_server.garbage()) as server:
        settings = asking(server)
        assert [status(home, state, settings) for _ in range(4)] == ["error", "disconnected", "error", "resting"]
        assert len(server.requests) == breaker.FAILURES
        result = examine_with(home, state, settings)
        assert len(server.requests) == breaker.FAILURES
    assert result.llm_reason == "it failed too often lately"
    assert result.intent.confidence == keywords.read_prompt(QUESTION).intent.confidence
    assert metric_values(state)[STARTED] == breaker.FAILURES


def test_a_try_that_can_not_be_noted_is_none(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        for _ in range(3):
            breaker.record_call_failure(state, provider_of(settings, home).circuit, now_ms())
        end_rest(state, settings, home)
        other = State.open(home, 1_000)
        other.begin()
        assert not detector.begin_detection(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0).may_change
        other.commit()
        assert status(home, state, settings) == "success"
