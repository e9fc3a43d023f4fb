"""Stop, PreCompact, SessionEnd: a session was at work; nothing else changes, nothing is printed, nobody waits."""

import os

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import main
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.store import sessions
from subcog_hooks.store.state import State


@pytest.fixture
def state(home: Home) -> State:
    """Store a session `s` that was last active long ago, and its given memory."""
    home.create()
    state = State.open(home, 1_000)
    sessions.begin_session(state, "s", "shop", "startup", 1_000)
    sessions.note_prompt(state, "s", "shop", 2_000)
    sessions.record_given(state, "s", ("m",), 2_000, "d")
    return state


def test_it_is_noted_that_a_session_was_at_work(home: Home, state: State) -> None:
    main.note_session_activity({"session_id": "s"}, home, Deadline(5_000))
    session = sessions.find_session(state, "s")
    assert session is not None
    assert session.last_at > 1_000_000_000_000
    assert (session.started_at, session.prompts, session.source, session.project) == (1_000, 1, "startup", "shop")
    assert sessions.find_given(state, "s") == {"m"}


@pytest.mark.parametrize("session", ["unknown", "", None, 3, f"{TRIAL}1"])
def test_of_other_sessions_nothing_is_noted(home: Home, state: State, session: object) -> None:
    before = state.run("SELECT * FROM sessions")
    main.note_session_activity({"session_id": session}, home, Deadline(5_000))
    assert state.run("SELECT * FROM sessions") == before


def test_where_there_is_no_state_none_is_made(home: Home) -> None:
    main.note_session_activity({"session_id": "s"}, home, Deadline(5_000))
    assert not os.path.exists(home.root)


def test_while_somebody_writes_nothing_is_noted_and_nobody_waits(home: Home, state: State) -> None:
    state.begin()
    deadline = Deadline(60_000)
    main.note_session_activity({"session_id": "s"}, home, deadline)
    assert deadline.left_ms() > 30_000
    state.commit()
    session = sessions.find_session(state, "s")
    assert session is not None
    assert session.last_at == 2_000
