"""Sessions become proposals, through the real executable: by a command, and at rest when another session begins."""

import json
import time
from pathlib import Path

from tests.e2e.machine import REMOTE, Machine, posix
from tests.transcripts import Writer

RULE = "Don't use npm here, we're on pnpm"
LONG_S = 20.0  # for the process on a busy machine


def session(machine: Machine, name: str, *typed: str, folder: Path | None = None) -> Path:
    projects = machine.root / "user" / ".claude" / "projects"
    written = Writer(projects / "-home-dev-shop" / f"{name}.jsonl", folder=str(folder or machine.folder), session=name)
    for text in typed:
        written.typed(text)
        written.said("ok")
    return written.path


def waiting(machine: Machine) -> list[str]:
    return [json.loads(line)["content"] for line in machine.run("review", "--jsonl").stdout.splitlines()]


def test_what_was_typed_is_proposed_kept_and_then_given_to_the_agent(bare: Machine) -> None:
    at = bare.repository("shop", REMOTE)
    session(bare, "one", "hello", RULE, folder=at)
    done = bare.run("learn", "--jsonl")
    assert done.code == 0, done.stderr
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (row["memory"], row["session"], row["role"]) == (RULE, "one", "user")
    question = "Do we use npm or pnpm to install packages here?"
    assert bare.answer(bare.asking(question, cwd=at)) == ""
    (listed,) = bare.run("review", "--list").stdout.decode().splitlines()
    assert bare.run("review", "--accept", listed.split()[0]).code == 0
    assert "from a transcript" in bare.answer(bare.asking(question, cwd=at))


@posix
def test_a_session_that_begins_leaves_the_look_to_a_process_at_rest(bare: Machine) -> None:
    session(bare, "one", "hello", RULE)
    bare.run("remember", "Ropes are replaced every spring.")
    bare.environment["SUBCOG_BACKGROUND"] = "1"  # however busy the machine is
    bare.hook(bare.beginning("startup"))
    time.sleep(0.5)  # in which a process that nobody wants would have done it
    assert waiting(bare) == []
    bare.run("config", "set", "capture.sessions", "on")
    bare.hook(bare.beginning("startup"))
    deadline = time.monotonic() + LONG_S
    while waiting(bare) != [RULE]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
