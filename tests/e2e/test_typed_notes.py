"""A note that is typed as a prompt, through the installed executable: stored, and stopped; or a prompt like any other."""

import json
from contextlib import closing

import apsw
import pytest

from tests.e2e import half_written
from tests.e2e.machine import PROJECT, REMOTE, Done, Machine, assert_silent, posix

NOTE = "The harbour crane is inspected on Mondays, before the first ship"
ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"


@pytest.fixture
def attended(bare: Machine) -> Machine:
    """A machine without memories, at which somebody sits."""
    bare.environment |= {ATTENDED: "1", "CLAUDECODE": "1", "AI_AGENT": "claude-code_2-1-329_harness"}
    return bare


def reason_of(done: Done) -> str:
    """What the person is told; the prompt goes no further."""
    assert (done.code, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    assert told["decision"] == "block"
    assert told["hookSpecificOutput"] == {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}
    return str(told["reason"])


def stored(machine: Machine) -> list[dict[str, object]]:
    return machine.rows("list", "--jsonl", "--all-projects")


def test_a_typed_note_comes_with_the_next_prompt(attended: Machine) -> None:
    folder = attended.repository("repository", REMOTE)
    reason = reason_of(attended.prompt(f"remember: {NOTE}", cwd=folder))
    (memory,) = stored(attended)
    assert (memory["content"], memory["trust"], memory["project"]) == (NOTE, "user", PROJECT)
    assert f"remembered as {memory['id']} in learnings of {PROJECT};" in reason
    assert (NOTE in reason, f"subcog forget {memory['id']}" in reason) == (True, True)
    assert attended.recall("When is the harbour crane inspected?", cwd=folder) == [memory["id"]]


def test_a_typed_rule_names_its_action(attended: Machine) -> None:
    reason = reason_of(attended.prompt("remember: Run just tidy before you commit"))
    assert "it comes when a prompt is about it, or when the agent is about to commit" in reason


def test_a_repeated_note_is_not_stored_twice(attended: Machine) -> None:
    reason_of(attended.prompt(f"remember: {NOTE}"))
    (first,) = stored(attended)
    assert f"already remembered as {first['id']}" in reason_of(attended.prompt(f"Remember: {NOTE}"))
    assert len(stored(attended)) == 1
    reason = reason_of(attended.prompt("remember: The harbour crane is inspected on Fridays, before the first ship"))
    (second,) = [memory for memory in stored(attended) if memory["id"] != first["id"]]
    assert f"subcog supersede {first['id']} {second['id']}" in reason
    assert NOTE in reason


def test_a_secret_is_not_kept_and_that_is_said(attended: Machine) -> None:
    reason = reason_of(attended.prompt("remember: the staging key is AKIA" + "IOSFODNN7EXAMPLQ, ask ops for another"))
    assert "removed 1" in reason
    assert "IOSFODNN7EXAMPLQ" not in json.dumps(stored(attended)) + reason


def test_what_the_client_adds_to_a_note_is_not_stored(attended: Machine) -> None:
    reminder = "<system-reminder>the client says hi</system-reminder>"
    for prompt in (
        f"remember: {NOTE} [Image #1]\n{reminder}",
        f"<ide_opened_file>The user opened a.py</ide_opened_file>\nremember\uff1a {NOTE}",  # with the colon of Chinese
    ):
        reason_of(attended.prompt(prompt))
        (memory,) = stored(attended)
        assert memory["content"] == NOTE
        attended.run("forget", str(memory["id"]), "--purge", "--yes")


def test_a_note_that_is_too_long_goes_on_and_that_is_said(attended: Machine) -> None:
    attended.run("remember", "Ropes are replaced every spring.", "--standing")
    for text in (f"{NOTE}\n\nand the tug on Fridays", "When are ropes replaced? " * 25):
        answer = json.loads(attended.prompt(f"remember: {text}").stdout)
        assert answer["systemMessage"].startswith("subcog: not stored: a typed note is one paragraph of at most 500 characters")
        assert "decision" not in answer
    assert "Ropes are replaced" in answer["hookSpecificOutput"]["additionalContext"]
    assert len(stored(attended)) == 1


def test_a_hash_is_a_note_where_the_person_has_said_so(attended: Machine) -> None:
    (attended.folder / ".subcog.toml").write_text('[capture]\ntyped = "hash"\n')  # which a project can not say
    assert_silent(attended.prompt(f"# {NOTE}"))
    attended.run("config", "set", "capture.typed", "hash", "--as-user")
    assert_silent(attended.prompt(f"# Crane\n{NOTE}"))
    assert stored(attended) == []
    assert "remembered as" in reason_of(attended.prompt(f"# {NOTE}"))
    attended.run("config", "set", "capture.typed", "off", "--as-user")
    assert_silent(attended.prompt("remember: cranes are yellow"))
    attended.run("config", "set", "capture.typed", "remember", "--as-user")
    attended.run("pause", "--as-user")
    assert_silent(attended.prompt("remember: cranes are yellow"))
    assert len(stored(attended)) == 1


def test_what_no_person_types_is_no_note(attended: Machine) -> None:
    usual = dict(attended.environment)
    for change in ({ATTENDED: "0"}, {ATTENDED: None}, {"AI_AGENT": "claude-code_2-1-329_agent"}):
        changed = {**usual, **change}
        attended.environment = {name: value for name, value in changed.items() if value is not None}
        assert_silent(attended.prompt(f"remember: {NOTE}"))
    assert stored(attended) == []


def refusal_of(done: Done) -> str:
    """Why a note was not kept; the prompt goes no further, and its text stays to be seen."""
    assert (done.code, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    assert answer.keys() == {"decision", "reason"}
    assert answer["decision"] == "block"
    assert answer["reason"].startswith("subcog: not stored, because ")
    return str(answer["reason"])


def test_a_note_that_cannot_be_stored_is_stopped(attended: Machine) -> None:
    attended.run("remember", "Ropes are replaced every spring.")
    with closing(apsw.Connection(str(attended.home / "memories.db"))) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "memories.db is locked by another process" in refusal_of(attended.prompt(f"remember: {NOTE}"))
    assert "a typed note was not stored" in (attended.home / "log" / "hook.log").read_text()
    assert len(stored(attended)) == 1
    (attended.home / "memories.db").write_bytes(b"no database" * 1_000)
    assert "is damaged" in refusal_of(attended.prompt(f"remember: {NOTE}"))
    attended.home.rename(attended.root / "away")
    attended.home.write_bytes(b"a file in its place")
    refusal_of(attended.prompt(f"remember: {NOTE}"))


@posix
def test_a_note_to_a_broken_installation_is_stopped(attended: Machine) -> None:
    folder = half_written.installation(attended.root / "site", "hook/note_storing.py")
    done = attended.start(half_written.registered(attended, folder), attended.asking(f"remember: {NOTE}"))
    assert "SyntaxError" in refusal_of(done)


def test_a_prompt_glued_to_a_stored_note_is_not_stored(attended: Machine) -> None:
    reason_of(attended.prompt(f"remember: {NOTE}"))
    (first,) = stored(attended)
    for rest in ("fix the login bug", " Paint it yellow, too", "\nand why does the crane stop?"):
        reason = reason_of(attended.prompt(f"remember: {NOTE}{rest}"))
        assert reason.startswith(f"subcog: not stored: it begins with {first['id']}, stored ")
        assert f"Send the rest by itself: {rest.strip()}\n" in reason
        assert "Ctrl-U clears it" in reason
    assert stored(attended) == [first]
    reason_of(attended.prompt("remember: The harbour crane is yellow"))
    assert len(stored(attended)) == 2
