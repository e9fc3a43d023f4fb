"""A hook call: its project, session and facts, its eligible memories, and the files that it opens."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.cues import condition_syntax, conditions
from subcog_hooks.cues.conditions import FACT_KINDS
from subcog_hooks.hook import call, facts, failed_call, main, prompt, session, tool
from subcog_hooks.hook.payload import MAX_SESSION, TRIAL
from subcog_hooks.store import project, sessions
from subcog_hooks.store.project import Project
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store


def make_call(home: Home, **payload: object) -> call.HookCall:
    hook_call = call.open_call(payload, home, Deadline(5_000))
    assert hook_call is not None
    return hook_call


@pytest.mark.parametrize("respond", [prompt.respond, session.respond, tool.respond, failed_call.respond])
def test_without_memories_nothing_is_made(home: Home, respond: Callable[..., None]) -> None:
    payload = {"session_id": "s", "prompt": "Where is it?", "tool_name": "Edit", "error": "ValueError: it is gone"}
    respond(payload, home, lambda _: pytest.fail("spoke"), Deadline(5_000))
    assert not Path(home.root).exists()


def test_a_call_knows_its_session_project_and_audiences(home: Home, store: Store, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    name = str((tmp_path / "shop").resolve())
    hook_call = make_call(home, session_id="s", cwd=str(tmp_path / "shop"))
    assert hook_call.here is not None
    assert (hook_call.session, hook_call.here.identity, hook_call.is_trial) == ("s", name, False)
    assert hook_call.eligible.audiences == (f"project:{name}", "user", "org")
    assert make_call(home, session_id="s", cwd="/").eligible.audiences == ("project:/", "user", "org")


def test_a_session_is_a_short_text_or_none(home: Home, store: Store) -> None:
    for session_id, kept in (("x" * 500, "x" * MAX_SESSION), (None, ""), (3, ""), ("\ud800", "?"), ("a\0", "a\0")):
        hook_call = make_call(home, session_id=session_id)
        assert (hook_call.session, hook_call.given_ids(), hook_call.is_trial) == (kept, set(), False)
    assert make_call(home, session_id=f"{TRIAL}1").is_trial


DAY = 86_400_000
HISTORY = {"prompts", "first_prompt", "first_session", "returning_user", "source", "days_since_last_session"}


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 100)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Make a repository on the branch release/7."""
    git = tmp_path / "shop" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/release/7\n")
    (git / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    return git.parent


@pytest.fixture
def here(shop: Path) -> Project | None:
    return project.find_project(str(shop))


def prompt_payload(session: object = "one", **more: object) -> dict[str, object]:
    return {"hook_event_name": "UserPromptSubmit", "session_id": session, **more}


def tool_payload(tool: str, **given: object) -> dict[str, object]:
    """Return the payload of a tool call."""
    return {"hook_event_name": "PreToolUse", "session_id": "one", "tool_name": tool, "tool_input": given}


def test_a_prompt_is_told_by_its_place(state: State, here: Project, shop: Path) -> None:
    fact_values = facts.session_facts(prompt_payload(cwd=f"{shop}/src", permission_mode="plan"), here, state, DAY)
    without_history = {name: value for name, value in fact_values.items() if name not in HISTORY | {"platform"}}
    assert without_history == {
        "cwd": f"{shop}/src",
        "project": "github.com/acme/shop",
        "branch": "release/7",
        "permission_mode": "plan",
    }
    when: dict[str, object] = {"branch": {"glob": "release/*"}, "project": "github.com/acme/shop", "first_prompt": True}
    condition_syntax.check_conditions(when)
    assert conditions.conditions_hold(when, fact_values)


def test_every_fact_is_of_the_kind_that_conditions_know(state: State, here: Project, shop: Path) -> None:
    session.begin_session(state, "zero", "github.com/acme/shop", "startup", 0)
    session.begin_session(state, "one", "github.com/acme/shop", "startup", 0)
    payload = {**tool_payload("Edit", file_path=f"{shop}/a.py"), "cwd": str(shop), "permission_mode": "default"}
    fact_values = facts.session_facts(payload, here, state, DAY)
    assert {*fact_values} == {*FACT_KINDS} - {"file"}  # which the tool's own hook knows
    condition_syntax.check_conditions(dict(fact_values))
    assert conditions.conditions_hold(dict(fact_values), fact_values)


def test_the_first_prompt_is_the_first_for_its_tools_too(state: State) -> None:
    start = {"hook_event_name": "SessionStart", "session_id": "one", "source": "startup"}
    seen = []
    for payload in (start, prompt_payload(), tool_payload("Read"), prompt_payload(), tool_payload("Read")):
        fact_values = facts.session_facts(payload, None, state, DAY)
        seen.append((fact_values["prompts"], fact_values["first_prompt"]))
        if payload["hook_event_name"] == "UserPromptSubmit":
            sessions.note_prompt(state, "one", "", DAY)
    assert seen == [(0, False), (1, True), (1, True), (2, False), (2, False)]


def test_how_a_session_began_is_known_until_it_begins_anew(state: State) -> None:
    assert "source" not in facts.session_facts(prompt_payload(), None, state, DAY)
    session.begin_session(state, "one", "", "startup", DAY)
    assert facts.session_facts(prompt_payload(), None, state, DAY)["source"] == "startup"
    compacted = {"hook_event_name": "SessionStart", "session_id": "one", "source": "compact"}
    assert facts.session_facts(compacted, None, state, DAY)["source"] == "compact"


def test_a_returning_user_is_told_from_a_new_one(state: State, here: Project) -> None:
    session.begin_session(state, "one", "github.com/acme/shop", "startup", 9 * DAY)
    new = facts.session_facts(prompt_payload(), here, state, 9 * DAY)
    assert (new["first_session"], new["returning_user"], "days_since_last_session" in new) == (True, False, False)
    session.begin_session(state, "old", "github.com/acme/shop", "startup", 2 * DAY)
    returning = facts.session_facts(prompt_payload(), here, state, 9 * DAY)
    assert (returning["first_session"], returning["returning_user"]) == (False, True)
    assert returning["days_since_last_session"] == 7.0


def test_of_a_client_that_names_no_session_no_history_is_known(state: State) -> None:
    assert not {*facts.session_facts({"hook_event_name": "UserPromptSubmit"}, None, state, DAY)} & HISTORY


def test_flags_are_facts_but_never_in_the_place_of_one(state: State) -> None:
    state.run(
        "INSERT INTO user_flags VALUES ('clinician_mode', 'true'), ('branch', '\"main\"')"
    )  # an older version let it be set
    fact_values = facts.session_facts(prompt_payload(), None, state, DAY)
    assert fact_values["clinician_mode"] is True
    assert "branch" not in fact_values


@pytest.mark.parametrize(
    ("platform", "fact"), [("linux", "linux"), ("darwin", "macos"), ("win32", "windows"), ("sunos5", None)]
)
def test_the_platform_has_the_name_that_conditions_know(
    monkeypatch: pytest.MonkeyPatch, platform: str, fact: str | None
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert facts.folder_facts("", None).get("platform") == fact


@pytest.fixture
def session_state(home: Home) -> State:
    """Store a session `s` that was last active long ago, and its given memory."""
    home.create()
    session_state = State.open(home, 1_000)
    session.begin_session(session_state, "s", "shop", "startup", 1_000)
    sessions.note_prompt(session_state, "s", "shop", 2_000)
    sessions.record_given(session_state, "s", ("m",), 2_000, "d")
    return session_state


def test_it_is_noted_that_a_session_was_at_work(home: Home, session_state: State) -> None:
    main.note_session_activity({"session_id": "s"}, home, Deadline(5_000))
    ((last_at, *others),) = session_state.run("SELECT last_at, prompts, source, project FROM sessions")
    assert (last_at > 1_000_000_000_000, others) == (True, [1, "startup", "shop"])
    assert sessions.find_given(session_state, "s") == {"m"}
