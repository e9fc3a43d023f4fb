"""The installed executable on terminals of 60 to 200 columns: what it shows wraps, and nothing is cut."""

import json
import re
from collections.abc import Sequence

import pytest

from subcog_hooks.settings.sources import KEYS
from tests.documents import FENCE, TOPICS, blocks
from tests.e2e.machine import ANSWER, QUESTION, Machine, posix
from tests.e2e.screen import OnTerminal, Screen

pytestmark = posix

WIDTHS = (60, 80, 120, 200)
COMMANDS = (
    "remember search list show edit forget review learn import why brief report doctor pause resume init uninstall config share"
    " models help hook block statusline mcp export supersede intent enrich setup state"
).split()
PROMPT = "Why do the tests of the berth planner keep failing with exit code 101, and what did we decide about localStorage?"
COLUMNS = 80  # of the usual terminal
ALL_ROWS = 500  # so that nothing goes through the pager
LONG_LINE = 2_000  # columns that hold every line whole
NOTE = "In `dry dock` 4 the crane lifts forty tonnes, and the harbour master has to be asked before more is hung on its hook."
MARKUP = "The keels in dry dock 2 are [bold]all[/bold] of [/red] oak, :smile: says [link=http://x]the master[/link]."
TABLE_ROW = re.compile(r"^\|.*$", re.MULTILINE)
LETTERS = re.compile(r"[^\W\d]+")
SCREENS = (
    ("show", ANSWER),
    ("list", "-n", "5"),
    ("search", QUESTION, "--explain"),
    ("brief",),
    ("models",),
    ("why",),
    ("why", "list"),
    ("why", PROMPT),
    ("doctor",),
    ("review", "--list"),
    ("setup", "--no"),
    ("learn",),
    ("init", "--dry-run"),
)
ERRORS = (
    ("search", "--modee", "x"),
    ("enrich",),
    ("config", "set", "fusion.alpha", "much"),
    ("remember", "a crane", "--trigger", "(crane|hoist"),
)


def shown(machine: Machine, columns: int, *arguments: str, rows: int = ALL_ROWS) -> list[str]:
    """The lines that a command leaves on a terminal of so many columns."""
    return OnTerminal.shown([machine.command, *arguments], machine.folder, machine.environment, columns, rows)[1]


def screen_of(machine: Machine, columns: int, arguments: Sequence[str], keys: Sequence[tuple[str, str]] = ()) -> Screen:
    """The screen that a command leaves. keys: what is typed, each once a text is there; a line ends in a line end."""
    terminal = OnTerminal([machine.command, *arguments], machine.folder, machine.environment, columns, ALL_ROWS)
    try:
        for text, key in keys:
            terminal.read_until(text)
            (terminal.type if key.endswith("\n") else terminal.press)(key)
        terminal.end()
        return terminal.screen()
    finally:
        terminal.kill()


def broken_words(screen: Screen, whole: str) -> list[str]:
    """The runs of letters on a screen that a text does not have as such. A path that fits no line is not looked at."""
    text, known = "\n".join(screen.lines), {*LETTERS.findall(whole)}
    for line in screen.too_long:
        text = text.replace(f"{line}\n", line)
    return [letters for letters in LETTERS.findall(text) if letters not in known]


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
        assert [line.split()[0] for line in alone if line] == ["Notes", "Hook", "Review", "Last", "Setup", "Next"]
        assert max(map(len, alone)) <= columns


def test_no_help_page_cuts_an_option_or_its_meaning(bare: Machine) -> None:
    for columns in WIDTHS:
        lines = shown(bare, columns, "search", "--help")
        assert "…" not in "".join(lines)
        assert "<list" not in "".join(line for line in lines if line.lstrip().startswith("-"))
        assert max(map(len, lines)) <= columns


def test_a_topic_lets_every_command_be_copied(bare: Machine) -> None:
    for columns in (80, 120):
        for topic in TOPICS:
            screen = screen_of(bare, columns, ["help", topic.stem])
            text = "\n".join(screen.lines)
            for line in screen.too_long:  # A terminal copies its own wrapped lines as one.
                text = text.replace(f"{line.rstrip()}\n", line)
            prose = TABLE_ROW.sub("", FENCE.sub("", topic.read_text(encoding="utf-8")))
            codes = [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose)]
            lines = [line.rstrip() for block in blocks(topic) for line in block.lines]
            assert not [code for code in codes + lines if code not in text], (topic.stem, columns)


