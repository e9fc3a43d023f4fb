"""What state.db knows of sessions, and the user's flags: counted, bounded, nothing missed when it is gone."""

import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subcog_hooks import session_state
from subcog_hooks.errors import StoreBusy, UsageError
from subcog_hooks.paths import Home
from subcog_hooks.session_state import MAX_FLAGS, MAX_SESSIONS, SESSION_DAYS
from subcog_hooks.state import State

DAY = 86_400_000
SHOP = "github.com/acme/shop"


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 100)


def row(state: State, session: str) -> tuple[str, str, int, int, int] | None:
    """What is known of a session."""
    known = session_state.known(state, session)
    return None if known is None else (known.project, known.source, known.started_at, known.last_at, known.prompts)


# ---- sessions -------------------------------------------------------------------------------------------------------------


def test_a_session_counts_its_prompts(state: State) -> None:
    assert row(state, "one") is None
    session_state.begin(state, "one", SHOP, "startup", 1000)
    assert row(state, "one") == (SHOP, "startup", 1000, 1000, 0)
    session_state.seen(state, "one", SHOP, 2000)
    session_state.seen(state, "one", "elsewhere", 3000)
    session_state.touched(state, "one", 4000)
    assert row(state, "one") == (SHOP, "startup", 1000, 4000, 2)


def test_a_session_that_goes_on_keeps_its_prompts_and_what_it_said(state: State) -> None:
    session_state.begin(state, "one", SHOP, "startup", 1000)
    session_state.keep_said(state, "one", ["a", "b"])
    session_state.seen(state, "one", SHOP, 2000)
    session_state.begin(state, "one", "elsewhere", "resume", 9000)
    assert row(state, "one") == ("elsewhere", "resume", 1000, 9000, 1)
    assert session_state.said(state, "one") == ("a", "b")


def test_a_session_whose_start_was_not_heard_begins_with_its_first_prompt(state: State) -> None:
    session_state.touched(state, "one", 500)
    session_state.seen(state, "one", SHOP, 1000)
    assert row(state, "one") == (SHOP, "", 1000, 1000, 1)


def test_of_a_client_that_names_no_session_nothing_is_kept(state: State) -> None:
    session_state.begin(state, "", SHOP, "startup", 1000)
    session_state.seen(state, "", SHOP, 1000)
    session_state.touched(state, "", 1000)
    session_state.keep_said(state, "", ["a"])
    assert (row(state, ""), session_state.said(state, "")) == (None, None)
    assert session_state.days_since_last(state, "one", SHOP, 2000) is None


def test_the_last_session_is_another_one_of_this_project(state: State) -> None:
    session_state.begin(state, "old", SHOP, "startup", 0)
    session_state.begin(state, "older", SHOP, "startup", 0)
    session_state.touched(state, "old", 2 * DAY)
    session_state.begin(state, "elsewhere", "github.com/acme/docs", "startup", 8 * DAY)
    session_state.begin(state, "nowhere", "", "startup", 7 * DAY)
    session_state.begin(state, "now", SHOP, "startup", 9 * DAY)
    days = [session_state.days_since_last(state, "now", project, 9 * DAY) for project in (SHOP, "", "github.com/acme/crane")]
    assert days == [7.0, 2.0, None]
    assert session_state.days_since_last(state, "now", SHOP, DAY) == 0.0  # the clock was set back


def test_sessions_of_long_ago_are_forgotten(state: State) -> None:
    session_state.begin(state, "old", SHOP, "startup", 0)
    session_state.begin(state, "recent", SHOP, "startup", DAY)
    session_state.seen(state, "new", SHOP, (SESSION_DAYS + 1) * DAY)
    assert row(state, "old") is None
    assert row(state, "recent") is not None
    session_state.begin(state, "newer", SHOP, "startup", (SESSION_DAYS + 2) * DAY)
    assert row(state, "recent") is None


def test_of_too_many_sessions_those_go_that_were_silent_longest(state: State) -> None:
    state.begin()
    for number in range(MAX_SESSIONS):
        session_state.begin(state, f"s{number}", SHOP, "startup", 1000 + number)
    session_state.touched(state, "s0", 9000)
    for number in range(MAX_SESSIONS, MAX_SESSIONS + 3):
        session_state.seen(state, f"s{number}", SHOP, 10_000 + number)
    state.commit()
    assert [number for number in range(MAX_SESSIONS + 3) if row(state, f"s{number}") is None] == [1, 2, 3]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_a_session_may_have_any_name(state: State, session: str) -> None:
    session_state.begin(state, session, SHOP, "startup", 1000)
    session_state.keep_said(state, session, [session])
    assert row(state, session) == (SHOP, "startup", 1000, 1000, 0)
    assert session_state.said(state, session) == (session,)


