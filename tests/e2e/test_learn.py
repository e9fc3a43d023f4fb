"""Sessions become proposals, through the real executable: by a command, and at rest when another session begins."""

import json
import time
from pathlib import Path

from tests import transcripts
from tests.e2e.machine import LONGEST_S, REMOTE, Machine, posix, wait_until

RULE = "Don't use npm here, we're on pnpm"
VALUES = (  # an older and a newer sentence about one subject
    ("from now on use port 8080 for the dev server, never 3000", "from now on use port 8090 for the dev server, never 3000"),
    ("always target Python 3.11, never 3.10", "always target Python 3.12, never 3.10"),
    ("we always use pnpm to install packages here, never npm", "we always use yarn to install packages here, never npm"),
    ("always run the migrations before the tests", "never run the migrations before the tests"),
)
SUBJECTS = (  # sentences that hold side by side
    ("in web always use pnpm, never npm", "in mobile always use yarn, never npm"),
    ("never deploy to staging on Fridays, remember that", "never deploy to production on Fridays, remember that"),
)


def session(machine: Machine, name: str, *typed: str, folder: Path | None = None, day: str = "2026-03-02") -> Path:
    projects = machine.root / "user" / ".claude" / "projects"
    return transcripts.session(projects, name, *typed, folder=str(folder or machine.folder), day=day).path


def waiting(machine: Machine) -> list[str]:
    return [row["content"] for row in machine.rows("review", "--jsonl")]


def test_a_typed_sentence_becomes_a_memory_for_the_agent(bare: Machine) -> None:
    at = bare.repository("shop", REMOTE)
    session(bare, "one", "hello", RULE, folder=at)
    done = bare.run("learn", "--jsonl")
    assert done.code == 0, done.stderr
    row = json.loads(done.stdout)
    assert (row["memory"], row["session"], row["role"]) == (RULE, "one", "user")
    question = "Do we use npm or pnpm to install packages here?"
    assert bare.answer(bare.asking(question, cwd=at)) == ""
    (listed,) = bare.run("review", "--list").stdout.decode().splitlines()
    assert bare.run("review", "--accept", listed.split()[0]).code == 0
    assert "said in a session" in bare.answer(bare.asking(question, cwd=at))


def test_only_other_subjects_are_proposed_side_by_side(bare: Machine) -> None:
    for number, pair in enumerate(VALUES + SUBJECTS):
        folder = bare.repository(f"p{number}", f"https://github.com/acme/p{number}.git")
        for text, day in zip(pair, ("2026-03-02", "2026-03-05"), strict=True):
            session(bare, f"{number}-{day}", text, folder=folder, day=day)
    proposed = {row["memory"] for row in bare.rows("learn", "--dry-run", "--jsonl")}
    assert proposed == {newer for _, newer in VALUES}.union(*SUBJECTS)


def test_a_newer_value_replaces_the_older_one_that_waits(bare: Machine) -> None:
    older, newer = VALUES[0]
    for day, text in (("2026-03-02", older), ("2026-03-05", newer), ("2026-03-07", older)):
        session(bare, day, text, day=day)
        assert bare.run("learn").code == 0
        assert waiting(bare) == [text]
    (current,) = bare.stored("pending").values()
    assert bare.stored("superseded")[newer]["superseded_by"] == current["id"]
    session(bare, "one day", VALUES[1][0], VALUES[1][1])
    assert bare.run("learn").code == 0
    assert set(waiting(bare)) == {older, VALUES[1][1]}


@posix
def test_a_session_start_leaves_learning_to_a_job(bare: Machine) -> None:
    session(bare, "one", "hello", RULE)
    bare.run("remember", "Ropes are replaced every spring.")
    bare.environment["SUBCOG_BACKGROUND"] = "1"  # however busy the machine is
    bare.hook(bare.beginning("startup"))
    time.sleep(0.5)  # in which a process that nobody wants would have done it
    assert waiting(bare) == []
    bare.run("config", "set", "capture.sessions", "on")
    bare.hook(bare.beginning("startup"))
    wait_until(lambda: waiting(bare) == [RULE], LONGEST_S)
