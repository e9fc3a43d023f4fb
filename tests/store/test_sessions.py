"""Sessions and the user's flags in state.db: counted, bounded, and not missed when the file is gone."""

import subprocess
import sys

import pytest

from subcog_hooks.core.errors import StoreBusy, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.store import sessions, state_values
from subcog_hooks.store.sessions import MAX_SESSIONS, SESSION_DAYS
from subcog_hooks.store.state import State
from subcog_hooks.store.state_values import MAX_FLAGS

DAY = 86_400_000
SHOP = "github.com/acme/shop"


def row(state: State, session: str) -> tuple[str, str, int, int, int] | None:
    record = sessions.find_session(state, session)
    if record is None:
        return None
    return (record.project, record.source, record.started_at, record.last_at, record.prompts)


# ---- sessions -------------------------------------------------------------------------------------------------------------


def test_a_session_counts_its_prompts(state: State) -> None:
    assert row(state, "one") is None
    sessions.begin_session(state, "one", SHOP, "startup", 1000)
    assert row(state, "one") == (SHOP, "startup", 1000, 1000, 0)
    sessions.note_prompt(state, "one", SHOP, 2000)
    sessions.note_prompt(state, "one", "elsewhere", 3000)
    sessions.note_activity(state, "one", 4000)
    assert row(state, "one") == (SHOP, "startup", 1000, 4000, 2)


def test_resumed_session_keeps_its_prompts_and_printed_ids(state: State) -> None:
    sessions.begin_session(state, "one", SHOP, "startup", 1000)
    sessions.keep_printed_ids(state, "one", ["a", "b"])
    sessions.note_prompt(state, "one", SHOP, 2000)
    sessions.begin_session(state, "one", "elsewhere", "resume", 9000)
    assert row(state, "one") == ("elsewhere", "resume", 1000, 9000, 1)
    assert sessions.find_printed_ids(state, "one") == ("a", "b")


def test_session_without_a_start_begins_with_its_first_prompt(state: State) -> None:
    sessions.note_activity(state, "one", 500)
    sessions.note_prompt(state, "one", SHOP, 1000)
    assert row(state, "one") == (SHOP, "", 1000, 1000, 1)


def test_of_a_client_that_names_no_session_nothing_is_kept(state: State) -> None:
    sessions.begin_session(state, "", SHOP, "startup", 1000)
    sessions.note_prompt(state, "", SHOP, 1000)
    sessions.note_activity(state, "", 1000)
    sessions.keep_printed_ids(state, "", ["a"])
    assert (row(state, ""), sessions.find_printed_ids(state, "")) == (None, None)
    assert sessions.days_since_last(state, "one", SHOP, 2000) is None


def test_the_last_session_is_another_one_of_this_project(state: State) -> None:
    sessions.begin_session(state, "old", SHOP, "startup", 0)
    sessions.begin_session(state, "older", SHOP, "startup", 0)
    sessions.note_activity(state, "old", 2 * DAY)
    sessions.begin_session(state, "elsewhere", "github.com/acme/docs", "startup", 8 * DAY)
    sessions.begin_session(state, "nowhere", "", "startup", 7 * DAY)
    sessions.begin_session(state, "now", SHOP, "startup", 9 * DAY)
    days = [sessions.days_since_last(state, "now", project, 9 * DAY) for project in (SHOP, "", "github.com/acme/crane")]
    assert days == [7.0, 2.0, None]
    assert sessions.days_since_last(state, "now", SHOP, DAY) == 0.0  # the clock was set back


def test_sessions_of_long_ago_are_forgotten(state: State) -> None:
    sessions.begin_session(state, "old", SHOP, "startup", 0)
    sessions.begin_session(state, "recent", SHOP, "startup", DAY)
    sessions.note_prompt(state, "new", SHOP, (SESSION_DAYS + 1) * DAY)
    assert row(state, "old") is None
    assert row(state, "recent") is not None
    sessions.begin_session(state, "newer", SHOP, "startup", (SESSION_DAYS + 2) * DAY)
    assert row(state, "recent") is None


def test_of_too_many_sessions_those_go_that_were_silent_longest(state: State) -> None:
    state.begin()
    for number in range(MAX_SESSIONS):
        sessions.begin_session(state, f"s{number}", SHOP, "startup", 1000 + number)
    sessions.note_activity(state, "s0", 9000)
    for number in range(MAX_SESSIONS, MAX_SESSIONS + 3):
        sessions.note_prompt(state, f"s{number}", SHOP, 10_000 + number)
    state.commit()
    assert [number for number in range(MAX_SESSIONS + 3) if row(state, f"s{number}") is None] == [1, 2, 3]


def test_empty_start_differs_from_an_unknown_start(state: State) -> None:
    assert sessions.find_printed_ids(state, "one") is None
    sessions.begin_session(state, "one", SHOP, "startup", 1000)
    assert sessions.find_printed_ids(state, "one") is None
    sessions.keep_printed_ids(state, "one", [])
    assert sessions.find_printed_ids(state, "one") == ()


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


# ---- flags ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, False, 0, 1, -7, 2.5, "", "tired", "true", "7", 'a"b', "hafen-ö", "🚢"])
def test_a_flag_keeps_its_value_and_what_kind_it_is(state: State, value: float | str) -> None:
    state_values.set_flag(state, "flag", value)
    (flag,) = state_values.find_flags(state).values()
    assert (flag, type(flag)) == (value, type(value))


def test_flags_are_set_anew_and_taken_away(state: State) -> None:
    assert state_values.find_flags(state) == {}
    state_values.set_flag(state, "mood", "tired")
    state_values.set_flag(state, "level", 1)
    state_values.set_flag(state, "mood", "well")
    assert state_values.find_flags(state) == {"level": 1, "mood": "well"}
    assert [state_values.clear_flag(state, "mood") for _ in range(2)] == [True, False]
    assert state_values.find_flags(state) == {"level": 1}


def test_flags_are_bounded(state: State) -> None:
    for number in range(MAX_FLAGS):
        state_values.set_flag(state, f"flag{number}", True)
    with pytest.raises(UsageError, match="200 flags are set"):
        state_values.set_flag(state, "another", True)
    state_values.set_flag(state, "flag7", False)
    assert state_values.find_flags(state)["flag7"] is False
