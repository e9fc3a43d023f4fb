"""`subcog setup` and the questions of `init`: what is asked, what each answer writes, and that nothing is on unasked."""

import pytest

from tests import transcripts
from tests.e2e.machine import Machine, assert_one_line_error, posix, write_program
from tests.e2e.screen import OnTerminal

VALUES = ("capture.claude_memory", "llm.at_rest", "capture.sessions")
OFF, ON = ["false", "none", "off"], ["true", "claude", "auto"]
ADR = "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nAll services store their data in PostgreSQL.\n"


def values(machine: Machine) -> list[str]:
    return [machine.run("config", "get", name).stdout.decode().strip() for name in VALUES]


def answer_on_terminal(machine: Machine, *words: str) -> str:
    asked = OnTerminal([machine.command, *words], machine.folder, machine.environment)
    assert asked.end() == 0
    return asked.written


def with_claude(machine: Machine) -> None:
    """Put a client on the PATH that knows no event which some clients lack. It answers nothing else."""
    program = write_program(machine.root / "client" / "claude", "echo '2.1.100 (Claude Code)'")
    machine.environment["PATH"] = f"{program.parent}:{machine.environment['PATH']}"


def with_decision(machine: Machine) -> None:
    (machine.folder / ".git").mkdir()
    path = machine.folder / "docs" / "adr" / "0001-postgresql.md"
    path.parent.mkdir(parents=True)
    path.write_text(ADR, encoding="utf-8")


@posix
def test_nothing_is_switched_on_without_a_terminal(bare: Machine) -> None:
    with_claude(bare)
    with_decision(bare)
    assert bare.run("init").code == 0
    assert bare.run("init", "--no").code == 0
    done = bare.run("setup")
    assert (done.code, values(bare)) == (0, OFF)
    assert done.stdout.decode().split("\n")[1].split() == ["a", "model", "at", "rest", "off"]
    assert bare.run("list").code == 1


@posix
def test_yes_switches_all_on_and_no_all_off(bare: Machine) -> None:
    with_claude(bare)
    with_decision(bare)
    assert "claude, 0 of" in answer_on_terminal(bare, "setup", "--yes")
    assert values(bare) == ON
    assert b"PostgreSQL" in bare.run("list").stdout
    done = bare.run("setup", "--no")
    assert (done.code, b"setup --no" in done.stderr) == (0, False)
    assert values(bare) == OFF
    assert_one_line_error(bare.run("setup", "--no", "--yes"), 2)


@posix
def test_init_asks_in_plain_words_and_only_once(bare: Machine) -> None:
    with_claude(bare)
    with_decision(bare)
    projects = bare.root / "user" / ".claude" / "projects"
    transcripts.session(projects, "one", "from now on, never use npm", folder=str(bare.folder))
    asked = OnTerminal([bare.command, "init", "--no-skills"], bare.folder, bare.environment)
    asked.read_until("Found: 1 decision record here. They come again when they change. Bring them in? [Y/n]")
    asked.type("\n")
    asked.read_until("About 2 small calls a day, of your own plan (at most 50)")
    asked.read_until("May it? [y/N]")
    asked.type("y\n")
    asked.read_until("Act at once on what it finds?")
    asked.type("n\n")
    assert asked.end() == 0
    assert values(bare) == ["true", "claude", "on"]
    again = OnTerminal([bare.command, "init", "--no-skills"], bare.folder, bare.environment)
    assert again.end() == 0
    assert "May it?" not in again.written
    assert "has the hook already" in again.written


@posix
def test_init_asks_about_each_installed_agent_once(bare: Machine) -> None:
    user = bare.root / "user"
    for folder in (".codex", ".gemini"):
        (user / folder).mkdir()
    asked = OnTerminal([bare.command, "init", "--no-skills"], bare.folder, bare.environment)
    asked.read_until("Found Codex CLI. Give it your memories, too? [Y/n]")
    asked.type("\n")
    asked.read_until("Found Gemini CLI. Give it your memories, too? [Y/n]")
    asked.type("n\n")
    assert asked.end() == 0
    assert ((user / ".codex" / "hooks.json").exists(), (user / ".gemini" / "settings.json").exists()) == (True, False)
    again = OnTerminal([bare.command, "init", "--no-skills"], bare.folder, bare.environment)
    assert again.end() == 0
    assert "Found" not in again.written
    assert bare.run("setup").stdout.decode().split("\n")[-2] == "other agents           Codex CLI"
    assert bare.run("setup", "--yes").code == 0
    assert (user / ".gemini" / "settings.json").exists()


@posix
def test_setup_asks_again_and_takes_an_answer_back(bare: Machine) -> None:
    with_claude(bare)
    answer_on_terminal(bare, "setup", "--yes")
    asked = OnTerminal([bare.command, "setup"], bare.folder, bare.environment)
    asked.read_until("May it? [y/N]")
    asked.type("\n")
    assert asked.end() == 0
    assert values(bare)[1:] == ["none", "off"]


@posix
@pytest.mark.parametrize(("variable", "value"), [("CLAUDECODE", "true"), ("GEMINI_CLI", "1"), ("CODEX_THREAD_ID", "019b")])
def test_an_agent_does_not_answer_for_the_person(bare: Machine, variable: str, value: str) -> None:
    bare.environment[variable] = value
    for command in (("setup", "--yes"), ("init", "--yes"), ("setup", "--no")):
        assert_one_line_error(bare.run(*command), 2)
    assert_one_line_error(bare.run("config", "set", "surfacing.log_prompts", "false"), 2)
    assert values(bare) == OFF


@posix
def test_a_script_brings_notes_in_and_asks_no_model(bare: Machine) -> None:
    with_claude(bare)
    with_decision(bare)
    for command in ("setup", "init"):
        done = bare.run(command, "--yes")
        assert (done.code, b"asks in a terminal alone" in done.stderr) == (0, True)
    assert values(bare) == ["true", *OFF[1:]]
