"""`search --state`: conditions of memories are judged by the given facts and the facts of this folder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Run


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
        (["tool=bash"], "tool is 'bash'; expected Bash: case counts"),
        (["source=begin"], "source is 'begin'; expected one of startup, resume, clear, compact"),
        (["branch"], "'branch' does not state a fact; for instance branch=main"),
        (["prompts>=3"], "'prompts>=3' does not state a fact; for instance prompts=7"),
        (["first_prompt=1"], "first_prompt is 1; expected true or false"),
        (["cwd=shop"], "cwd is 'shop'; expected the full path, for instance /srv/shop"),
        (["mood!=ill"], "'mood!=ill' does not set a flag; for instance mood=true"),
        (["=x"], "'' is no name of a flag"),
        (["a=1", "a=2"], "a is stated twice; a fact has one value"),
    ):
        done = with_memories("search", "berth", *(word for state in states for word in ("--state", state)))
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"subcog: {message}")
