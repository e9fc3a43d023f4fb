"""Second looks in state.db: the limit of running looks, waiting answers, and their outcomes."""

from collections.abc import Iterator

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import past_runs, sessions, verdicts
from subcog_hooks.store.past_runs import LOOK_MS, MAX_RUNNING, WAITS_MS
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import HANDED_OVER, MOVED_ON, WAITING, RecordedVerdict

NOW = 1_700_000_000_000
FOUND = [("m1", 0.5), ("m2", 0.3)]


@pytest.fixture
def state(home: Home) -> Iterator[State]:
    home.create()
    opened = State.open(home, 1_000)
    yield opened
    opened.close()


def begin(state: State, verdict: str, session: str, now: int = NOW) -> bool:
    state.begin()
    may_begin = past_runs.begin_look(state, verdict, session, now)
    state.commit()
    return may_begin


def waits(state: State, verdict: str = "d", session: str = "s") -> None:
    """A look that has found something, and the verdict that it was."""
    assert begin(state, verdict, session)
    assert past_runs.end_look(state, verdict, f"look-{verdict}", FOUND, NOW)
    look = RecordedVerdict(f"look-{verdict}", NOW, verdicts.LOOK_EVENT, session, "", WAITING, looked_at=verdict, later_ms=1_300)
    verdicts.keep_verdict(state, look, NOW)


def outcome_of(state: State, look: str) -> str:
    verdict = past_runs.find_verdict(state, look)
    assert verdict is not None
    return verdict.outcome


def counts(state: State) -> dict[str, float]:
    return {
        metric.labels: metric.value
        for metric in past_runs.read_metrics(state)
        if metric.name == verdicts.SECOND_LOOKS_TOTAL and isinstance(metric, past_runs.Counter)
    }


def test_no_more_run_at_once_than_may(state: State) -> None:
    assert [begin(state, f"d{number}", f"s{number}") for number in range(MAX_RUNNING + 1)] == [True] * MAX_RUNNING + [False]
    assert past_runs.end_look(state, "d0", "look", [], NOW) is False
    assert begin(state, "next", "s")


def test_killed_looks_make_room_after_their_time(state: State) -> None:
    for number in range(MAX_RUNNING):
        begin(state, f"d{number}", f"s{number}")
    assert not begin(state, "next", "s", NOW + LOOK_MS)
    assert begin(state, "next", "s", NOW + LOOK_MS + 1)


def test_a_clock_that_was_ahead_blocks_nothing(state: State) -> None:
    for number in range(MAX_RUNNING):
        begin(state, f"d{number}", f"s{number}", NOW + 10**9)
    assert begin(state, "next", "s", NOW)


def test_simultaneous_prompt_of_another_session_loses_no_look(state: State) -> None:
    begin(state, "later", "t", NOW + 40)  # its hook was the faster one
    begin(state, "d", "s", NOW)
    assert past_runs.end_look(state, "later", "look", FOUND, NOW)
    assert past_runs.end_look(state, "d", "look", FOUND, NOW)


def test_answer_waits_for_its_session_for_a_while(state: State) -> None:
    waits(state)
    for session, time_ms, is_there in (
        ("s", NOW, True),
        ("s", NOW + WAITS_MS, True),
        ("s", NOW + WAITS_MS + 1, False),
        ("t", NOW, False),
    ):
        assert (past_runs.find_waiting_answer(state, session, time_ms) is not None) is is_there
    waiting = past_runs.find_waiting_answer(state, "s", NOW)
    assert waiting is not None
    assert [tuple(finding) for finding in waiting.findings] == FOUND
    assert sessions.has_second_look(state, "s")
    assert not sessions.has_second_look(state, "t")
    assert not sessions.has_second_look(state, "")


def test_handed_over_answer_is_gone_and_recorded(state: State) -> None:
    waits(state)
    waiting = past_runs.find_waiting_answer(state, "s", NOW)
    assert waiting is not None
    past_runs.settle_look(state, waiting, HANDED_OVER, "call-1")
    assert past_runs.find_waiting_answer(state, "s", NOW) is None
    look = past_runs.find_verdict(state, "look-d")
    assert look is not None
    assert (look.outcome, look.reason, look.looked_at, look.later_ms) == (HANDED_OVER, "call-1", "d", 1_300)
    past_runs.settle_look(state, waiting, MOVED_ON, "too late")  # as another process may try
    assert outcome_of(state, "look-d") == HANDED_OVER
    assert counts(state) == {f'outcome="{HANDED_OVER}"': 1.0}


def test_another_prompt_drops_an_answer(state: State) -> None:
    waits(state)
    past_runs.drop_session_looks(state, "s")
    assert past_runs.find_waiting_answer(state, "s", NOW) is None
    assert outcome_of(state, "look-d") == MOVED_ON


def test_another_prompt_drops_a_look_that_runs(state: State) -> None:
    begin(state, "d", "s")
    past_runs.drop_session_looks(state, "s")
    assert past_runs.end_look(state, "d", "look", FOUND, NOW) is False
    assert state.run("SELECT * FROM second_looks") == []


def test_what_nobody_came_for_is_forgotten(state: State) -> None:
    waits(state)
    begin(state, "next", "t", NOW + WAITS_MS + 1)
    assert outcome_of(state, "look-d") == MOVED_ON


def test_second_look_and_its_prompt_find_each_other(state: State) -> None:
    prompt = RecordedVerdict("d", NOW, "UserPromptSubmit", "s", "", "below")
    verdicts.keep_verdict(state, prompt, NOW)
    waits(state)
    look = past_runs.find_second_look(state, prompt)
    assert look is not None
    assert look.id == "look-d"
    assert past_runs.find_second_look(state, RecordedVerdict("e", NOW, "UserPromptSubmit", "s", "", "below")) is None
