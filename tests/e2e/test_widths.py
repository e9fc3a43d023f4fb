"""The installed executable on terminals of 60 to 200 columns: what it shows wraps, and nothing is cut."""

import json

import pytest

from subcog_hooks.settings.keys import KEYS
from tests.e2e.machine import QUESTION, Machine, posix
from tests.e2e.screen import OnTerminal

WIDTHS = (60, 80, 120, 200)
COMMANDS = (
    "remember search intent list show edit forget supersede import export reindex test-trigger init uninstall doctor why replay"
    " stats pause resume hook models config state"
).split()
PROMPT = "Why do the tests of the berth planner keep failing with exit code 101, and what did we decide about localStorage?"
ALL_ROWS = 500  # so that nothing goes through the pager


def shown(machine: Machine, columns: int, *arguments: str, rows: int = ALL_ROWS) -> list[str]:
    """The lines that a command leaves on a terminal of so many columns."""
    on_terminal = OnTerminal([machine.command, *arguments], machine.folder, machine.environment, columns, rows)
    try:
        on_terminal.end()
        return on_terminal.screen().lines
    finally:
        on_terminal.kill()


def words(lines: list[str]) -> str:
    """All that is shown, without blanks and line breaks: what wraps is the same text."""
    return "".join("".join(lines).split())


@posix
@pytest.mark.parametrize("columns", WIDTHS)
def test_the_list_of_commands_tells_each_whole_first_sentence(bare: Machine, columns: int) -> None:
    text = words(shown(bare, columns, "--help"))
    for command in COMMANDS:
        assert command in text
    assert "TakethehookoutofClaudeCode'ssettings." in text
    assert "anditstopics." in text
    assert "..." not in text.replace("[ARGS]...", "")
    assert "…" not in text


@posix
@pytest.mark.parametrize("columns", WIDTHS)
def test_no_help_page_cuts_an_option_or_its_meaning(bare: Machine, columns: int) -> None:
    for command in ("remember", "search", "edit"):
        lines = shown(bare, columns, command, "--help")
        assert "…" not in "".join(lines)
        assert "<list" not in "".join(line for line in lines if line.lstrip().startswith("-"))
        assert max(map(len, lines)) <= columns


@posix
@pytest.mark.parametrize("columns", WIDTHS)
def test_every_signal_of_an_intent_is_whole(bare: Machine, columns: int) -> None:
    told = json.loads(bare.run("intent", PROMPT, "--explain", "--json").stdout)
    text = words(shown(bare, columns, "intent", PROMPT, "--explain"))
    assert "…" not in text
    for signal in told["explain"]["signals"]:
        assert f"{signal['weight']:+.2f}" in text
        assert signal["family"] in text
    for cue in told["explain"]["shape"]:
        assert cue.replace(" ", "") in text


@posix
@pytest.mark.parametrize("columns", WIDTHS)
def test_every_setting_is_listed_with_its_value_and_meaning(bare: Machine, columns: int) -> None:
    lines = shown(bare, columns, "config", "list")
    text = words(lines)
    assert "…" not in text
    for name in KEYS:
        assert name in text
    assert max(map(len, lines)) <= columns


@posix
@pytest.mark.parametrize("columns", WIDTHS)
def test_a_decision_is_shown_whole(machine: Machine, columns: int) -> None:
    machine.recall(QUESTION)
    lines = shown(machine, columns, "why")
    assert max(map(len, lines)) <= columns
    for candidate in json.loads(machine.run("why", "--json").stdout)["candidates"]:
        assert candidate["id"] in words(lines)
    for name, _, _ in json.loads(machine.run("why", "--json").stdout)["intent"]["signals"]:
        assert name.replace(" ", "") in words(lines)


@posix
def test_a_long_decision_goes_through_the_pager(machine: Machine) -> None:
    machine.recall(QUESTION)
    machine.environment["PAGER"] = "cat > paged"
    assert "".join(shown(machine, 120, "why", rows=ALL_ROWS)).count(QUESTION) == 1
    assert not (machine.folder / "paged").exists()
    assert QUESTION not in "".join(shown(machine, 120, "why", rows=10))
    assert QUESTION in (machine.folder / "paged").read_text()
