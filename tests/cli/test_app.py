"""A command loads its own module, none is left out of the list; and `subcog` alone shows an overview."""

import json
import re
import subprocess
import sys
from pathlib import Path

import typer

from subcog_hooks.cli.agents import claude_code, other_agents
from subcog_hooks.cli.commands import COMMANDS, GROUPS, SCRIPTS, first_sentence
from subcog_hooks.core.paths import Home
from tests.cli.conftest import MonkeyPatch, Run, whole_application
from tests.cli.decided import candidate, decided, keep


def test_the_table_has_every_command_with_its_summary() -> None:
    group = typer.main.get_command(whole_application())
    assert isinstance(group, typer.core.TyperGroup)
    summaries = {name: "" if command.hidden else first_sentence(command.help or "") for name, command in group.commands.items()}
    assert {name: command.summary for name, command in COMMANDS.items()} == summaries


def test_a_command_loads_its_own_module_alone() -> None:
    script = (
        "import sys; sys.argv = ['subcog', 'help']\n"
        "from subcog_hooks.cli.commands import run_command_line\n"
        "try: run_command_line()\n"
        "finally: sys.stderr.write(' '.join(m for m in sys.modules if m.startswith('subcog_hooks.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    loaded = {name.rpartition(".")[2] for name in done.stderr.splitlines()[-1].split()}
    assert loaded & {command.module for command in COMMANDS.values()} == {"help_topics"}


MAX_COMMANDS, MAX_LINES = 22, 40


def steps(subcog: Run) -> dict[str, str]:
    """Return the six lines of `subcog` alone by their first word."""
    done = subcog()
    assert (done.code, done.err, len(done.out.splitlines())) == (0, "", 6)
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
    subcog("resume")
    subcog("config", "set", "surfacing.enabled", "false")
    assert steps(subcog)["Hook"] == "runs in Claude Code; switched off by surfacing.enabled"
    assert "`subcog config list`" in steps(subcog)["Next"]


def test_subcog_alone_tells_each_agents_true_state(subcog: Run) -> None:
    subcog("remember", "Berths are allocated by length.")
    subcog("init", "--for", "codex")
    state = steps(subcog)
    assert (state["Hook"], state["Next"]) == ("not trusted yet: Codex", "`subcog doctor` says what the hook needs")
    for name in ("gemini", "qwen", "zed"):
        subcog("init", "--for", name)
    assert steps(subcog)["Hook"] == "runs in Gemini, Qwen Code; server for Zed; not trusted yet: Codex"
    switches = {"qwen": '{"disableAllHooks": true,', "gemini": '{"hooksConfig": {"enabled": false},'}
    for name, switch in switches.items():
        file = Path(other_agents.CLIENTS[name].settings.path)
        file.write_text(file.read_text().replace("{", switch, 1))
    Path(other_agents.CLIENTS["codex"].settings.folder_path, "config.toml").write_text("[features]\nhooks = false\n")
    assert steps(subcog)["Hook"] == "server for Zed; switched off: Codex, Gemini, Qwen Code"
    told = subcog("doctor").out
    assert "Codex CLI: hook in " in told
    assert told.count(" is switched off.") == 3
    assert "no agent runs the hook" not in told
    assert "`subcog init` registers it" not in told
    subcog("init")
    (file,) = Path(claude_code.config_folder()).glob("settings.json")
    file.write_text(file.read_text().replace("{", '{"disableAllHooks": true,', 1))
    assert steps(subcog)["Hook"] == "server for Zed; switched off: Claude Code, Codex, Gemini, Qwen Code"
    assert f"disableAllHooks is true in {file}: Claude Code runs no hook" in subcog("doctor").out


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


def test_help_pages_break_no_command_and_no_name(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in COMMANDS:
        out = subcog(name, "--help").out
        text = " ".join(out.split())
        codes = (
            re.findall("`[^`]+`", text)
            + re.findall(r"[\w-]+-[\w-]+", text)
            + re.findall("Example: (.+?) (?:Options|Arg)", text)
        )
        assert not [code for code in codes if code not in out], name
