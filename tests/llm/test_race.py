"""The race against a real local server that answers, hangs, drips, resets or answers too late."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from subcog_hooks.core.errors import ProviderError
from subcog_hooks.core.paths import Home
from subcog_hooks.intent.classifier import build_question, parse_answer
from subcog_hooks.llm import ask, providers
from subcog_hooks.llm.ask import (
    MAX_ANSWERS,
    OPEN_MS,
    WINDOW_MS,
    ask_recorded,
    may_call,
    record_call_failure,
    record_call_success,
)
from subcog_hooks.llm.providers import Provider
from subcog_hooks.store.state import State
from tests import llm_server
from tests.llm.asked import ENDED, SECONDS, provider_at, settings
from tests.llm_server import Behaviour, LlmServer, fails, says, says_raw

ROOT = Path(__file__).parents[2]


def keyless_provider(server: LlmServer, model: str = "m") -> Provider:
    return Provider("openai", server.url_v1, model, "")


def start_call(provider: Provider, prompt: str = "", seconds: float = SECONDS) -> ask.Race:
    return ask.Race(provider, build_question(prompt), parse_answer, seconds)


def test_an_answer_in_time_is_a_success() -> None:
    with LlmServer(says("howto", 0.9, ["deploy"], delay_ms=20)) as server:
        outcome = start_call(keyless_provider(server), "How do we deploy?").join(SECONDS)
        assert "How do we deploy?" in server.requests[0].json["messages"][1]["content"]
    assert (outcome.status, outcome.reason) == ("success", "")
    assert outcome.answer is not None
    assert (outcome.answer.type, outcome.answer.confidence, outcome.answer.topics) == ("howto", 0.9, ("deploy",))
    assert outcome.seconds >= 0.02


@pytest.mark.parametrize("behaviour", [llm_server.never(), llm_server.drips(), says("howto", 0.9, delay_ms=60_000)])
def test_what_does_not_answer_is_left_behind(behaviour: Behaviour) -> None:
    with LlmServer(behaviour) as server:
        outcome = start_call(keyless_provider(server), seconds=60.0).join(ENDED)
    assert (outcome.status, outcome.answer, outcome.reason) == ("timeout", None, "no answer in time")
    assert ENDED <= outcome.seconds < SECONDS


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        pytest.param(llm_server.resets(), "disconnected", "broke the connection", id="resets"),
        pytest.param(llm_server.hangs_up(), "disconnected", "broke the connection", id="hangs up"),
        pytest.param(llm_server.breaks_off(), "disconnected", "broke the connection", id="breaks off"),
        pytest.param(llm_server.garbage(), "error", "did not answer in HTTP", id="garbage"),
        pytest.param(llm_server.fails(500), "error", "500: its own failure", id="500"),
        pytest.param(llm_server.says_text("I would rather not."), "error", "answered nothing that can be used", id="prose"),
        pytest.param(says("a label", 0.9), "error", "answered nothing that can be used", id="unknown label"),
    ],
)
def test_every_failure_has_its_status_and_a_reason(behaviour: Behaviour, status: str, reason: str) -> None:
    with LlmServer(behaviour) as server:
        outcome = start_call(keyless_provider(server)).join(SECONDS)
    assert (outcome.status, outcome.answer) == (status, None)
    assert reason in outcome.reason


def test_a_call_gives_up_by_itself_after_its_time() -> None:
    with LlmServer(llm_server.never()) as server:
        outcome = start_call(keyless_provider(server), seconds=0.1).join(SECONDS)
    assert outcome.status == "timeout"
    assert outcome.reason.endswith(" did not answer in time")


def test_what_comes_after_the_join_is_dropped() -> None:
    may_answer = threading.Event()
    with LlmServer(llm_server.when(may_answer, says("howto", 0.9))) as server:
        call = start_call(keyless_provider(server))
        assert call.join(0.0).status == "timeout"
        may_answer.set()
        assert call._ended.acquire(timeout=SECONDS)
        assert call._result is not None
        assert call._result.status == "success"
        assert (call.join(SECONDS).status, call.join(SECONDS).answer) == ("timeout", None)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_with_no_time_left_the_join_does_not_wait(seconds: float) -> None:
    with LlmServer(llm_server.never()) as server:
        assert start_call(keyless_provider(server)).join(seconds).status == "timeout"


RUN = """
import sys, os
sys.path.insert(0, sys.argv[1])
from subcog_hooks.intent import classifier
from subcog_hooks.llm import ask
from subcog_hooks.llm.providers import Provider
call = ask.Race(Provider("openai", sys.argv[2], "m", ""), classifier.build_question(""), classifier.parse_answer, 60.0)
print(call.join(float(sys.argv[3])).status, flush=True)
"""


@pytest.mark.parametrize("ending", ["", "os._exit(0)", "sys.exit(0)"])
def test_a_hanging_call_does_not_keep_a_process_alive(ending: str) -> None:
    with LlmServer(llm_server.never()) as server:
        command = [sys.executable, "-I", "-c", RUN + ending, str(ROOT), server.url_v1, str(ENDED)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=SECONDS)
    assert (done.stdout, done.stderr) == (b"timeout\n", b"")


LLM, OTHER = "openai http://localhost/v1 m", "anthropic https://api.anthropic.com claude-haiku-4-5"


NOW = 1_800_000_000_000


@pytest.fixture
def resting(state: State) -> State:
    """Three failures, the last one NOW."""
    for failed_ms in (NOW - 20, NOW - 10, NOW):
        record_call_failure(state, LLM, failed_ms)
    return state


@pytest.mark.parametrize(("spread", "may"), [(WINDOW_MS, False), (WINDOW_MS + 1, True)])
def test_three_failures_within_five_minutes_bring_a_rest(state: State, spread: int, may: bool) -> None:
    for failed_ms in (NOW - spread, NOW - 10):
        record_call_failure(state, LLM, failed_ms)
        assert may_call(state, LLM, NOW)
    record_call_success(state, LLM)  # which does not hide the failures
    record_call_failure(state, LLM, NOW)
    assert may_call(state, LLM, NOW) is may


@pytest.mark.parametrize(("after", "may"), [(0, False), (OPEN_MS - 1, False), (OPEN_MS, True)])
def test_a_rest_lasts_five_minutes(resting: State, after: int, may: bool) -> None:
    assert may_call(resting, LLM, NOW + after) is may


def test_after_a_rest_there_is_one_try(resting: State) -> None:
    assert [may_call(resting, LLM, NOW + OPEN_MS + late) for late in (0, 0, 100)] == [True, False, False]


def test_a_try_that_succeeds_ends_it(resting: State) -> None:
    assert may_call(resting, LLM, NOW + OPEN_MS)
    record_call_success(resting, LLM)
    assert [may_call(resting, LLM, NOW + OPEN_MS) for _ in range(2)] == [True, True]
    record_call_failure(resting, LLM, NOW + OPEN_MS)  # the old ones count no more
    assert may_call(resting, LLM, NOW + OPEN_MS)


def test_a_try_that_fails_brings_another_rest(resting: State) -> None:
    tried = NOW + 3 * OPEN_MS  # alone in its five minutes
    assert may_call(resting, LLM, tried)
    record_call_failure(resting, LLM, tried + 200)
    assert [may_call(resting, LLM, tried + after) for after in (OPEN_MS, OPEN_MS + 200)] == [False, True]


def test_a_try_that_is_killed_counts_as_failed(resting: State) -> None:
    assert may_call(resting, LLM, NOW + OPEN_MS)
    assert [may_call(resting, LLM, NOW + OPEN_MS + after) for after in (OPEN_MS - 1, OPEN_MS)] == [False, True]


def test_a_provider_has_failures_of_its_own(state: State) -> None:
    for at_ms in (100, 200, 200, 300):
        record_call_failure(state, "one", at_ms)
    record_call_failure(state, "two", 200)
    assert [may_call(state, provider, 300) for provider in ("one", "two")] == [False, True]
    record_call_success(state, "one")
    assert (count_failures(state, "one"), count_failures(state, "two")) == (0, 1)


@pytest.mark.parametrize(("behaviour", "count"), [(fails(500), 1), (fails(400), 0), (says_raw(b"no JSON"), 0)])
def test_only_a_server_that_does_not_work_counts_as_failed(state: State, behaviour: Behaviour, count: int) -> None:
    with LlmServer(behaviour) as server:
        provider = provider_at(server)
        with pytest.raises(ProviderError):
            ask_recorded(state, provider, build_question(""), SECONDS)
    assert count_failures(state, provider.circuit) == count


def test_failures_of_hooks_do_not_count_at_rest(state: State, home: Home) -> None:
    chosen = settings(provider="openai", at_rest="openai", model="m", base_url="http://localhost/v1")
    hooks, at_rest = providers.provider_of(chosen, home), providers.background_provider(chosen, home)
    assert hooks is not None
    assert at_rest is not None
    for _ in range(3):
        record_call_failure(state, hooks.circuit, NOW)
    assert (may_call(state, hooks.circuit, NOW), may_call(state, at_rest.circuit, NOW)) == (False, True)


DAY = 86_400_000


@pytest.mark.parametrize(("now_ms", "answer"), [(999, None), (1000, "{}"), (1499, "{}"), (1500, None)])
def test_an_answer_is_cached_for_its_time_by_a_sound_clock(state: State, now_ms: int, answer: str | None) -> None:
    ask.cache_answer(state, "key", "{}", 1000, 500)
    assert ask.find_cached_answer(state, "key", now_ms) == answer
    assert ask.find_cached_answer(state, "other", now_ms) is None
    ask.cache_answer(state, "key", "new", 1400, 500)
    assert ask.find_cached_answer(state, "key", 1600) == "new"
    ask.cache_answer(state, "brief", "{}", 1000, 0)
    assert ask.find_cached_answer(state, "brief", 1000) is None


def test_of_too_many_answers_the_oldest_go(state: State) -> None:
    state.begin()
    for number in range(MAX_ANSWERS + 3):
        ask.cache_answer(state, f"key {number}", "{}", 1000 + number, DAY)
    state.commit()
    kept = [number for number in range(MAX_ANSWERS + 3) if ask.find_cached_answer(state, f"key {number}", 3000)]
    assert kept == list(range(3, MAX_ANSWERS + 3))


def test_answers_whose_time_is_over_leave_the_file(state: State, home: Home) -> None:
    ask.cache_answer(state, "old", "{}", 1000, 500)
    ask.cache_answer(state, "new", "{}", 2000, 500)
    assert apsw.Connection(home.state_db).execute("SELECT key FROM llm_answers").fetchall() == [("new",)]


@pytest.fixture
def key() -> Callable[..., str]:
    def make_key(prompt: str = "Where is it?", name: str = "openai", base_url: str = "http://a/v1", model: str = "m") -> str:
        return ask.answer_key(Provider(name, base_url, model, "a key"), build_question(prompt))

    return make_key


def test_an_answer_is_kept_for_one_question_to_one_model(key: Callable[..., str]) -> None:
    others = [key("Where is it"), key(name="anthropic"), key(base_url="http://b/v1"), key(model="n")]
    assert len({key(), *others}) == 5
    assert key() == key()
    assert ask.answer_key(Provider("openai", "http://a/v1", "m", "another key"), build_question("Where is it?")) == key()


def count_failures(state: State, provider: str) -> int:
    return len(state.run("SELECT 1 FROM llm_failures WHERE provider = ?", (provider,)))
