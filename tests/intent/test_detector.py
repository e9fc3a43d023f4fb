"""From a prompt to its intent with real settings, a real state.db and a real local server: calls, storage and metrics."""

import pytest

from subcog_hooks.cli.preview import examine_prompt
from subcog_hooks.core.paths import Home
from subcog_hooks.intent import detector, keywords
from subcog_hooks.intent.classifier import COMPLETED, STARTED
from subcog_hooks.intent.detector import DURATION, MAX_PROMPT_SHOWN
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.settings.defaults import Value
from subcog_hooks.store.state import State
from tests import llm_server
from tests.intent.asked import (
    ANOTHER,
    BY_WORDS,
    LONG_MS,
    NO,
    ORDER,
    QUESTION,
    SHORT_MS,
    YES,
    asking,
    call,
    examine_with,
    metric_values,
    status,
)
from tests.llm_server import Behaviour, LlmServer, says


@pytest.mark.parametrize(
    "setting", [{"llm__provider": "none"}, {"search_intent__use_llm": False}], ids=["no provider", "use_llm is false"]
)
def test_without_an_llm_the_words_alone_tell(home: Home, state: State, setting: dict[str, Value]) -> None:
    with LlmServer(NO) as server:
        result = examine_with(home, state, asking(server, **setting))
    assert server.requests == []
    assert (result.llm_status, result.source, result.type) == ("off", "keyword", "howto")
    assert result.confidence == keywords.read_prompt(QUESTION).intent.confidence
    assert (result.answer, result.llm_seconds, result.llm_reason) == (None, None, "")
    assert metric_values(state) == BY_WORDS


def test_words_that_are_as_sure_as_is_set_are_taken_as_they_are(home: Home, state: State) -> None:
    sure = keywords.read_prompt(QUESTION).intent.confidence
    with LlmServer(YES) as server:
        intent = examine_with(home, state, asking(server, search_intent__llm_skip_confidence=sure))
        assert (intent.llm_status, intent.source, intent.type, server.requests) == ("skipped", "keyword", "howto", [])
        assert status(home, state, asking(server, search_intent__llm_skip_confidence=sure + 0.001)) == "success"


@pytest.mark.parametrize("prompt", ["", " \n", "/compact", "!ls", "<task-notification>Why does the build fail?"])
def test_of_a_prompt_that_nobody_typed_nobody_is_asked(home: Home, state: State, prompt: str) -> None:
    with LlmServer(YES) as server:
        result = examine_with(home, state, asking(server), prompt)
    assert server.requests == []
    assert (result.type, result.confidence, result.llm_status) == ("none", 0.0, "off")
    assert metric_values(state) == BY_WORDS


def test_a_prompt_too_long_for_the_secret_check_is_not_sent(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        result = examine_with(home, state, asking(server), QUESTION.ljust(MAX_PROMPT_SHOWN + 1, "."))
        assert server.requests == []
        assert (result.llm_status, result.llm_reason) == ("skipped", "the prompt is too long")
        assert status(home, state, asking(server), QUESTION.ljust(MAX_PROMPT_SHOWN, ".")) == "success"


def test_with_no_time_left_nobody_is_asked_and_nobody_has_failed(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        settings = asking(server)
        begun = detector.begin_detection(QUESTION, settings, home, state, 0.0)
        result = begun.settle(("session",), settings, 0.0)
        begun.record_metrics(result, state)
    assert server.requests == []
    assert (result.llm_status, result.llm_reason) == ("skipped", "no time was left")
    assert result.confidence == keywords.read_prompt(QUESTION).intent.confidence
    assert metric_values(state) == BY_WORDS


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("ok", "the words are sure that it asks for nothing"),
        ("thanks!", "the words are sure that it asks for nothing"),
        ("make it blue", "the words are sure that it asks for nothing"),
        ("go on", "it neither asks nor names anything"),
    ],
)
def test_over_an_acknowledgement_nobody_is_asked(home: Home, state: State, prompt: str, reason: str) -> None:
    with LlmServer(llm_server.never()) as server:
        result = examine_with(home, state, asking(server), prompt)
        assert server.requests == []
    assert (result.llm_status, result.llm_reason, result.type) == ("skipped", reason, "none")
    assert metric_values(state) == BY_WORDS


