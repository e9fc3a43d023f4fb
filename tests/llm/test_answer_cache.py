"""Kept answers: for their time, for one question to one model."""

from collections.abc import Callable

import apsw
import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.intent.classifier import build_question
from subcog_hooks.llm import breaker
from subcog_hooks.llm.breaker import MAX_ANSWERS
from subcog_hooks.llm.providers import Provider
from subcog_hooks.store.state import State

DAY = 86_400_000


@pytest.mark.parametrize(("now_ms", "answer"), [(999, None), (1000, "{}"), (1499, "{}"), (1500, None)])
def test_an_answer_is_cached_for_its_time_by_a_sound_clock(state: State, now_ms: int, answer: str | None) -> None:
    breaker.cache_answer(state, "key", "{}", 1000, 500)
    assert breaker.find_cached_answer(state, "key", now_ms) == answer
    assert breaker.find_cached_answer(state, "other", now_ms) is None
    breaker.cache_answer(state, "key", "new", 1400, 500)
    assert breaker.find_cached_answer(state, "key", 1600) == "new"
    breaker.cache_answer(state, "brief", "{}", 1000, 0)
    assert breaker.find_cached_answer(state, "brief", 1000) is None


def test_of_too_many_answers_the_oldest_go(state: State) -> None:
    state.begin()
    for number in range(MAX_ANSWERS + 3):
        breaker.cache_answer(state, f"key {number}", "{}", 1000 + number, DAY)
    state.commit()
    kept = [number for number in range(MAX_ANSWERS + 3) if breaker.find_cached_answer(state, f"key {number}", 3000)]
    assert kept == list(range(3, MAX_ANSWERS + 3))


def test_answers_whose_time_is_over_leave_the_file(state: State, home: Home) -> None:
    breaker.cache_answer(state, "old", "{}", 1000, 500)
    breaker.cache_answer(state, "new", "{}", 2000, 500)
    assert apsw.Connection(home.state_db).execute("SELECT key FROM llm_answers").fetchall() == [("new",)]


@pytest.fixture
def key() -> Callable[..., str]:
    def make_key(prompt: str = "Where is it?", name: str = "openai", base_url: str = "http://a/v1", model: str = "m") -> str:
        return breaker.answer_key(Provider(name, base_url, model, "a key"), build_question(prompt))

    return make_key


def test_an_answer_is_kept_for_one_question_to_one_model(key: Callable[..., str]) -> None:
    others = [key("Where is it"), key(name="anthropic"), key(base_url="http://b/v1"), key(model="n")]
    assert len({key(), *others}) == 5
    assert key() == key()
    assert breaker.answer_key(Provider("openai", "http://a/v1", "m", "another key"), build_question("Where is it?")) == key()


def test_what_the_llm_is_not_shown_makes_no_other_key(key: Callable[..., str]) -> None:
    head, tail = "a" * 2_000, "z" * 2_000
    assert key(head + "b" * 100 + tail) == key(head + "c" * 200 + tail)
    assert len(key("half a pair: \ud800")) == 64
