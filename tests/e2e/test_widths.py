"""The installed executable on terminals of 60 to 200 columns: what it shows wraps, and nothing is cut."""

import json
from itertools import product

from subcog_hooks.settings.keys import KEYS
from tests.e2e.machine import QUESTION, Machine, posix
from tests.e2e.screen import OnTerminal

pytestmark = posix

WIDTHS = (60, 80, 120, 200)
COMMANDS = (
    "remember search list show edit forget review learn import why brief report doctor pause resume init uninstall config share"
    " models help hook block statusline mcp export supersede intent eval enrich setup state"
).split()
PROMPT = "Why do the tests of the berth planner keep failing with exit code 101, and what did we decide about localStorage?"
ALL_ROWS = 500  # so that nothing goes through the pager


def shown(machine: Machine, columns: int, *arguments: str, rows: int = ALL_ROWS) -> list[str]:
    """The lines that a command leaves on a terminal of so many columns."""
    return OnTerminal.shown([machine.command, *arguments], machine.folder, machine.environment, columns, rows)[1]


def words(lines: list[str]) -> str:
    """All that is shown, without blanks and line breaks: what wraps is the same text."""
    return "".join("".join(lines).split())


def test_the_list_of_commands_tells_each_whole_first_sentence(bare: Machine) -> None:
    for columns in WIDTHS:
        lines = shown(bare, columns, "--help", "--all")
        text = words(lines)
        assert max(map(len, lines)) <= columns
        assert not [command for command in COMMANDS if command not in text]
        assert "Takethehookoutofanagent'ssettings." in text
        assert "withaprompt,asfastasthehook." in text
        assert "..." not in text.replace("[ARGS]...", "")
        assert "…" not in text


def test_help_and_subcog_alone_fit_a_screen(bare: Machine) -> None:
    for columns in (80, 120):
        lines = shown(bare, columns, "--help")
        assert (len(lines) <= 40, max(map(len, lines)) <= columns) == (True, True)
        assert {"Every day:", "Why:", "Set up:", "For scripts and tuning: `subcog --help --all`"} <= {*lines}
        alone = shown(bare, columns)
        assert [line.split()[0] for line in alone if line] == ["Notes", "Hook", "Review", "Last", "Next"]
        assert max(map(len, alone)) <= columns


def test_no_help_page_cuts_an_option_or_its_meaning(bare: Machine) -> None:
    for columns, command in product(WIDTHS, ("remember", "search", "edit")):
        lines = shown(bare, columns, command, "--help")
        assert "…" not in "".join(lines)
        assert "<list" not in "".join(line for line in lines if line.lstrip().startswith("-"))
        assert max(map(len, lines)) <= columns


def test_every_signal_of_an_intent_is_whole(bare: Machine) -> None:
    told = json.loads(bare.run("why", PROMPT, "--explain", "--json").stdout)["explain"]
    signals = [part for signal in told["signals"] for part in (f"{signal['weight']:+.2f}", signal["family"])]
    for columns in WIDTHS:
        text = words(shown(bare, columns, "why", PROMPT, "--explain"))
        assert "…" not in text
        assert not [part for part in [*signals, *(cue.replace(" ", "") for cue in told["shape"])] if part not in text]


def test_every_setting_is_listed_with_its_value_and_meaning(bare: Machine) -> None:
    for columns in WIDTHS:
        lines = shown(bare, columns, "config", "list")
        text = words(lines)
        assert "…" not in text
        assert not [name for name in KEYS if name not in text]
        assert max(map(len, lines)) <= columns


def test_a_decision_is_shown_whole(machine: Machine) -> None:
    machine.recall(QUESTION)
    told = json.loads(machine.run("why", "--json").stdout)
    names = [row["id"] for row in told["candidates"]] + [name.replace(" ", "") for name, _, _ in told["intent"]["signals"]]
    for columns in WIDTHS:
        lines = shown(machine, columns, "why", "--explain")
        assert max(map(len, lines)) <= columns
        assert not [name for name in names if name not in words(lines)]


def test_a_long_decision_goes_through_the_pager(machine: Machine) -> None:
    machine.recall(QUESTION)
    machine.environment["PAGER"] = "cat > paged"
    assert "".join(shown(machine, 120, "why", rows=ALL_ROWS)).count(QUESTION) == 1
    assert not (machine.folder / "paged").exists()
    assert QUESTION not in "".join(shown(machine, 120, "why", rows=10))
    assert QUESTION in (machine.folder / "paged").read_text()
