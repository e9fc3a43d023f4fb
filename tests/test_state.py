"""state.db: the ledger, the pause, and that nothing in it is missed when it is gone."""

import os

import apsw
import pytest

from subcog_hooks.errors import StoreBusy
from subcog_hooks.paths import Home
from subcog_hooks.state import LONG_WAL, State

DAY = 86_400_000


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 100)


def test_a_session_knows_what_it_was_given_and_others_do_not(state: State) -> None:
    state.begin()
    state.record("one", ("a", "b"), 1000)
    state.commit()
    assert state.injected("one") == {"a", "b"}
    assert state.injected("two") == set()


def test_sessions_of_long_ago_are_forgotten(state: State) -> None:
    for session, at in (("old", DAY), ("new", 32 * DAY)):
        state.begin()
        state.record(session, ("a",), at)
        state.commit()
    assert state.injected("old") == set()
    assert state.injected("new") == {"a"}


def test_a_second_hook_waits_for_the_first_one_of_its_session(state: State, home: Home) -> None:
    state.begin()
    with pytest.raises(StoreBusy):
        State.open(home, 1).begin()


def test_a_pause_ends_by_itself_or_by_hand(state: State) -> None:
    assert not state.paused(0)
    state.pause(until_ms=1000)
    assert state.paused(999)
    assert not state.paused(1000)
    state.pause(until_ms=None)
    assert state.paused(10**15)
    assert state.resume(0)
    assert not state.resume(0)
    assert not state.paused(0)


def test_a_damaged_file_is_put_aside_and_made_anew(state: State, home: Home) -> None:
    state.pause(None)
    state.close()
    with open(home.state_db, "wb") as file:
        file.write(b"not a database at all, but long enough to be read as one" * 100)
    assert not State.open(home, 100).paused(0)
    assert os.path.exists(home.state_db + ".damaged")


def test_hooks_that_never_close_leave_a_short_log_behind(state: State, home: Home) -> None:
    kept = []
    for i in range(3 * LONG_WAL):
        state.begin()
        state.record(f"session {i}", ("a",), i)
        state.commit()
        kept.append(state)  # as a hook does, which ends by os._exit
        state = State.open(home, 100)
    assert os.path.getsize(home.state_db + "-wal") < 2 * LONG_WAL * 4200


def test_a_state_of_another_program_is_not_trusted(home: Home) -> None:
    home.create()
    other = apsw.Connection(home.state_db)
    other.execute("CREATE TABLE flags (x)")
    other.close()
    assert not State.open(home, 100).paused(0)
