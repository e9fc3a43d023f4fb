"""`subcog` alone, groups of commands alone, and the list of commands."""

import json

from subcog_hooks.cli.command_table import COMMANDS, GROUPS, SCRIPTS
from subcog_hooks.core.paths import Home
from tests.cli.conftest import MonkeyPatch, Run
from tests.cli.decided import candidate, decided, keep

MAX_COMMANDS, MAX_LINES = 22, 40


def steps(subcog: Run) -> dict[str, str]:
    """Return the five lines of `subcog` alone by their first word."""
    done = subcog()
    assert (done.code, done.err, len(done.out.splitlines())) == (0, "", 5)
    assert max(map(len, done.out.splitlines())) <= 80
    return {name: text.strip() for name, _, text in (line.partition(" ") for line in done.out.splitlines())}


def test_subcog_alone_says_how_it_stands_and_what_is_next(subcog: Run, home: Home) -> None:
    empty = steps(subcog)
    assert (empty["Notes"], empty["Hook"]) == ("0 for all your projects; this folder is in no project", "no agent runs it yet")
    assert '`subcog remember "…"`' in empty["Next"]
    id_ = subcog("remember", "Berths are allocated by length.").out.strip()
    assert "`subcog init`" in steps(subcog)["Next"]
    subcog("init")
    assert steps(subcog)["Hook"] == "runs in Claude Code"
    assert "ask your agent" in steps(subcog)["Next"]
    keep(home, decided("d1", candidates=[candidate(id_, 0.7)]))
    assert steps(subcog)["Last"].startswith("1 note given to a prompt of ")
    subcog("remember", "Ropes are replaced every spring.")
    subcog("edit", json.loads(subcog("list", "--jsonl", "-n", "1").out)["id"], "--status", "pending")
    assert (steps(subcog)["Review"], "`subcog review`" in steps(subcog)["Next"]) == ("1 note waits for your word", True)
    subcog("pause")
    assert (steps(subcog)["Hook"], "`subcog resume`" in steps(subcog)["Next"]) == ("runs in Claude Code; paused", True)


def test_a_group_alone_lists(subcog: Run) -> None:
    for name, listing in (("config", "list"), ("models", "list"), ("state", "get"), ("share", "status")):
        alone, listed = subcog(name), subcog(name, listing)
        assert alone == listed
        assert alone.out or alone.code == 1  # nothing is shared


def test_help_shows_few_commands_in_groups(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = subcog("--help").out.splitlines()
    titles = [title for group, title in GROUPS.items() if group != SCRIPTS]
    assert [line for line in lines if line.removesuffix(":") in titles] == [f"{title}:" for title in titles]
    in_sight = {name for name, command in COMMANDS.items() if command.group != SCRIPTS}
    assert {line.split()[0] for line in lines if line.startswith("  ")} >= in_sight
    assert len(in_sight) <= MAX_COMMANDS
    assert len(lines) <= MAX_LINES
    folded = {name for name, command in COMMANDS.items() if command.group == SCRIPTS and command.summary}
    every = subcog("--help", "--all").out
    assert f"{GROUPS[SCRIPTS]}:\n" in every
    assert not [name for name in folded if f"\n  {name} " not in every or f"\n  {name} " in subcog("--help").out]
