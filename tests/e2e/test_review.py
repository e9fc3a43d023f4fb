"""What waits for the person's word: who puts it there, in a terminal and in a script; and that a session is told of it once."""

import json
import os
import re
import sqlite3
from contextlib import closing

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import learned
from subcog_hooks.store.learned import ProposalRecord
from subcog_hooks.store.state import State
from tests.e2e.machine import Machine, assert_one_line_error, posix
from tests.e2e.screen import OnTerminal, Screen

OLD = "The harbour crane is inspected on Mondays, before the first ship arrives."
NEW = "The harbour crane is inspected on Mondays and Fridays, before the first ship arrives."
APART = "Ropes are replaced every spring, by the harbour's own people."
QUESTION = "When do we look after the lifting gear?"
COPIES = {
    "rope": "Ropes are replaced every spring, by the harbour's own people.",
    "crane": "The harbour crane is inspected on Mondays, before the first ship arrives.",
    "crane-2": "The harbour crane is inspected on Mondays.",
    "quay": "The quay is lit from 6 to 8.",
    "quay-2": "The quay is lit from 7 to 9.",
}
ASKED = "When is the harbour crane inspected, and before which ship?"


def statuses(machine: Machine) -> dict[str, str]:
    """The status of each memory, by its text."""
    return {text: row.get("status", "active") for text, row in machine.stored("all").items()}


def by_agent(machine: Machine, *arguments: str) -> str:
    """What an agent stores where nobody is asked; its id."""
    machine.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
    done = machine.run("remember", *arguments)
    del machine.environment["CLAUDECODE"], machine.environment["CLAUDE_CODE_SESSION_ATTENDED"]
    assert done.code == 0, done.stderr
    return done.stdout.decode().strip()


@pytest.fixture
def waiting(bare: Machine) -> list[str]:
    """The ids of two memories that wait, one of them like a memory that is there."""
    bare.run("remember", OLD)
    return [by_agent(bare, NEW, "--question", QUESTION, "--tag", "crane"), by_agent(bare, APART)]


def reviewing(machine: Machine, **environment: str) -> OnTerminal:
    """`subcog review` on a terminal."""
    return OnTerminal([machine.command, "review"], machine.folder, machine.environment | environment)


def test_waiting_memories_are_listed_and_not_injected(bare: Machine, waiting: list[str]) -> None:
    listed = bare.run("review", "--list").stdout.decode().splitlines()
    assert [line.split()[0] for line in listed] == waiting
    assert "noted by an agent" in listed[0]
    first, second = bare.rows("review", "--jsonl")
    assert (first["id"], first["from"], first["near"][0]["content"]) == (waiting[0], "noted by an agent", OLD)
    assert (second["content"], second["near"]) == (APART, [])
    assert waiting[0] not in bare.recall(ASKED)


def test_it_is_settled_by_id_all_or_nothing(bare: Machine, waiting: list[str]) -> None:
    assert_one_line_error(bare.run("review", "--accept", waiting[0], "--reject", "nobody"), 1)
    assert_one_line_error(bare.run("review", "--accept", waiting[0], "--reject", waiting[0]), 2)
    assert statuses(bare) == {OLD: "active", NEW: "pending", APART: "pending"}
    done = bare.run("review", "--accept", waiting[0], "--reject", waiting[1])
    assert done.code == 0, done.stderr
    assert statuses(bare) == {OLD: "active", NEW: "active", APART: "deleted"}
    assert waiting[0] in bare.recall(QUESTION)
    assert_one_line_error(bare.run("review", "--accept", waiting[0]), 2)
    done = bare.run("review")
    assert (done.code, done.stdout, done.stderr) == (1, b"", b"nothing waits for review\n")


@posix
def test_an_agent_settles_nothing_without_the_persons_word(bare: Machine, waiting: list[str]) -> None:
    assert reviewing(bare, CLAUDECODE="1").end() == 2
    bare.environment["CLAUDECODE"] = "1"
    for options in ([], ["--list"]):
        assert_one_line_error(bare.run("review", *options, "--accept", waiting[0]), 2)
    assert statuses(bare)[NEW] == "pending"
    assert bare.run("review", "--accept", waiting[0], "--as-user").code == 0
    assert statuses(bare)[NEW] == "active"


