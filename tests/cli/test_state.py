"""`subcog state`: flags are set, shown with the facts of this folder, and cleared; conditions follow them."""

import json
import os
from pathlib import Path

from subcog_hooks.core.paths import Home
from subcog_hooks.cues import conditions
from subcog_hooks.hook import facts
from subcog_hooks.store import sessions, state_values
from subcog_hooks.store.state import State
from tests.cli.conftest import MonkeyPatch, Run


def test_a_flag_is_set_shown_and_cleared(subcog: Run) -> None:
    done = subcog("state", "set", "clinician_mode", "level=3", "mood=tired, but well")
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == ["clinician_mode = true", "level = 3", "mood = tired, but well"]
    assert [subcog("state", "get", name).out for name in ("clinician_mode", "level")] == ["true\n", "3\n"]
    done = subcog("state", "clear", "mood", "colour", "mood")
    assert (done.code, done.err.splitlines()) == (0, ["mood is cleared", "colour was not set"])
    for name, message in (("mood", "mood is not set"), ("prompts", "prompts is not known here"), ("branch", "branch is not ")):
        done = subcog("state", "get", name)
        assert (done.code, done.out, done.err.startswith(message)) == (1, "", True)
    assert subcog("state", "clear", "--all").err == "clinician_mode is cleared\nlevel is cleared\n"
    assert subcog("state", "clear", "level").code == 1


def test_a_hook_knows_the_flags_that_are_set(subcog: Run, home: Home) -> None:
    subcog("state", "set", "clinician_mode=true")
    facts_ = facts.session_facts({"session_id": "one"}, None, State.open(home, 100), 0)
    assert conditions.conditions_hold({"clinician_mode": True}, facts_)
    subcog("state", "clear", "--all")
    facts_ = facts.session_facts({"session_id": "one"}, None, State.open(home, 100), 0)
    assert not conditions.conditions_hold({"clinician_mode": True}, facts_)


def test_flags_and_the_facts_of_this_folder_are_shown(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    git = tmp_path / "shop" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/release/7\n")
    monkeypatch.chdir(git.parent)
    subcog("state", "set", "mood=tired")
    shop = str(git.parent)
    lines = [line.split("  ") for line in subcog("state", "get").out.splitlines()]
    rows = [tuple(cell.strip() for cell in line if cell.strip()) for line in lines]
    assert rows == [
        ("mood", "tired", "set by you"),
        ("cwd", shop, "known here"),
        ("project", shop, "known here"),
        ("branch", "release/7", "known here"),
        ("platform", "linux", "known here"),
    ]
    assert subcog("state", "get", "--json").json == {
        "flags": {"mood": "tired"},
        "facts": {"cwd": shop, "project": shop, "branch": "release/7", "platform": "linux"},
    }
    assert subcog("state", "get", "branch").out == "release/7\n"
    assert subcog("state", "get", "branch", "--json").out == '"release/7"\n'


def test_without_flags_it_says_so_and_makes_no_file(subcog: Run, home: Home) -> None:
    done = subcog("state", "get")
    assert (done.code, done.err) == (0, "no flag is set; `subcog state set NAME=VALUE` sets one\n")
    assert subcog("state", "clear", "mood").err == "mood was not set\n"
    assert subcog("state", "clear", "--all").code == 1
    assert not os.path.exists(home.state_db)


def test_what_can_not_be_is_refused_and_nothing_is_set(subcog: Run, home: Home) -> None:
    for arguments, message in (
        (
            ("set", "branch=main"),
            "branch is known without being set; a flag has a name of its own, for instance clinician_mode",
        ),
        (("set", "mood=tired", "first_prompt"), "first_prompt is known without being set"),
        (("set", "two words=1"), "'two words' is no name of a flag; a name has 1 to 64 letters"),
        (("set", "level>=3"), "'level>=3' does not set a flag"),
        (("set", "mood=\x1b[31mred"), "a text has at most 1,000 characters, in one line"),
        (("clear", "branch"), "branch is known without being set"),
        (("clear",), "name the flags to clear, or give --all"),
        (("clear", "mood", "--all"), "name the flags to clear, or give --all"),
        (("set",), "Missing argument"),
    ):
        done = subcog("state", *arguments)
        assert (done.code, done.out, done.err.count("\n"), message in done.err) == (2, "", 1, True)
        assert not os.path.exists(home.state_db)


def test_of_too_many_flags_none_is_set(subcog: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr("subcog_hooks.store.state_values.MAX_FLAGS", 2)
    done = subcog("state", "set", "a", "b", "c")
    assert (done.code, done.err) == (2, "subcog: 2 flags are set; `subcog state clear NAME` takes one away\n")
    assert state_values.find_flags(State.open(home, 100)) == {}


def test_what_is_shown_can_be_set_again(subcog: Run) -> None:
    for text in ("7", "true", "", " a ", "tired", 'say "hi"', '"7"', "1e5", "hafen-ö"):
        subcog("state", "set", f"flag={json.dumps(text)}")
        shown = subcog("state", "get", "flag").out.removesuffix("\n")
        subcog("state", "set", f"flag={shown}")
        assert subcog("state", "get", "flag", "--json").json == text


def test_a_flag_is_set_while_hooks_write(subcog: Run, home: Home) -> None:
    home.create()
    hook = State.open(home, 100)
    sessions.note_prompt(hook, "one", "", 1000)
    assert subcog("state", "set", "mood=tired").code == 0
    assert state_values.find_flags(hook) == {"mood": "tired"}
