"""Sessions and the user's flags in state.db: counted, bounded, and not missed when the file is gone."""

import json
import subprocess
import sys

import pytest

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import facts
from subcog_hooks.hook import session as starts
from subcog_hooks.store import past_runs, sessions, verdicts
from subcog_hooks.store.past_runs import LOOK_MS, MAX_RUNNING, WAITS_MS
from subcog_hooks.store.sessions import MAX_SESSIONS, SESSION_DAYS
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import MOVED_ON, WAITING, RecordedVerdict

DAY = 86_400_000


SHOP = "github.com/acme/shop"


def row(state: State, session: str) -> tuple[str, str, int, int] | None:
    rows = state.run("SELECT project, source, last_at, prompts FROM sessions WHERE session = ?", (session,))
    record = sessions.find_session(state, session)
    assert [(found[1], found[3]) for found in rows] == ([(record.source, record.prompts)] if record else [])
    return rows[0] if rows else None


def test_a_session_counts_its_prompts(state: State) -> None:
    assert row(state, "one") is None
    starts.begin_session(state, "one", SHOP, "startup", 1000)
    assert row(state, "one") == (SHOP, "startup", 1000, 0)
    sessions.note_prompt(state, "one", SHOP, 2000)
    sessions.note_prompt(state, "one", "elsewhere", 3000)
    assert row(state, "one") == (SHOP, "startup", 3000, 2)


def test_resumed_session_keeps_its_prompts_and_printed_ids(state: State) -> None:
    starts.begin_session(state, "one", SHOP, "startup", 1000)
    starts.keep_printed_ids(state, "one", ["a", "b"])
    sessions.note_prompt(state, "one", SHOP, 2000)
    starts.begin_session(state, "one", "elsewhere", "resume", 9000)
    assert row(state, "one") == ("elsewhere", "resume", 9000, 1)
    assert starts.find_printed_ids(state, "one") == ("a", "b")


def test_session_without_a_start_begins_with_its_first_prompt(state: State) -> None:
    sessions.note_prompt(state, "one", SHOP, 1000)
    assert row(state, "one") == (SHOP, "", 1000, 1)


def test_of_a_client_that_names_no_session_nothing_is_kept(state: State) -> None:
    starts.begin_session(state, "", SHOP, "startup", 1000)
    sessions.note_prompt(state, "", SHOP, 1000)
    starts.keep_printed_ids(state, "", ["a"])
    assert (row(state, ""), starts.find_printed_ids(state, "")) == (None, None)
    assert facts.days_since_last(state, "one", SHOP, 2000) is None


def test_the_last_session_is_another_one_of_this_project(state: State) -> None:
    starts.begin_session(state, "old", SHOP, "startup", 0)
    starts.begin_session(state, "older", SHOP, "startup", 0)
    sessions.note_prompt(state, "old", SHOP, 2 * DAY)
    starts.begin_session(state, "elsewhere", "github.com/acme/docs", "startup", 8 * DAY)
    starts.begin_session(state, "nowhere", "", "startup", 7 * DAY)
    starts.begin_session(state, "now", SHOP, "startup", 9 * DAY)
    days = [facts.days_since_last(state, "now", project, 9 * DAY) for project in (SHOP, "", "github.com/acme/crane")]
    assert days == [7.0, 2.0, None]
    assert facts.days_since_last(state, "now", SHOP, DAY) == 0.0  # the clock was set back


def test_sessions_of_long_ago_are_forgotten(state: State) -> None:
    starts.begin_session(state, "old", SHOP, "startup", 0)
    starts.begin_session(state, "recent", SHOP, "startup", DAY)
    sessions.note_prompt(state, "new", SHOP, (SESSION_DAYS + 1) * DAY)
    assert row(state, "old") is None
    assert row(state, "recent") is not None
    starts.begin_session(state, "newer", SHOP, "startup", (SESSION_DAYS + 2) * DAY)
    assert row(state, "recent") is None


def test_of_too_many_sessions_those_go_that_were_silent_longest(state: State) -> None:
    state.begin()
    for number in range(MAX_SESSIONS):
        starts.begin_session(state, f"s{number}", SHOP, "startup", 1000 + number)
    sessions.note_prompt(state, "s0", SHOP, 9000)
    for number in range(MAX_SESSIONS, MAX_SESSIONS + 3):
        sessions.note_prompt(state, f"s{number}", SHOP, 10_000 + number)
    state.commit()
    assert [number for number in range(MAX_SESSIONS + 3) if row(state, f"s{number}") is None] == [1, 2, 3]


def test_empty_start_differs_from_an_unknown_start(state: State) -> None:
    assert starts.find_printed_ids(state, "one") is None
    starts.begin_session(state, "one", SHOP, "startup", 1000)
    assert starts.find_printed_ids(state, "one") is None
    starts.keep_printed_ids(state, "one", [])
    assert starts.find_printed_ids(state, "one") == ()


def test_two_hooks_at_once_count_both_their_prompts(state: State, home: Home) -> None:
    count = (
        "import sys; from subcog_hooks.store import sessions; from subcog_hooks.core.paths import Home;"
        " from subcog_hooks.store.state import State; state = State.open(Home(sys.argv[1]), 10_000);"
        " [sessions.note_prompt(state, 'one', 'p', at) for at in range(1, 51)]"
    )
    both = [subprocess.Popen([sys.executable, "-c", count, home.root]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    record = sessions.find_session(state, "one")
    assert record is not None
    assert record.prompts == 100


def test_session_is_rolled_back_with_the_callers_transaction(state: State, home: Home) -> None:
    state.begin()
    sessions.note_prompt(state, "one", SHOP, 1000)
    with pytest.raises(StoreBusy):
        sessions.note_prompt(State.open(home, 1), "two", SHOP, 1000)
    state.roll_back()
    assert row(state, "one") is None


@pytest.mark.parametrize("value", [True, False, 0, 1, -7, 2.5, "", "tired", "true", "7", 'a"b', "hafen-ö", "🚢"])
def test_a_flag_keeps_its_value_and_what_kind_it_is(state: State, value: float | str) -> None:
    state.run("INSERT INTO user_flags VALUES ('flag', ?)", (json.dumps(value),))
    (flag,) = facts.find_flags(state).values()
    assert (flag, type(flag)) == (value, type(value))


NOW = 1_700_000_000_000


FOUND = [("m1", 0.5), ("m2", 0.3)]


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


def test_no_more_run_at_once_than_may(state: State) -> None:
    assert [begin(state, f"d{number}", f"s{number}") for number in range(MAX_RUNNING + 1)] == [True] * MAX_RUNNING + [False]
    assert past_runs.end_look(state, "d0", "look", [], NOW) is False
    assert begin(state, "next", "s")


def test_killed_looks_make_room_after_their_time(state: State) -> None:
    for number in range(MAX_RUNNING):
        begin(state, f"d{number}", f"s{number}")
    assert not begin(state, "next", "s", NOW + LOOK_MS)
    assert begin(state, "next", "s", NOW + LOOK_MS + 1)


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


def test_another_prompt_drops_a_look_that_runs(state: State) -> None:
    begin(state, "d", "s")
    past_runs.drop_session_looks(state, "s")
    assert past_runs.end_look(state, "d", "look", FOUND, NOW) is False
    assert state.run("SELECT * FROM second_looks") == []


def test_what_nobody_came_for_is_forgotten(state: State) -> None:
    waits(state)
    begin(state, "next", "t", NOW + WAITS_MS + 1)
    assert outcome_of(state, "look-d") == MOVED_ON
