"""The circuit breaker over a real state.db: three failures, a rest, one try."""

import threading

import pytest

from subcog_hooks.intent.breaker import REST_MS, WINDOW_MS, failed, may_ask, succeeded
from subcog_hooks.paths import Home
from subcog_hooks.state import State

LLM, OTHER = "openai http://localhost/v1 m", "anthropic https://api.anthropic.com claude-haiku-4-5"
NOW = 1_800_000_000_000


@pytest.fixture
def resting(state: State) -> State:
    """Three failures, the last one NOW."""
    for at in (NOW - 20, NOW - 10, NOW):
        failed(state, LLM, at)
    return state


def test_two_failures_are_forgiven(state: State) -> None:
    failed(state, LLM, NOW)
    failed(state, LLM, NOW)
    assert may_ask(state, LLM, NOW)


@pytest.mark.parametrize(("spread", "may"), [(WINDOW_MS, False), (WINDOW_MS + 1, True)])
def test_three_failures_within_five_minutes_bring_a_rest(state: State, spread: int, may: bool) -> None:
    for at in (NOW - spread, NOW - 10, NOW):
        failed(state, LLM, at)
    assert may_ask(state, LLM, NOW) is may


def test_a_success_between_failures_does_not_hide_them(state: State) -> None:
    failed(state, LLM, NOW)
    failed(state, LLM, NOW)
    succeeded(state, LLM)
    failed(state, LLM, NOW)
    assert not may_ask(state, LLM, NOW)


@pytest.mark.parametrize(("after", "may"), [(0, False), (REST_MS - 1, False), (REST_MS, True)])
def test_a_rest_lasts_five_minutes(resting: State, after: int, may: bool) -> None:
    assert may_ask(resting, LLM, NOW + after) is may


def test_after_a_rest_there_is_one_try(resting: State) -> None:
    assert [may_ask(resting, LLM, NOW + REST_MS + late) for late in (0, 0, 100)] == [True, False, False]


def test_a_try_that_succeeds_ends_it(resting: State) -> None:
    assert may_ask(resting, LLM, NOW + REST_MS)
    succeeded(resting, LLM)
    assert [may_ask(resting, LLM, NOW + REST_MS) for _ in range(2)] == [True, True]
    failed(resting, LLM, NOW + REST_MS)  # the old ones count no more
    assert may_ask(resting, LLM, NOW + REST_MS)


def test_a_try_that_fails_brings_another_rest(resting: State) -> None:
    tried = NOW + 3 * REST_MS  # alone in its five minutes
    assert may_ask(resting, LLM, tried)
    failed(resting, LLM, tried + 200)
    assert [may_ask(resting, LLM, tried + after) for after in (REST_MS, REST_MS + 200)] == [False, True]


def test_a_try_that_is_killed_counts_as_failed(resting: State) -> None:
    assert may_ask(resting, LLM, NOW + REST_MS)
    assert [may_ask(resting, LLM, NOW + REST_MS + after) for after in (REST_MS - 1, REST_MS)] == [False, True]


def test_of_many_hooks_at_once_one_tries(resting: State, home: Home) -> None:
    count = 8
    together = threading.Barrier(count)
    told: list[bool] = []

    def hook() -> None:
        state = State.open(home, 5_000)
        together.wait()
        told.append(may_ask(state, LLM, NOW + REST_MS))
        state.close()

    threads = [threading.Thread(target=hook) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False] * (count - 1) + [True]


def test_another_provider_is_not_concerned(resting: State) -> None:
    assert may_ask(resting, OTHER, NOW)
    succeeded(resting, OTHER)
    assert not may_ask(resting, LLM, NOW)


def test_a_clock_that_was_set_back_does_not_rest_for_ever(resting: State) -> None:
    year = 365 * 86_400_000
    assert may_ask(resting, LLM, NOW - year)
    failed(resting, LLM, NOW - year)
    assert not may_ask(resting, LLM, NOW - year)


def test_it_lasts_for_other_processes(resting: State, home: Home) -> None:
    resting.close()
    assert not may_ask(State.open(home, 100), LLM, NOW)