@posix
def test_each_key_settles_one_and_can_be_undone(bare: Machine, waiting: list[str]) -> None:
    asked = reviewing(bare, NO_COLOR="1")
    shown = asked.read_until(OLD)
    assert "1 of 2" in shown
    assert f"asked: {QUESTION}" in shown
    assert re.search(r"\d+% alike: \w+ The harbour crane is inspected on Mondays, before", shown)
    asked.press("k")
    asked.read_until("2 of 2")
    assert statuses(bare) == {OLD: "active", NEW: "active", APART: "pending"}
    asked.press("u")
    asked.read_until("undone")
    assert statuses(bare) == {OLD: "active", NEW: "pending", APART: "pending"}
    asked.press("d")
    asked.read_until("dropped")
    assert statuses(bare) == {OLD: "active", NEW: "deleted", APART: "pending"}
    asked.press("é")  # It is no key, in two bytes.
    asked.read_until("q quit", 2)
    asked.press("d")
    assert asked.end() == 0
    assert "2 settled, 0 still wait" in asked.written
    assert statuses(bare) == {OLD: "active", NEW: "deleted", APART: "deleted"}


@posix
def test_seven_are_reviewed_while_the_window_resizes(bare: Machine) -> None:
    places = "north south east west upper lower inner outer old new".split()
    texts = [f"The {place} {thing} is painted by its own crew." for place in places for thing in ("crane", "barge")]
    bare.imports(*({"id": f"c-{n:02}", "content": text, "status": "pending"} for n, text in enumerate(texts)))
    environment = {**bare.environment, "NO_COLOR": "1"}
    asked = OnTerminal([bare.command, "review"], bare.folder, environment, columns=100, rows=24)
    for number, key in enumerate("kkdknkd", 1):
        asked.read_until(f"{number} of 7")
        if number == 2:
            before = len(asked.written)
            asked.resize(40, 12)
        if number == 6:
            after = len(asked.written)
            asked.resize(160, 50)
        asked.press(key)
    assert asked.end() == 0
    assert "6 settled, 14 still wait; `subcog review` goes on" in asked.written
    statuses_of = list(statuses(bare).values())
    assert {status: statuses_of.count(status) for status in set(statuses_of)} == {"active": 4, "deleted": 2, "pending": 14}
    narrow = Screen(200, 1_000).feed(asked.written[before:after]).lines
    assert max(map(len, narrow[3:])) <= 40
    assert all("3" not in codes for codes in re.findall(r"\x1b\[[0-9;]*m", asked.written))


@posix
def test_a_key_that_is_no_letter_settles_nothing(bare: Machine, waiting: list[str]) -> None:
    asked = reviewing(bare)
    shown = asked.read_until("1 of 2")
    for number, key in enumerate(("\x1b[B", "ö", "\n", "dk"), 2):
        asked.press(key)
        asked.read_until("q quit", number)
    asked.press("q")
    assert asked.end() == 0
    assert "0 settled, 2 still wait" in asked.written[len(shown) :]
    assert statuses(bare) == {OLD: "active", NEW: "pending", APART: "pending"}


@posix
def test_what_another_process_did_meanwhile_stays(bare: Machine, waiting: list[str]) -> None:
    asked = reviewing(bare, EDITOR="sed -i s/Ropes/Chains/")
    asked.read_until("1 of 2")
    asked.press("k")
    asked.read_until("2 of 2")
    bare.run("edit", waiting[0], "--content", "The crane is new.")
    asked.press("u")
    asked.read_until(f"{waiting[0]} was changed since then, elsewhere; it stays as it is")
    bare.run("forget", waiting[1])
    asked.press("e")
    asked.read_until(f"{waiting[1]} was changed since then")
    asked.press("q")
    assert asked.end() == 0
    assert statuses(bare) == {OLD: "active", "The crane is new.": "active", APART: "deleted"}


@posix
def test_ctrl_c_keeps_what_was_settled(bare: Machine, waiting: list[str]) -> None:
    asked = reviewing(bare)
    asked.read_until("1 of 2")
    asked.press("k")
    asked.read_until("2 of 2")
    asked.press("\x03")
    asked.read_until("1 settled, 1 still wait")
    assert asked.process.wait(30) == 130
    assert asked.is_sane()
    assert asked.end() == 130
    assert statuses(bare) == {OLD: "active", NEW: "active", APART: "pending"}


