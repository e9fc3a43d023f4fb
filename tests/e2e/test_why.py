"""The installed executable: a hook's silence is explained, a memory called wrong stays away, statistics say what was done."""

import json

import pytest

from subcog_hooks.store.verdicts import SPOKE
from tests.e2e.machine import ANSWER, ATTEMPTS, QUESTION, Machine, posix
from tests.e2e.screen import OnTerminal


def record(machine: Machine, *arguments: str) -> dict[str, object]:
    done = machine.run("why", *arguments, "--json")
    assert done.code == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_what_a_hook_did_can_be_asked_for(machine: Machine) -> None:
    assert ANSWER in machine.recall(QUESTION)
    told = record(machine)
    assert (told["outcome"], told["prompt"], told["event"]) == ("spoke", QUESTION, "UserPromptSubmit")
    shown = machine.run("why").stdout.decode()
    assert shown.splitlines()[1:3] == [QUESTION, ""]
    assert shown.splitlines()[3].startswith("spoke: ")
    assert "\x1b" not in shown


def test_a_bad_mark_holds_until_it_is_taken_back(machine: Machine) -> None:
    assert ANSWER in machine.recall(QUESTION)
    id_ = str(record(machine)["id"])
    assert machine.run("why", "--bad", ANSWER, "--yes").code == 0
    for _ in range(ATTEMPTS):
        assert ANSWER.encode() not in machine.prompt(QUESTION).stdout
    outcomes = {row["id"]: row["outcome"] for row in record(machine)["candidates"]}  # type: ignore[attr-defined]  # of JSON
    assert outcomes[ANSWER] == "bad"
    assert machine.run("why", "--bad", ANSWER, id_, "--undo").code == 0
    assert ANSWER in machine.recall(QUESTION)


def test_statistics_count_what_hooks_did(machine: Machine) -> None:
    spoken = sum(decision.outcome == SPOKE for decision in machine.decisions())
    assert ANSWER in machine.recall(QUESTION)
    machine.prompt("ok thanks")
    told = json.loads(machine.run("report", "--json").stdout)
    assert told["prompts"] == len(machine.decisions())
    assert told["outcomes"]["spoke"] == spoken + 1
    assert ANSWER in told["handed_over"]
    assert told["latency_ms"]["UserPromptSubmit"]["p50"] > 0
    exposition = machine.run("report", "--prometheus").stdout.decode()
    assert f'subcog_hook_decisions_total{{outcome="spoke"}} {spoken + 1}\n' in exposition


@posix
@pytest.mark.parametrize(("answer", "outcome"), [("n", "nothing was changed"), ("y", "marked as wrong for prompts like")])
def test_a_person_is_asked_whether_the_prompt_is_meant(machine: Machine, answer: str, outcome: str) -> None:
    assert ANSWER in machine.recall(QUESTION)
    terminal = OnTerminal([machine.command, "why", "--bad", ANSWER], machine.folder, machine.environment)
    try:
        assert QUESTION in terminal.read_until("[y/N]")
        terminal.type(f"{answer}\n")
        terminal.read_until(outcome)
        assert terminal.end() == (0 if answer == "y" else 1)
    finally:
        terminal.kill()
    shown = machine.run("show", ANSWER).stdout
    assert (b"wrong for" in shown) == (answer == "y")