def test_an_answer_is_merged_and_counted(home: Home, state: State) -> None:
    with LlmServer(YES) as server:
        result = examine_with(home, state, asking(server))
    words = keywords.read_prompt(QUESTION).intent
    assert (result.type, result.source, result.llm_status) == ("troubleshoot", "hybrid", "success")
    assert result.confidence == pytest.approx(0.7 * 0.9 + 0.3 * words.confidence, abs=1e-4)
    assert result.topics[:2] == ("session token", "cookie")
    assert result.answer is not None
    assert result.llm_seconds is not None
    assert (result.answer.type, result.llm_reason, result.timed_out_by) == ("troubleshoot", "", "")
    assert 0.0 < result.llm_seconds <= result.seconds
    assert metric_values(state) == call("success")


def test_where_no_signal_of_a_type_fired_the_answer_stands_alone(home: Home, state: State) -> None:
    assert all(signal.family == "none" for signal in keywords.read_prompt(ORDER).fired)
    with LlmServer(says("howto", 0.66)) as server:
        result = examine_with(home, state, asking(server), ORDER)
    assert (result.source, result.confidence) == ("llm", 0.66)
    assert result.topics == extract_topics(keywords.read_prompt(ORDER).words())
    assert metric_values(state)[f'{DURATION}{{source="llm"}}'] == 1


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (llm_server.garbage(), "error"),
        (llm_server.floods(), "error"),  # 10 MB
        (llm_server.redirects("http://127.0.0.1:1/"), "error"),
        (llm_server.fails(500), "error"),
        (llm_server.says_text("no idea"), "error"),
        (llm_server.resets(), "disconnected"),
        (llm_server.hangs_up(), "disconnected"),
    ],
)
def test_a_failure_leaves_what_the_words_say(home: Home, state: State, behaviour: Behaviour, expected: str) -> None:
    with LlmServer(behaviour) as server:
        result = examine_with(home, state, asking(server))
    words = keywords.read_prompt(QUESTION).intent
    assert (result.llm_status, result.source) == (expected, "keyword")
    assert (result.type, result.confidence) == (words.type, words.confidence)
    assert result.topics == extract_topics(keywords.read_prompt(QUESTION).words())
    assert result.answer is None
    assert result.llm_reason
    assert metric_values(state) == call(expected)


@pytest.mark.parametrize("behaviour", [llm_server.never(), llm_server.drips()], ids=["never", "drips"])
def test_the_setting_ends_the_wait(home: Home, state: State, behaviour: Behaviour) -> None:
    with LlmServer(behaviour) as server:
        result = examine_with(home, state, asking(server, search_intent__llm_timeout_ms=SHORT_MS))
    assert (result.llm_status, result.type, result.timed_out_by) == ("timeout", "howto", "llm_timeout_ms")
    assert result.llm_seconds is not None
    assert result.llm_seconds >= SHORT_MS / 1000.0
    assert metric_values(state) == call("timeout", "llm_timeout_ms")


@pytest.mark.parametrize("left_ms", [SHORT_MS, 0.0, -7.0])
def test_the_deadline_ends_the_wait_where_it_is_nearer(home: Home, state: State, left_ms: float) -> None:
    with LlmServer(llm_server.never()) as server:
        settings = asking(server)
        begun = detector.begin_detection(QUESTION, settings, home, state, LONG_MS / 1000.0)
        result = begun.settle(extract_topics(begun.reading.words()), settings, left_ms)
        assert metric_values(state) == {}  # before it is kept
        begun.record_metrics(result, state)
    assert (result.llm_status, result.type, result.timed_out_by) == ("timeout", "howto", "deadline")
    assert metric_values(state) == call("timeout", "deadline")


def test_the_terminal_learns_from_an_answer_and_counts_nothing(home: Home, state: State) -> None:
    with LlmServer(YES, llm_server.fails(500)) as server:
        settings = asking(server)
        statuses = [examine_prompt(prompt, settings, home, state).llm_status for prompt in (QUESTION, QUESTION, *[ANOTHER] * 4)]
    assert statuses == ["success", "cached", "error", "error", "error", "resting"]
    assert metric_values(state) == {}


def test_with_no_topics_at_all_there_is_nothing_to_search_for(home: Home, state: State) -> None:
    with LlmServer(says("howto", 0.9)) as server:
        for settings in (asking(server), asking(server, search_intent__use_llm=False)):
            begun = detector.begin_detection(QUESTION, settings, home, state, LONG_MS / 1000.0)
            result = begun.settle((), settings, LONG_MS)
            assert (result.type, result.confidence, result.topics) == ("none", 0.0, ())


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