@posix
def test_all_of_a_source_go_one_way_and_come_back(bare: Machine) -> None:
    path = bare.root / "memories.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE memories (id INTEGER, content_hash TEXT, content TEXT, tags TEXT)")
        rows = [(1, "a", "Ropes are replaced."), (2, "b", "Prices are in cents.")]
        database.executemany("INSERT INTO memories VALUES (?, ?, ?, 'session-harvest')", rows)
    bare.run("import", "--from", "mcp-memory-service", str(path))
    by_agent(bare, APART)
    for key, status in (("K", "active"), ("D", "deleted")):
        asked = reviewing(bare)
        asked.read_until("1 of 3")
        asked.press(key)
        asked.read_until("3 of 3")
        assert (statuses(bare).get("Ropes are replaced."), statuses(bare)[APART]) == (status, "pending")
        asked.press("u")
        asked.read_until("undone")
        asked.press("q")
        assert asked.end() == 0
        assert "0 settled, 3 still wait" in asked.written


@posix
def test_the_surest_come_first_and_copies_together(bare: Machine) -> None:
    bare.imports(*({"id": id_, "content": text, "status": "pending"} for id_, text in COPIES.items()))
    state = State.open(Home(str(bare.home)), 1_000)
    for id_, certainty in {"rope": 0.7, "crane": 0.75, "crane-2": 0.68, "quay": 0.9}.items():
        learned.note_proposed(state, id_, ProposalRecord(certainty, 1, 0, certainty))
    state.close()
    asked = reviewing(bare, NO_COLOR="1")
    asked.read_until(f"1 of 4  {COPIES['quay']}")
    asked.press("n")
    asked.read_until(f"2 of 4  {COPIES['crane']}")
    asked.press("k")
    asked.read_until(f"3 of 4  {COPIES['rope']}")
    assert f"copy: crane-2 {COPIES['crane-2']}" in asked.written
    assert {id_: statuses(bare)[text] for id_, text in COPIES.items()} == {
        "rope": "pending",
        "crane": "active",
        "crane-2": "deleted",
        "quay": "pending",
        "quay-2": "pending",
    }
    asked.press("u")
    asked.read_until("undone")
    asked.press("d")
    asked.read_until("dropped")
    asked.press("n")
    asked.read_until("4 of 4")
    asked.press("n")
    assert asked.end() == 0
    assert f"4 of 4  {COPIES['quay-2']}" in asked.written  # Another number is no copy.
    assert [statuses(bare)[COPIES[id_]] for id_ in ("crane", "crane-2")] == ["deleted"] * 2


def test_a_session_is_told_once_a_week_that_something_waits(bare: Machine, waiting: list[str]) -> None:
    first = json.loads(bare.hook(bare.beginning("startup")).stdout)
    assert first == {"systemMessage": "subcog: 2 memories wait for `subcog review`"}
    for hours, output in ((0, b""), (160, b""), (5, json.dumps(first, separators=(",", ":")).encode() + b"\n")):
        with closing(sqlite3.connect(bare.home / "state.db")) as database, database:
            database.execute("UPDATE due_times SET at = at - ? WHERE task = 'reminder'", (hours * 3_600_000,))
        assert bare.hook(bare.beginning("startup")).stdout == output
    (bare.home / "state.db").unlink()
    del bare.environment["SUBCOG_SURFACING_BRIEF_CHARACTERS"]
    with_brief = json.loads(bare.hook(bare.beginning("startup")).stdout)
    assert with_brief["systemMessage"] == first["systemMessage"]
    assert OLD in with_brief["hookSpecificOutput"]["additionalContext"]
    (bare.home / "state.db").unlink()
    bare.run("config", "set", "capture.remind", "false")
    assert b"systemMessage" not in bare.hook(bare.beginning("startup")).stdout


def test_what_waits_replaces_nothing_and_is_not_stored_twice(bare: Machine) -> None:
    bare.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    one = bare.run("remember", APART).stdout.decode().strip()
    assert_one_line_error(bare.run("remember", NEW, "--supersedes", one), 2)
    assert bare.run("remember", APART, "--tag", "ropes").stdout.decode().strip() == one
    assert statuses(bare) == {APART: "pending"}


def test_the_hook_notes_of_a_session_whether_the_person_is_asked(bare: Machine) -> None:
    def stored(mode: str, text: str) -> str:
        payload = bare.payload(
            "PreToolUse",
            {"permission_mode": mode, "tool_name": "Bash", "tool_input": {"command": f"subcog remember '{text}'"}},
            "of-the-agent",
        )
        assert bare.hook(payload).stdout == b""
        bare.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "of-the-agent", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
        assert bare.run("remember", text).code == 0
        del bare.environment["CLAUDECODE"], bare.environment["CLAUDE_CODE_SESSION_ID"]
        return statuses(bare)[text]

    assert stored("bypassPermissions", OLD) == "pending"
    assert stored("acceptEdits", APART) == "active"
    assert stored("auto", NEW) == "pending"
    assert os.path.exists(bare.home / "state.db")
