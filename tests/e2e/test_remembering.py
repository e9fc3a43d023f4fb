"""What `remember` says and asks, whose memories `list` shows, and when `forget` asks first."""

import signal
import sqlite3
from contextlib import closing

import pytest

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.machine import OTHER_REMOTE, PROJECT, REMOTE, Machine, posix
from tests.e2e.screen import OnTerminal

OLD = (
    "The upload timeout is 30 seconds, because the load balancer drops idle sockets; large files are sent in parts."
    + " Ask ops." * 20
)
NEW = "The upload timeout is 45 s."
ASKED = "Keep both (k), supersede the old one (1), or cancel (c)?"


def remembered(machine: Machine, *arguments: str) -> str:
    done = machine.run("remember", *arguments)
    assert done.code == 0, done.stderr
    return done.stdout.decode().strip()


def ids(machine: Machine, *options: str) -> list[str]:
    return machine.run("list", "--ids", *options).stdout.decode().split()


def test_it_says_where_a_memory_went_and_when_it_comes(bare: Machine) -> None:
    shop = bare.repository("harbour", REMOTE)
    done = bare.run("remember", "Cranes are tested every March.", "-s", "decisions", cwd=shop)
    assert done.stderr.decode() == f"kept in decisions of {PROJECT}; it comes when a prompt is about it\n"
    done = bare.run("remember", "Berths have numbers.", "--trigger", r"\bberth", "--path", "src/db/**", "--when", "branch=main")
    told = done.stderr.decode().splitlines()[0]
    assert told == (
        "kept in learnings, for all your projects; it comes when a prompt is about it, "
        r"when a prompt or a command matches \bberth, or when a tool touches src/db/**, only while branch=main"
    )


def test_a_named_project_is_listed_without_user_notes(bare: Machine) -> None:
    mine = remembered(bare, "Use tabs in all my projects.", "--user")
    theirs = remembered(bare, "The shop is closed on Mondays.", "--project", OTHER_REMOTE)
    assert ids(bare, "--project", OTHER_REMOTE) == [theirs]
    assert set(ids(bare, "--all-projects")) == {mine, theirs}


@posix
@pytest.mark.parametrize("count", [1, 2])
def test_memories_are_purged_only_when_that_is_confirmed(bare: Machine, count: int) -> None:
    texts = ("Cranes are tested every March.", "The gate code is changed weekly.")
    stored = [remembered(bare, text) for text in texts[:count]]
    done = bare.run("forget", "--purge", *stored)
    assert (done.code, done.stderr.count(b"\n"), b"--yes" in done.stderr) == (2, 1, True)
    for answer, left in (("n\n", count), ("y\n", 0)):
        assert sorted(ids(bare)) == sorted(stored)
        asked = OnTerminal([bare.command, "forget", "--purge", *stored], bare.folder, bare.environment)
        asked.read_until("for good?")
        asked.type(answer)
        assert asked.end() == (1 if left else 0)
    assert ids(bare) == []
    again = [remembered(bare, text) for text in texts[:count]]
    assert bare.run("forget", "--purge", "--yes", *again).code == 0
    assert ids(bare) == []


def test_a_text_with_hardly_a_letter_is_refused(bare: Machine) -> None:
    for text in ("ab", "- 1 -", "?!…"):
        done = bare.run("remember", "--", text)
        assert (done.code, done.stderr.count(b"\n")) == (2, 1)
        assert b"is too short to be found again; write a sentence" in done.stderr
    assert remembered(bare, "Vim")


def test_a_contradicted_note_is_shown_whole(bare: Machine) -> None:
    for old, new, difference in (
        (OLD, NEW, "30 s there, 45 s here"),
        ("We use Redis for the session cache, because it is fast.", "We do not use Redis.", "it says the opposite"),
        ("Deploys happen on Fridays.", "Deploys never happen on Fridays.", "it says the opposite"),
        ("Test DB on port 5435", "Test database runs on port 5434", "5435 there, 5434 here"),
        ("Pin Terraform to v1.5.7 in CI.", "Pin Terraform to v1.6.0 in CI.", "v1.5.7 there, v1.6.0 here"),
        ("We use Vitest for unit tests.", "We use Jest for unit tests.", "Vitest there, Jest here"),
    ):
        before = remembered(bare, old)
        done = bare.run("remember", new)
        told = done.stderr.decode()
        assert f"contradicts it: {difference}: {before} {old.strip()}\n" in told
        assert f"subcog supersede {before} {done.stdout.decode().strip()}" in told


def test_another_subject_contradicts_nothing(bare: Machine) -> None:
    remembered(bare, "The upload timeout is 30 seconds.")
    for text in ("The download timeout is 45 seconds.", "The upload timeout is logged.", "We do not use Redis."):
        assert b"contradicts" not in bare.run("remember", text).stderr
    remembered(bare, "The EU cluster keeps logs for 30 days")
    assert b"contradicts" not in bare.run("remember", "The US cluster keeps logs for 90 days").stderr


@posix
@pytest.mark.parametrize(
    ("answer", "code", "kept", "superseded"), [("k\n", 0, 2, 0), ("1\n", 0, 1, 1), ("c\n", 1, 1, 0), (None, 130, 1, 0)]
)
def test_a_terminal_asks_what_to_do_before_anything_is_stored(
    bare: Machine, answer: str | None, code: int, kept: int, superseded: int
) -> None:
    before = remembered(bare, OLD)
    asked = OnTerminal([bare.command, "remember", NEW], bare.folder, bare.environment)
    shown = asked.read_until(ASKED)
    assert before in shown
    assert "".join(OLD.split()) in "".join(shown.split())
    assert ids(bare) == [before]
    if answer is None:
        asked.process.send_signal(signal.SIGINT)
    else:
        asked.type(answer)
    assert asked.end() == code
    assert (len(ids(bare)), len(ids(bare, "--status", "superseded"))) == (kept, superseded)


def test_a_rule_is_promised_only_for_actions_that_bring_it(bare: Machine) -> None:
    for name in AS_LARGE_STORES_WITHOUT_LINES:
        del bare.environment[name]
    promise = b"or when the agent is about to push\n"
    nearer = "Never use git push, jj git push or git lfs push without a word to Ada."
    assert promise in bare.run("remember", nearer).stderr
    done = bare.run("remember", "Always announce pushes in the harbour channel.")
    later = done.stdout.decode().strip()
    assert promise not in done.stderr
    remedy = f'subcog edit {later} --trigger "git push"'
    assert f"it does not come when the agent is about to push; to make it come: {remedy}\n" in done.stderr.decode()
    assert later not in bare.at_call("Bash", command="git push origin main")
    bare.run("edit", later, "--trigger", "git push")
    assert later in bare.at_call("Bash", command="git push origin main")


def test_nothing_is_promised_where_tools_bring_nothing(bare: Machine) -> None:
    bare.run("config", "set", "surfacing.tools", "false")
    told = bare.run("remember", "Always squash your commits.").stderr.decode()
    assert "it does not come when the agent is about to commit: surfacing.tools is false\n" in told
    assert "or when the agent" not in told


def test_trying_an_action_leaves_no_trace(bare: Machine) -> None:
    remembered(bare, "Always squash your commits.")
    with closing(sqlite3.connect(bare.home / "state.db")) as state:
        for table in ("ledger", "pointers", "verdicts"):
            assert state.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert not (bare.home / "silent-calls").exists()
