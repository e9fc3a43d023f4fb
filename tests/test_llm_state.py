"""What state.db knows of LLMs: answers for their time, failures by provider, a rest that one process prolongs."""

import apsw
import pytest

from subcog_hooks import llm_state
from subcog_hooks.llm_state import MAX_ANSWERS
from subcog_hooks.paths import Home
from subcog_hooks.state import State

DAY = 86_400_000


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 100)


@pytest.mark.parametrize(("now_ms", "answer"), [(999, None), (1000, "{}"), (1499, "{}"), (1500, None)])
def test_an_answer_is_kept_for_its_time_and_not_believed_by_a_clock_set_back(
    state: State, now_ms: int, answer: str | None
) -> None:
    llm_state.keep_answer(state, "key", "{}", 1000, 500)
    assert llm_state.answer(state, "key", now_ms) == answer
    assert llm_state.answer(state, "other", now_ms) is None


def test_an_answer_with_no_time_is_not_kept(state: State) -> None:
    llm_state.keep_answer(state, "key", "{}", 1000, 0)
    assert llm_state.answer(state, "key", 1000) is None


def test_a_newer_answer_takes_the_place_of_an_older_one(state: State) -> None:
    llm_state.keep_answer(state, "key", "old", 1000, 500)
    llm_state.keep_answer(state, "key", "new", 1400, 500)
    assert llm_state.answer(state, "key", 1600) == "new"


def test_of_too_many_answers_the_oldest_go(state: State) -> None:
    state.begin()
    for number in range(MAX_ANSWERS + 3):
        llm_state.keep_answer(state, f"key {number}", "{}", 1000 + number, DAY)
    state.commit()
    kept = [number for number in range(MAX_ANSWERS + 3) if llm_state.answer(state, f"key {number}", 3000)]
    assert kept == list(range(3, MAX_ANSWERS + 3))


def test_answers_whose_time_is_over_leave_the_file(state: State, home: Home) -> None:
    llm_state.keep_answer(state, "old", "{}", 1000, 500)
    llm_state.keep_answer(state, "new", "{}", 2000, 500)
    assert apsw.Connection(home.state_db).execute("SELECT key FROM llm_answers").fetchall() == [("new",)]


def test_a_provider_has_failures_of_its_own(state: State) -> None:
    for at_ms in (100, 200, 200, 300):
        llm_state.note_failure(state, "one", at_ms)
    llm_state.note_failure(state, "two", 200)
    assert llm_state.failures(state, "one", 200, 250) == 2
    assert llm_state.failures(state, "one", 0, 1000) == 3  # the first is forgotten
    assert llm_state.failures(state, "two", 0, 1000) == 1
    llm_state.trust(state, "one")
    assert (llm_state.failures(state, "one", 0, 1000), llm_state.failures(state, "two", 0, 1000)) == (0, 1)


def test_of_two_processes_one_prolongs_a_rest(state: State, home: Home) -> None:
    assert llm_state.rest(state, "one") is None
    assert not llm_state.prolong_rest(state, "one", 1000, 2000)
    llm_state.let_rest(state, "one", 1000)
    other = State.open(home, 100)
    seen, seen_by_other = llm_state.rest(state, "one"), llm_state.rest(other, "one")
    assert seen is not None
    assert seen == seen_by_other == 1000
    assert [llm_state.prolong_rest(each, "one", seen, 2000) for each in (state, other)] == [True, False]
    assert llm_state.rest(other, "one") == 2000
    llm_state.trust(state, "one")
    assert llm_state.rest(other, "one") is None
