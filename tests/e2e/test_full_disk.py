"""A disk that is full while something is done at rest: the store is whole, and it is done later."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import LOOK_EVENT
from tests.e2e.machine import Machine, assert_silent, linux, write_program
from tests.e2e.test_second_look import LATE, WAGES, called, payroll, rest

SIZE = "24m"
BUSY = "this machine was too busy"
QUESTION_OF_A_MODEL = "When do employees receive their salary?"
NOTES = {"number": 1, "questions": [QUESTION_OF_A_MODEL], "keywords": [], "files": [], "standing": "unclear"}

__all__ = ["payroll"]  # the fixture
pytestmark = linux


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small file system of its own."""
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def small(bare: Machine, disk: Path, payroll: Path, tmp_path: Path) -> Iterator[Machine]:
    """A machine whose home lies on the small disk."""
    machine = bare
    machine.home = disk / "memories"
    shutil.copytree(payroll, machine.home)
    aside = tmp_path / "aside"  # copies on which questions are tried
    aside.mkdir()
    machine.environment |= {"SUBCOG_HOME": str(machine.home), "SUBCOG_BACKGROUND": "1", "TMPDIR": str(aside)}
    state = State.open(Home(str(machine.home)), 1_000)
    state.run("INSERT INTO due_times VALUES ('teaching', 9e12)")  # nothing is done at rest but by a test's own word
    state.close()
    yield machine
    machine.end_processes()  # or what is at work makes the home anew
    free(machine)
    shutil.rmtree(machine.home)


def fill(machine: Machine) -> None:
    descriptor = os.open(machine.home.parent / "full", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        while os.write(descriptor, b"x" * 4_096):
            pass
    except OSError:
        assert os.fstatvfs(descriptor).f_bavail == 0
    finally:
        os.close(descriptor)


def free(machine: Machine) -> None:
    (machine.home.parent / "full").unlink(missing_ok=True)


def choose_client(machine: Machine, answer: object, *, fills: bool) -> None:
    """Let a program that fills the disk first, or not, answer as the user's own client."""
    client = machine.root / "claude"
    told = json.dumps({"is_error": False, "structured_output": answer})
    does = f"dd if=/dev/zero of={machine.home.parent}/full bs=4096 2>{os.devnull}\n" if fills else ""
    write_program(client, f"{does}echo '{told}'")
    if fills:
        machine.configure(llm__at_rest="claude", llm__client=str(client))


def is_sound(machine: Machine) -> bool:
    return b"ok  store sound" in machine.run("doctor").stdout


def test_a_second_look_fails_and_the_next_one_finds_it(small: Machine) -> None:
    choose_client(small, {"numbers": [1]}, fills=True)
    assert_silent(small.prompt(WAGES, "first"))
    rest(small)
    assert_silent(small.prompt(WAGES, "meanwhile"))
    rest(small)
    free(small)
    assert is_sound(small)
    assert [one.outcome for one in small.past_verdicts() if one.event == LOOK_EVENT] == []
    choose_client(small, {"numbers": [*range(1, 16)]}, fills=False)
    assert_silent(small.prompt(WAGES, "later"))
    rest(small)
    assert LATE in called(small, "later")


def test_questions_that_a_model_has_written_are_asked_for_again(small: Machine) -> None:
    choose_client(small, {"notes": [NOTES]}, fills=True)
    done = small.run("enrich", "--limit", "1")
    assert (done.code, done.stdout) == (3, b"")
    assert done.stderr.splitlines()[1:] == [done.stderr.splitlines()[-1]]  # one line behind what is sent
    assert b"the disk is full" in done.stderr
    free(small)
    assert is_sound(small)
    assert questions(small) == []
    choose_client(small, {"notes": [NOTES]}, fills=False)
    assert small.run("enrich", "--limit", "1").code == 0
    assert [one["text"] for one in questions(small)] == [QUESTION_OF_A_MODEL]


def test_a_typed_note_is_stopped_and_its_author_told_so(small: Machine) -> None:
    small.environment |= {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDECODE": "1"}
    fill(small)
    assert "subcog: not stored, because" in (reason := answer_to_note(small))
    assert "the disk is full; free some space" in reason
    free(small)
    assert b"last Friday" not in small.run("list", "--jsonl", "--all-projects").stdout
    assert "remembered as" in answer_to_note(small)


def answer_to_note(machine: Machine) -> str:
    """The words with which a typed note is stopped, once the machine has time for it."""
    reason = BUSY
    while BUSY in reason:
        answer = json.loads(machine.prompt("remember: wages are paid on the last Friday").stdout)
        assert answer["decision"] == "block"
        reason = str(answer["reason"])
    return reason


def questions(machine: Machine) -> list[dict[str, str]]:
    (row,) = [row for row in machine.stored().values() if row["id"] == LATE]
    found: list[dict[str, str]] = row.get("questions", [])
    return found
