"""A hook call: its project and session, its eligible memories, and the files that it opens."""

from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreCorrupt, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import call
from subcog_hooks.hook.payload import MAX_SESSION, TRIAL
from subcog_hooks.store import sessions
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.conftest import Maker


def make_call(home: Home, **payload: object) -> call.HookCall:
    hook_call = call.open_call(payload, home, Deadline(5_000))
    assert hook_call is not None
    return hook_call


def test_without_memories_there_is_none_and_nothing_is_made(home: Home) -> None:
    assert call.open_call({"session_id": "s"}, home, Deadline(5_000)) is None
    assert not Path(home.root).exists()


def test_a_call_knows_its_session_project_and_audiences(home: Home, store: Store, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    name = str((tmp_path / "shop").resolve())
    hook_call = make_call(home, session_id="s", cwd=str(tmp_path / "shop"))
    assert hook_call.here is not None
    assert (hook_call.session, hook_call.here.identity, hook_call.is_trial) == ("s", name, False)
    assert hook_call.eligible.audiences == (f"project:{name}", "user", "org")
    assert make_call(home, session_id="s", cwd="/").eligible.audiences == ("user", "org")


def test_an_odd_folder_is_no_project(home: Home, store: Store) -> None:
    for cwd in ("shop", "", None, 3, "/a\0b", "/" + "a/" * 1_000_000, "\ud800"):
        assert make_call(home, cwd=cwd).here is None


def test_a_session_is_a_short_text_or_none(home: Home, store: Store) -> None:
    for session, kept in (("x" * 500, "x" * MAX_SESSION), (None, ""), (3, ""), ("\ud800", "?"), ("a\0", "a\0")):
        hook_call = make_call(home, session_id=session)
        assert (hook_call.session, hook_call.given_ids(), hook_call.is_trial) == (kept, set(), False)
    assert make_call(home, session_id=f"{TRIAL}1").is_trial


def test_given_ids_are_those_of_the_session(home: Home, store: Store) -> None:
    hook_call = make_call(home, session_id="s")
    sessions.record_given(hook_call.state, "s", ("m",), hook_call.now_ms, "d")
    sessions.record_given(hook_call.state, "", ("n",), hook_call.now_ms, "d")
    assert hook_call.given_ids() == {"m"}
    assert make_call(home).given_ids() == set()


def test_the_store_is_opened_when_it_is_asked_for(home: Home, store: Store, make: Maker) -> None:
    store.add([make("The tide sensor needs 24 V.", id="m")])
    hook_call = make_call(home, session_id="s")
    before = len(call._left_open)
    assert hook_call.store is hook_call.store
    assert hook_call.store.by_ids(["m"])["m"].content == "The tide sensor needs 24 V."
    assert len(call._left_open) == before + 1


def test_problems_of_the_settings_go_to_the_log(home: Home, store: Store) -> None:
    Path(home.config).write_text("[surfacing]\ntools = 7\n")
    assert make_call(home).settings["surfacing.tools"] is False  # it may have been switched off
    assert "surfacing.tools is 7, expected true or false" in Path(home.log, "hook.log").read_text()


def test_facts_are_those_of_the_payload_and_the_place(home: Home, store: Store, tmp_path: Path) -> None:
    facts = make_call(home, session_id="s", cwd=str(tmp_path), permission_mode="plan").facts()
    assert (facts["cwd"], facts["permission_mode"], facts["prompts"]) == (str(tmp_path), "plan", 0)


def test_a_damaged_state_is_put_aside_and_answered_again(home: Home, store: Store) -> None:
    State.open(home, 100).close()
    calls: list[int] = []

    def answer() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise StoreCorrupt(f"{home.state_db} is damaged", "delete it")

    call.with_sound_state(home, answer)
    assert len(calls) == 2
    assert Path(home.state_db + ".damaged").exists()
    assert "is damaged; it is put aside and made anew" in Path(home.log, "hook.log").read_text()


@pytest.mark.parametrize("error", [StoreError("locked"), StoreCorrupt("memories.db is damaged", "restore it")])
def test_any_other_failure_is_left_to_the_runner(home: Home, error: StoreError) -> None:
    def answer() -> None:
        raise error

    with pytest.raises(type(error)):
        call.with_sound_state(home, answer)
