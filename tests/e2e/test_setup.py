"""`subcog setup` and the questions of `init`: what is asked, what each answer writes, and that nothing is on unasked."""

import shutil
import signal
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tests import transcripts
from tests.e2e.machine import Machine, assert_one_line_error, posix, write_program
from tests.e2e.screen import OnTerminal
from tests.e2e.test_import_from import notes_of, topic

PAST = "Make them searchable on this machine, and new ones when they are over? Nothing is sent."
VALUES = ("capture.claude_memory", "llm.at_rest", "llm.agent_words", "capture.sessions")
OFF, ON = ["false", "none", "false", "off"], ["true", "claude", "true", "auto"]
ADR = "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nAll services store their data in PostgreSQL.\n"
STAGING = "Staging lies behind the VPN."
MODEL_WORDS = (
    "For each session it is sent what you typed, the last 600 characters of the agent's answer to each prompt, no code, and "
    "up to 60 of the project's notes, a line each. What may hold a secret, or is marked private, is left out."
)
RECORDS = "Found here: 1 decision record. They come again when they change. Bring them in? [Y/n]"
NOTES = "Found: 1 note that Claude Code wrote in 1 project. Bring them in, now and whenever they change, in every project?"
WRITE = "Write the hook into ~/.claude/settings.json?"
MAY_IT, AT_ONCE = "May it? [y/N]", "Act at once on what it finds?"


def values(machine: Machine) -> list[str]:
    return [machine.run("config", "get", name).stdout.decode().strip() for name in VALUES]


def answer_on_terminal(machine: Machine, *words: str, answers: Sequence[tuple[str, str]] = ()) -> str:
    """Run a command on a terminal, answer each question once it is there, and return all that was shown, in one line."""
    asked = OnTerminal([machine.command, *words], machine.folder, machine.environment, columns=2_000)
    for question, answer in answers:
        asked.read_until(question)
        asked.type(f"{answer}\n")
    assert asked.end() == 0
    return " ".join(asked.written.split())


def with_claude(machine: Machine) -> None:
    """Put a client on the PATH that knows no event which some clients lack. It answers nothing else."""
    program = write_program(machine.root / "client" / "claude", "echo '2.1.197 (Claude Code)'")
    machine.environment["PATH"] = f"{program.parent}:{machine.environment['PATH']}"


def with_session(machine: Machine, name: str) -> None:
    projects, yesterday = machine.root / "user" / ".claude" / "projects", f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
    transcripts.session(projects, name, "never use npm", folder=str(machine.folder), day=yesterday).path.touch()


def with_note_of_claude(machine: Machine) -> None:
    (notes_of(machine, machine.folder) / "staging.md").write_text(topic("project", STAGING))


def with_verdict(machine: Machine) -> None:
    (machine.folder / ".git").mkdir()
    path = machine.folder / "docs" / "adr" / "0001-postgresql.md"
    path.parent.mkdir(parents=True)
    path.write_text(ADR, encoding="utf-8")


@posix
def test_nothing_is_switched_on_without_a_terminal(bare: Machine) -> None:
    with_claude(bare)
    with_verdict(bare)
    assert bare.run("init").code == 0
    assert bare.run("init", "--no").code == 0
    done = bare.run("setup")
    assert (done.code, values(bare)) == (0, OFF)
    assert done.stdout.decode().split("\n")[1].split() == ["a", "model", "at", "rest", "off"]
    assert bare.run("list").code == 1


@posix
def test_yes_switches_all_on_and_no_all_off(bare: Machine) -> None:
    with_claude(bare)
    with_verdict(bare)
    with_note_of_claude(bare)
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
    with_verdict(bare)
    for number in range(3):
        with_session(bare, f"s{number}")
    bare.run("config", "set", "llm.calls_a_day", "2")
    shown = answer_on_terminal(
        bare, "init", "--no-skills", answers=((WRITE, "y"), (RECORDS, ""), (PAST, "n"), (MAY_IT, "y"), (AT_ONCE, "n"))
    )
    assert MODEL_WORDS in shown
    assert "It is asked 2 times a day at most (llm.calls_a_day)." in shown
    assert values(bare) == ["false", "claude", "true", "on"]
    assert "Found 3 past sessions." in shown
    assert (bare.home / "sessions.db").exists() is False
    again = answer_on_terminal(bare, "init", "--no-skills")
    assert ("Found" in again, "May it?" in again, "has the hook already" in again) == (False, False, True)


@posix
def test_setup_asks_only_what_is_open_and_shows_the_choices(bare: Machine) -> None:
    with_claude(bare)
    with_verdict(bare)
    with_session(bare, "one")
    answer_on_terminal(bare, "setup", answers=((RECORDS, "n"), (PAST, "y"), (MAY_IT, "n")))
    assert values(bare) == OFF
    assert "Found" not in answer_on_terminal(bare, "init", "--no-skills", answers=((WRITE, ""),))
    answer_on_terminal(bare, "setup", answers=((RECORDS, "y"), (MAY_IT, "y"), (AT_ONCE, "y")))
    shown = answer_on_terminal(bare, "setup")
    assert "[" not in shown
    assert b"\n  setup " in bare.run("--help").stdout
    for choice in ("search of sessions transcript", "project adr", "claude, 0 of 50 calls today", "act at once"):
        assert choice in shown
    with_note_of_claude(bare)
    (bare.root / "user" / ".codex").mkdir()
    answer_on_terminal(bare, "setup", answers=(("Found Codex CLI.", "n"), (NOTES, "")))
    assert values(bare) == ON