def test_what_a_start_said_is_told_from_not_having_said_anything(state: State) -> None:
    assert session_state.said(state, "one") is None
    session_state.begin(state, "one", SHOP, "startup", 1000)
    assert session_state.said(state, "one") is None
    session_state.keep_said(state, "one", [])
    assert session_state.said(state, "one") == ()


@pytest.mark.parametrize("text", ["", "[", "7", '{"a": 1}'])
def test_what_another_program_wrote_as_said_is_not_known(state: State, home: Home, text: str) -> None:
    session_state.begin(state, "one", SHOP, "startup", 1000)
    apsw.Connection(home.state_db).execute("UPDATE sessions SET said = ?", (text,))
    assert session_state.said(state, "one") is None


def test_two_hooks_at_once_count_both_their_prompts(state: State, home: Home) -> None:
    count = (
        "import sys; from subcog_hooks import session_state; from subcog_hooks.paths import Home;"
        " from subcog_hooks.state import State; state = State.open(Home(sys.argv[1]), 10_000);"
        " [session_state.seen(state, 'one', 'p', at) for at in range(1, 51)]"
    )
    both = [subprocess.Popen([sys.executable, "-c", count, home.root]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    known = session_state.known(state, "one")
    assert known is not None
    assert known.prompts == 100


def test_a_session_can_be_noted_in_a_transaction_of_the_callers_or_not_at_all(state: State, home: Home) -> None:
    state.begin()
    session_state.seen(state, "one", SHOP, 1000)
    with pytest.raises(StoreBusy):
        session_state.seen(State.open(home, 1), "two", SHOP, 1000)
    state.roll_back()
    assert row(state, "one") is None


# ---- flags ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, False, 0, 1, -7, 2.5, "", "tired", "true", "7", 'a"b', "hafen-ö", "🚢"])
def test_a_flag_keeps_its_value_and_what_kind_it_is(state: State, value: float | str) -> None:
    session_state.set_flag(state, "flag", value)
    (found,) = session_state.flags(state).values()
    assert (found, type(found)) == (value, type(value))


def test_flags_are_set_anew_and_taken_away(state: State) -> None:
    assert session_state.flags(state) == {}
    session_state.set_flag(state, "mood", "tired")
    session_state.set_flag(state, "level", 1)
    session_state.set_flag(state, "mood", "well")
    assert session_state.flags(state) == {"level": 1, "mood": "well"}
    assert [session_state.clear_flag(state, "mood") for _ in range(2)] == [True, False]
    assert session_state.flags(state) == {"level": 1}


def test_flags_are_bounded(state: State) -> None:
    for number in range(MAX_FLAGS):
        session_state.set_flag(state, f"flag{number}", True)
    with pytest.raises(UsageError, match="200 flags are set"):
        session_state.set_flag(state, "another", True)
    session_state.set_flag(state, "flag7", False)
    assert session_state.flags(state)["flag7"] is False


def test_a_flag_that_another_program_spoilt_is_not_set(state: State, home: Home) -> None:
    rows = [("a", "true"), ("b", "["), ("c", "[1]"), ("d", "null")]
    apsw.Connection(home.state_db).executemany("INSERT INTO user_flags VALUES (?, ?)", rows)
    assert session_state.flags(state) == {"a": True}


def test_a_state_that_was_deleted_knows_no_session_and_no_flag(state: State, home: Home) -> None:
    session_state.begin(state, "one", SHOP, "startup", 1000)
    session_state.set_flag(state, "mood", "tired")
    state.close()
    for suffix in ("", "-wal", "-shm"):
        Path(home.state_db + suffix).unlink(missing_ok=True)
    anew = State.open(home, 100)
    session_state.seen(anew, "one", SHOP, 2000)
    assert row(anew, "one") == (SHOP, "", 2000, 2000, 1)
    assert session_state.flags(anew) == {}
    assert session_state.days_since_last(anew, "one", SHOP, 2000) is None
