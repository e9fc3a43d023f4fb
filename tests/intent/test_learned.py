"""The effects of one prompt on the next: a cached answer, and a failing LLM that is left alone."""

from subcog_hooks.core.paths import Home
from subcog_hooks.intent import classifier, detector, keywords
from subcog_hooks.intent.detector import ANSWER_KEPT_MS, COMPLETED, DURATION, HOUR_MS, STARTED
from subcog_hooks.llm import ask
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
    SHORT_MS,
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
    assert (first.llm_status, second.llm_status) == ("success", "cached")
    for name in ("type", "confidence", "topics", "keywords", "source"):
        assert getattr(second, name) == getattr(first, name)
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


def test_an_answer_is_kept_for_a_day(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        assert status(home, state, settings) == "success"
        key = ask.answer_key(provider_of(settings, home), classifier.build_question(QUESTION))
    assert ask.find_cached_answer(state, key, now_ms() + ANSWER_KEPT_MS - HOUR_MS) is not None
    assert ask.find_cached_answer(state, key, now_ms() + ANSWER_KEPT_MS) is None


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
        ask.cache_answer(
            state,
            ask.answer_key(provider_of(settings, home), classifier.build_question(QUESTION)),
            "not JSON",
            now_ms(),
            HOUR_MS,
        )
        assert status(home, state, settings) == "success"


# ---- a provider that fails again and again --------------------------------------------------------------------------------


def end_rest(state: State, settings: Settings, home: Home) -> None:
    """Let the provider's rest be over."""
    ask.open_breaker(state, provider_of(settings, home).circuit, now_ms() - 1)


def test_after_three_failures_it_is_left_alone(home: Home, state: State) -> None:
    with LlmServer(llm_server.fails(500), llm_server.resets(), llm_server.garbage()) as server:
        settings = asking(server)
        assert [status(home, state, settings) for _ in range(4)] == ["error", "disconnected", "error", "resting"]
        assert len(server.requests) == ask.FAILURES
        result = examine_with(home, state, settings)
        assert len(server.requests) == ask.FAILURES
    assert result.llm_reason == "it failed too often lately"
    assert result.confidence == keywords.read_prompt(QUESTION).intent.confidence
    assert metric_values(state)[STARTED] == ask.FAILURES


def test_a_try_that_fails_begins_another_rest(home: Home, state: State) -> None:
    with LlmServer(llm_server.never()) as server:
        settings = asking(server, search_intent__llm_timeout_ms=SHORT_MS)
        assert [status(home, state, settings) for _ in range(4)] == ["timeout"] * 3 + ["resting"]
        another = asking(server, search_intent__llm_timeout_ms=SHORT_MS, llm__model="another-model")
        assert status(home, state, another) == "timeout"
        end_rest(state, settings, home)
        assert [status(home, state, settings) for _ in range(3)] == ["timeout", "resting", "resting"]


def test_a_try_that_can_not_be_noted_is_none(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        for _ in range(3):
            ask.record_call_failure(state, provider_of(settings, home).circuit, now_ms())
        end_rest(state, settings, home)
        other = State.open(home, 1_000)
        other.begin()
        assert not detector.begin_detection(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0).may_change
        other.commit()
        assert status(home, state, settings) == "success"


def test_one_tries_alone_and_its_success_ends_the_rest(home: Home, state: State) -> None:
    with LlmServer(*[llm_server.fails(500)] * 3, YES) as server:
        settings = asking(server)
        for _ in range(3):
            status(home, state, settings)
        end_rest(state, settings, home)
        begun = [detector.begin_detection(QUESTION, settings, home, state, may_be_shown, LONG_MS / 1000.0) for _ in range(3)]
        assert [detection.may_change for detection in begun] == [True, False, False]
        begun[0].settle(("session",), settings, LONG_MS)
        begun[0].learn(state, keeps_answers=False)
        assert [status(home, state, settings, keeps_answers=False) for _ in range(2)] == ["success"] * 2