@posix
def test_a_yes_brings_in_what_was_asked_and_nothing_else(bare: Machine) -> None:
    with_verdict(bare)
    with_note_of_claude(bare)
    answer_on_terminal(bare, "setup", answers=((RECORDS, "y"), (NOTES, "n")))
    assert (values(bare), len(bare.stored()), STAGING in bare.stored()) == (OFF, 1, False)
    answer_on_terminal(bare, "setup", answers=((NOTES, "y"),))
    assert (values(bare), len(bare.stored()), STAGING in bare.stored()) == (["true", *OFF[1:]], 2, True)


@posix
def test_who_agreed_to_typed_words_alone_is_asked_again(bare: Machine) -> None:
    with_claude(bare)
    bare.configure(llm__at_rest="claude", llm__learn="true", capture__sessions="auto", surfacing__brief_characters="0")
    shown = answer_on_terminal(bare, "init", "--no-skills", answers=((WRITE, ""), (MAY_IT, "n")))
    assert (MODEL_WORDS in shown, AT_ONCE in shown) == (True, False)
    assert values(bare)[1:] == ["claude", "false", "auto"]
    answer_on_terminal(bare, "setup", answers=((MAY_IT, "y"),))
    assert values(bare)[1:] == ON[1:]


@posix
def test_init_asks_about_each_installed_agent_once(bare: Machine) -> None:
    user = bare.root / "user"
    for folder in (".codex", ".gemini"):
        (user / folder).mkdir()
    asked = OnTerminal([bare.command, "init", "--no-skills"], bare.folder, bare.environment)
    asked.read_until(WRITE)
    asked.type("\n")
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
def test_an_agent_does_not_answer_for_the_person(bare: Machine) -> None:
    bare.environment["CODEX_THREAD_ID"] = "019b"
    for command in (("setup", "--yes"), ("init", "--yes"), ("setup", "--no")):
        assert_one_line_error(bare.run(*command), 2)
    assert values(bare) == OFF


@posix
def test_a_yes_makes_past_sessions_searchable(bare: Machine) -> None:
    projects = bare.root / "user" / ".claude" / "projects"
    transcripts.session(
        projects, "one", "why is the zanzibar lighthouse dark?", folder=str(bare.folder), answer="A bulb broke."
    )
    shown = answer_on_terminal(bare, "init", "--no-skills", answers=((WRITE, ""), (PAST, "")))
    assert "Found 1 past session." in shown
    assert "1 exchange of 1 session can be searched" in shown
    assert b"A bulb broke." in bare.run("search", "--sessions", "zanzibar").stdout
    assert bare.run("uninstall").code == 0
    kept = [path.read_bytes() for path in bare.home.rglob("*") if path.is_file()]
    assert not any(b"zanzibar" in data for data in kept)
    assert bare.run("config", "get", "sessions.keep").stdout.decode().strip() == "off"


@posix
def test_init_asks_before_it_writes_anything(bare: Machine) -> None:
    for agent, folder in (((), ".claude"), (("--for", "gemini"), ".gemini")):
        user, path = bare.root / "user", bare.root / "user" / folder / "settings.json"
        question = f"Write the hook into ~/{folder}/settings.json and skills into ~/{folder}/skills?"
        asked = OnTerminal([bare.command, "init", *agent], bare.folder, bare.environment)
        asked.read_until("[Y/n]")
        assert (question in " ".join(asked.written.split()), (user / folder).exists(), bare.home.exists()) == (
            True,
            False,
            False,
        )
        asked.type("n\n")
        assert (asked.end(), "nothing was written" in asked.written, (user / folder).exists()) == (1, True, False)
        shown = answer_on_terminal(bare, "init", *agent, answers=((question, "y"),))
        assert (path.exists(), (user / folder / "skills").exists(), shown.count("Write the")) == (True, True, 1)
        assert "Write the" not in answer_on_terminal(bare, "init", *agent)
        assert bare.run("uninstall", *agent).code == 0
        shutil.rmtree(bare.home)


@posix
def test_setup_is_in_sight(bare: Machine) -> None:
    with_claude(bare)
    with_session(bare, "one")
    row = "Setup   Claude's notes off, past sessions {0}, a model {0}; `subcog setup` asks"
    assert row.format("off") in bare.run().stdout.decode()
    assert b"`subcog setup` shows and changes what subcog does by itself" in bare.run("init", "--no-skills").stderr
    answer_on_terminal(bare, "setup", answers=((PAST, "y"), (MAY_IT, "y"), (AT_ONCE, "y")))
    assert row.format("on") in bare.run().stdout.decode()


@posix
def test_an_interrupt_between_two_questions_chooses_nothing(bare: Machine) -> None:
    with_claude(bare)
    asked = OnTerminal([bare.command, "setup"], bare.folder, bare.environment)
    asked.read_until(MAY_IT)
    asked.type("y\n")
    asked.read_until(AT_ONCE)
    asked.process.send_signal(signal.SIGINT)
    asked.type("\n")  # Python sees a signal between the question and its read only once the read ends.
    assert (asked.end(), values(bare)) == (130, OFF)
