"""`subcog state`: flags are set, shown and cleared; `search --state` judges conditions by them and by the given facts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.cues import conditions
from subcog_hooks.hook import facts
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


def test_what_is_shown_can_be_set_again(subcog: Run) -> None:
    for text in ("7", "true", "", " a ", "tired", 'say "hi"', '"7"', "1e5", "hafen-ö"):
        subcog("state", "set", f"flag={json.dumps(text)}")
        shown = subcog("state", "get", "flag").out.removesuffix("\n")
        subcog("state", "set", f"flag={shown}")
        assert subcog("state", "get", "flag", "--json").json == text


@pytest.fixture
def with_memories(subcog: Run) -> Run:
    subcog("remember", "Speak of doses in milligrams.", "--when", "clinician_mode")
    subcog("remember", "Berth seven is for ferries.", "--when", "branch~release/*")
    subcog("remember", "Berth nine takes the mooring lines of tugs.", "--when", "branch=main", "--when", "prompts>=3")
    subcog("remember", "Berth twelve is dredged in spring.")
    return subcog


def search_berths(subcog: Run, *arguments: str) -> dict[str, dict[str, Any]]:
    """Return the results of a search for berths, by their first two words."""
    rows = subcog("search", "berth for ships", "--json", *arguments).json["results"]
    return {" ".join(row["content"].split()[:2]): row for row in rows}


def test_without_it_conditions_do_not_count(with_memories: Run) -> None:
    assert {"Berth seven", "Berth nine", "Berth twelve"} <= search_berths(with_memories, "--fast").keys()
    assert not any("state" in row["found_by"] for row in search_berths(with_memories, "--fast").values())


@pytest.mark.parametrize("options", [["--fast"], []])
def test_a_memory_comes_only_if_its_condition_holds(with_memories: Run, options: list[str]) -> None:
    clinic = search_berths(with_memories, "--state", "clinician_mode=true", *options)
    assert clinic.keys() == {"Speak of", "Berth twelve"}
    assert clinic["Speak of"]["ranks"]["state"] == 1
    assert clinic["Speak of"]["explain"]["contributions"]["state"] == 0.3
    release = search_berths(with_memories, "--state", "branch=release/7", *options)
    assert release.keys() == {"Berth seven", "Berth twelve"}
    both = search_berths(with_memories, "--state", "branch=main", "--state", "prompts=4", "--state", "clinician_mode", *options)
    assert both.keys() == {"Speak of", "Berth nine", "Berth twelve"}
    assert search_berths(with_memories, "--state", "branch=main", "--state", "prompts=2", *options).keys() == {"Berth twelve"}


@pytest.mark.parametrize("mode", ["lexical", "semantic"])
def test_one_channel_alone_still_respects_conditions(with_memories: Run, mode: str) -> None:
    shown = search_berths(with_memories, "--state", "clinician_mode", "--state", "branch=main", "--mode", mode)
    assert "Berth twelve" in shown
    assert not shown.keys() & {"Berth seven", "Berth nine"}
    assert not any("state" in row["ranks"] for row in shown.values())


def test_flags_that_are_set_count_unless_another_value_is_stated(with_memories: Run) -> None:
    with_memories("state", "set", "clinician_mode=true")
    assert "Speak of" in search_berths(with_memories, "--fast", "--state", "mood=calm")
    assert "Speak of" not in search_berths(with_memories, "--fast", "--state", "clinician_mode=false")


def test_a_trigger_waits_for_its_conditions(with_memories: Run) -> None:
    with_memories("remember", "Ask the harbour master.", "--trigger", "berth for", "--when", "branch=main")
    assert search_berths(with_memories, "--fast")["Ask the"]["ranks"]["pattern"] == 1
    assert "Ask the" in search_berths(with_memories, "--fast", "--state", "branch=main")
    assert "Ask the" not in search_berths(with_memories, "--fast", "--state", "branch=dev")


def test_pages_and_batches_are_of_that_state_too(with_memories: Run) -> None:
    rows = json.dumps({"id": "q", "query": "berth for ships"}).encode()
    batch = with_memories("search", "--batch", "-", "--fast", "--state", "branch=release/7", stdin=rows).json
    assert {row["content"][:11] for row in batch["results"]} == {"Berth seven", "Berth twelv"}
    pages = [
        search_berths(with_memories, "--fast", "--state", "branch=release/7", "-n", "1", "--page", str(page))
        for page in (1, 2, 3)
    ]
    assert [len(page) for page in pages] == [1, 1, 0]
    assert {name for page in pages for name in page} == {"Berth seven", "Berth twelve"}


def test_what_states_nothing_is_one_clear_line(with_memories: Run) -> None:
    for states, message in (
        (["prompts=many"], "prompts is 'many'; expected a whole number"),
        (["tool=bash"], "tool is 'bash'; expected one of Edit, Write"),
        (["source=begin"], "source is 'begin'; expected one of startup, resume, clear, compact"),
        (["branch"], "'branch' does not state a fact; for instance branch=main"),
        (["prompts>=3"], "'prompts>=3' does not state a fact; for instance branch=main"),
        (["first_prompt=1"], "first_prompt is 1; expected true or false"),
        (["cwd=shop"], "cwd is 'shop'; expected the full path, for instance /srv/shop"),
        (["mood!=ill"], "'mood!=ill' does not set a flag; for instance mood=true"),
        (["=x"], "'' is no name of a flag"),
        (["a=1", "a=2"], "a is stated twice; a fact has one value"),
    ):
        done = with_memories("search", "berth", *(word for state in states for word in ("--state", state)))
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"subcog: {message}")