def test_every_setting_is_listed_with_its_value_and_meaning(bare: Machine) -> None:
    for columns in WIDTHS:
        lines = shown(bare, columns, "config", "list")
        text = words(lines)
        assert "…" not in text
        assert not [name for name in KEYS if name not in text]
        assert max(map(len, lines)) <= columns


def test_a_verdict_is_shown_whole(machine: Machine) -> None:
    machine.recall(QUESTION)
    told = json.loads(machine.run("why", "--json").stdout)
    names = [row["id"] for row in told["candidates"]] + [name.replace(" ", "") for name, _, _ in told["intent"]["signals"]]
    for columns in WIDTHS:
        lines = shown(machine, columns, "why", "--explain")
        assert max(map(len, lines)) <= columns
        assert not [name for name in names if name not in words(lines)]
        assert not [line for line in lines if line.strip() == "…"]


def test_a_long_verdict_goes_through_the_pager(machine: Machine) -> None:
    machine.recall(QUESTION)
    machine.environment["PAGER"] = "cat > paged"
    assert "".join(shown(machine, 120, "why", rows=ALL_ROWS)).count(QUESTION) == 1
    assert not (machine.folder / "paged").exists()
    assert QUESTION not in "".join(shown(machine, 120, "why", rows=10))
    assert QUESTION in (machine.folder / "paged").read_text()
    machine.environment |= {"PAGER": "no-such-pager"}
    assert QUESTION in "".join(shown(machine, 120, "why", rows=10))


@pytest.fixture
def used(machine: Machine) -> Machine:
    """A machine with memories in a project, prompts, a contradiction, and two memories that wait."""
    machine.folder = machine.repository("harbour", "git@github.com:tidepool/harbour.git")
    for port in (5435, 5436):
        machine.run("remember", f"The test database listens on port {port}, and its seeds come from db/seeds.sql after a pull.")
    machine.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
    machine.run("remember", NOTE, "--question", "How many tonnes may hang on the hook of the crane in the dry dock?")
    machine.run("remember", "The session token of the browser is kept in an HttpOnly cookie, and never in localStorage.")
    del machine.environment["CLAUDECODE"], machine.environment["CLAUDE_CODE_SESSION_ATTENDED"]
    for prompt in (PROMPT, "thanks, looks good", QUESTION):
        machine.recall(prompt)
    machine.run("doctor")  # which embeds them
    return machine


def test_screens_and_errors_break_lines_between_words(used: Machine) -> None:
    for arguments in (*SCREENS, *ERRORS):
        screen = screen_of(used, COLUMNS, arguments)
        piped = used.run(*arguments)
        whole = " ".join([*screen_of(used, LONG_LINE, arguments).lines, (piped.stdout + piped.stderr).decode()])
        too_long = [line for line in screen.too_long if " " in line.strip()]  # a path stays whole
        assert screen.lines, arguments
        assert (arguments, too_long, broken_words(screen, whole)) == (arguments, [], [])


def test_review_shows_the_text_first(used: Machine) -> None:
    keys = [("1 of 2", "n"), ("2 of 2", "q")]
    screen = screen_of(used, COLUMNS, ["review"], keys)
    assert screen.too_long == []
    assert not broken_words(screen, " ".join(screen_of(used, LONG_LINE, ["review"], keys).lines))
    first = next(number for number, line in enumerate(screen.lines) if line.startswith("1 of 2  In `dry dock` 4 the crane"))
    assert any(line.startswith("   noted by an agent, 20") for line in screen.lines[first + 1 :])


def test_texts_like_markup_are_printed_as_they_are(machine: Machine) -> None:
    id_ = machine.run("remember", MARKUP).stdout.decode().strip()
    machine.recall(f"[bold]Note[/bold]: {QUESTION} [/red]")
    cases = [(("show", id_), "[bold]all[/bold]of[/red]oak,:smile:"), (("list", "-n", "1"), "[/red]oak,:smile:")]
    cases += [(("search", "dry dock keel"), "[link=http://x]themaster")]
    cases += [(("why",), "[bold]Note[/bold]:"), (("why", "list"), "[bold]Note[/bold]:")]
    for columns in (80, 120):
        for arguments, text in cases:
            assert text in words(shown(machine, columns, *arguments)), arguments
