"""SessionStart: after a compaction a session may hear its memories again, and after nothing else that starts one."""

import os

import pytest

from subcog_hooks.deadline import Deadline
from subcog_hooks.hooks import session_start
from subcog_hooks.paths import Home
from subcog_hooks.state import Earlier, State


@pytest.fixture
def state(home: Home) -> State:
    """A session `s` and another, each with a memory that it was given."""
    home.create()
    state = State.open(home, 1_000)
    for session in ("s", "another"):
        state.record(session, ("m",), 1_000, "d")
    return state


def start(home: Home, **payload: object) -> None:
    session_start.respond(payload, home, Deadline(5_000))


def test_after_a_compaction_the_session_may_hear_everything_again(home: Home, state: State) -> None:
    start(home, source="compact", session_id="s")
    assert (state.injected("s"), state.injected("another")) == (set(), {"m"})


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork", "", None, 3, "COMPACT"])
def test_whatever_else_starts_a_session_leaves_its_ledger(home: Home, state: State, source: object) -> None:
    start(home, source=source, session_id="s")
    assert state.injected("s") == {"m"}


@pytest.mark.parametrize("session", ["", None, 3])
def test_without_a_session_there_is_nothing_to_forget(home: Home, state: State, session: object) -> None:
    start(home, source="compact", session_id=session)
    assert (state.injected("s"), state.injected("another")) == ({"m"}, {"m"})


def test_where_there_is_no_state_none_is_made(home: Home) -> None:
    start(home, source="compact", session_id="s")
    assert not os.path.exists(home.root)


def test_a_compaction_leaves_what_the_prompt_before_was_about(home: Home, state: State) -> None:
    state.keep_topics("s", Earlier(("relay",), 0.8), 1_000)
    start(home, source="compact", session_id="s")
    assert state.last_topics("s", 1_000) is not None
