"""An occasion: where a hook was called, whose memories may be handed over, and which files it opens."""

from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreCorrupt, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import call
from subcog_hooks.hook.payload import MAX_SESSION, TRIAL
from subcog_hooks.store import ledger
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.conftest import Maker


def opened(home: Home, **payload: object) -> call.Occasion:
    found = call.open_occasion(payload, home, Deadline(5_000))
    assert found is not None
    return found


def test_without_memories_there_is_none_and_nothing_is_made(home: Home) -> None:
    assert call.open_occasion({"session_id": "s"}, home, Deadline(5_000)) is None
    assert not Path(home.root).exists()


def test_it_knows_the_session_the_project_and_whose_memories_may_be_handed_over(
    home: Home, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    name = str((tmp_path / "shop").resolve())
    found = opened(home, session_id="s", cwd=str(tmp_path / "shop"))
    assert found.here is not None
    assert (found.session, found.here.identity, found.is_trial) == ("s", name, False)
    assert found.eligible.audiences == (f"project:{name}", "user", "org")
    assert opened(home, session_id="s", cwd="/").eligible.audiences == ("user", "org")


@pytest.mark.parametrize("cwd", ["shop", "", None, 3, "/a\0b", "/" + "a/" * 1_000_000, "\ud800"])
def test_an_odd_folder_is_no_project(home: Home, store: Store, cwd: object) -> None:
    assert opened(home, cwd=cwd).here is None


@pytest.mark.parametrize(
    ("session", "kept"), [("x" * 500, "x" * MAX_SESSION), (None, ""), (3, ""), ("\ud800", "?"), ("a\0", "a\0")]
)
def test_a_session_is_a_short_text_or_none(home: Home, store: Store, session: object, kept: str) -> None:
    found = opened(home, session_id=session)
    assert found.session == kept
    assert found.given() == set()


def test_a_trial_is_told_by_its_session(home: Home, store: Store) -> None:
    assert opened(home, session_id=f"{TRIAL}1").is_trial


def test_it_gives_what_the_session_was_given_and_nothing_without_a_session(home: Home, store: Store) -> None:
    found = opened(home, session_id="s")
    ledger.record_given(found.state, "s", ("m",), found.at, "d")
    ledger.record_given(found.state, "", ("n",), found.at, "d")
    assert found.given() == {"m"}
    assert opened(home).given() == set()


def test_the_store_is_opened_when_it_is_asked_for(home: Home, store: Store, make: Maker) -> None:
    store.add([make("The tide sensor needs 24 V.", id="m")])
    found = opened(home, session_id="s")
    before = len(call._left_open)
    assert found.store is found.store
    assert found.store.get("m").content == "The tide sensor needs 24 V."
    assert len(call._left_open) == before + 1


def test_problems_of_the_settings_go_to_the_log(home: Home, store: Store) -> None:
    Path(home.config).write_text("[surfacing]\ntools = 7\n")
    assert opened(home).settings["surfacing.tools"] is True
    assert "surfacing.tools is 7, expected true or false" in Path(home.log, "hook.log").read_text()


def test_facts_are_those_of_the_payload_and_the_place(home: Home, store: Store, tmp_path: Path) -> None:
    facts = opened(home, session_id="s", cwd=str(tmp_path), permission_mode="plan").facts()
    assert (facts["cwd"], facts["permission_mode"], facts["prompts"]) == (str(tmp_path), "plan", 0)


def test_a_damaged_state_is_put_aside_and_the_hook_answers_once_more(home: Home, store: Store) -> None:
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
