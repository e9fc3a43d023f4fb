"""The installed executable: a hook's silence is explained, a memory called wrong stays away, statistics say what was done."""

import json
import math
import re
import time

import pytest

from subcog_hooks.store.verdicts import SPOKE
from tests.e2e.machine import ANSWER, ATTEMPTS, QUESTION, Machine, assert_silent


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
    assert machine.run("why", "bad", ANSWER).code == 0
    for _ in range(ATTEMPTS):
        assert ANSWER.encode() not in machine.prompt(QUESTION).stdout
    outcomes = {row["id"]: row["outcome"] for row in record(machine)["candidates"]}  # type: ignore[attr-defined]  # of JSON
    assert outcomes[ANSWER] == "bad"
    assert machine.run("why", "bad", ANSWER, id_, "--undo").code == 0
    assert ANSWER in machine.recall(QUESTION)


def test_statistics_count_what_hooks_did(machine: Machine) -> None:
    spoken = sum(verdict.outcome == SPOKE for verdict in machine.past_verdicts())
    assert ANSWER in machine.recall(QUESTION)
    machine.prompt("ok thanks")
    told = json.loads(machine.run("report", "--json").stdout)
    assert told["prompts"] == len(machine.past_verdicts())
    assert told["outcomes"]["spoke"] == spoken + 1
    assert ANSWER in told["handed_over"]
    assert told["latency_ms"]["UserPromptSubmit"]["p50"] > 0
    exposition = machine.run("report", "--prometheus").stdout.decode()
    assert f'subcog_hook_decisions_total{{outcome="spoke"}} {spoken + 1}\n' in exposition


ELSEWHERE = "How is the JWT of the web client persisted?"  # about ANSWER, without a word of it


def asked(machine: Machine, prompt: str) -> dict[str, object]:
    """What was decided on a prompt, once a run has not been cut off."""
    machine.answer(machine.asking(prompt))
    told: dict[str, object] = json.loads(machine.run("why", "--json").stdout)
    assert told["prompt"] == prompt
    return told


def test_a_missed_memory_comes_once_it_has_learned(machine: Machine) -> None:
    asked(machine, ELSEWHERE)
    assert machine.run("why", "missed", ANSWER).code == 0
    assert ANSWER in machine.recall(ELSEWHERE)


def test_the_arithmetic_can_be_redone(machine: Machine) -> None:
    told = asked(machine, QUESTION)
    assert "x" not in machine.run("why").stdout.decode().split()
    lines = machine.run("why", "--explain").stdout.decode().splitlines()
    start = next(place for place, line in enumerate(lines) if re.match(rf"{ANSWER}  relevance ", line))
    relevance, needed = map(float, re.findall(r"\d\.\d+", lines[start].partition("relevance")[2]))
    rows = [re.match(r"  (\S+) +(\S+) x +(\S+) = +(\S+)", line) for line in lines[start + 2 :]]
    rows = rows[: rows.index(None)]
    values = [(float(row[2]), float(row[3]), float(row[4])) for row in rows if row]
    assert len(values) > 8
    for value, weight, adds in values:
        assert value * weight == pytest.approx(adds, abs=1e-3)
    probability = 1 / (1 + math.exp(-sum(adds for _, _, adds in values)))
    steps = {line.split()[0]: line for line in lines[start : start + 25] if line.startswith("  ") and line.split()}
    assert float(steps["probability"].rpartition("= ")[2]) == pytest.approx(probability, abs=1e-3)
    assert relevance == pytest.approx(min(1.0, probability * factor_in(steps["relevance"])), abs=1e-3)
    settings = told["settings"]
    assert isinstance(settings, dict)
    assert needed == pytest.approx(settings["needed"], abs=1e-4)


def factor_in(step: str) -> float:
    """The product of the factors in the last step."""
    return math.prod(float(factor) for factor in re.findall(r" x (\d[\d.]*) for", step))


def test_silent_tool_calls_can_be_asked_for(bare: Machine) -> None:
    bare.imports({"id": "seed", "content": "After a new route, write the client anew.", "triggers": ["make openapi"]})
    assert bare.at_call("Bash", "s1", command="make openapi") == ["seed"]
    for command in ("make openapi", "git push --force", "mysql s3cretPa55"):
        assert_silent(bare.hook(bare.calling("Bash", "s1", command=command)))
    assert_silent(bare.hook(bare.calling("Read", "s1", file_path=str(bare.folder / "src" / "pool.py"))))
    lines = bare.run("why", "list", "--tool").stdout.decode().splitlines()
    assert lines[0].endswith("Read: src/pool.py; no memory is about it")
    assert any(line.endswith("Bash: git push; no memory is about it") for line in lines)
    assert any(line.endswith("Bash: make openapi; seed given in this session before") for line in lines)
    assert not [name for name in bare.home.iterdir() if name.is_file() and b"s3cretPa55" in name.read_bytes()]
    assert bare.run("config", "set", "surfacing.log_prompts", "false").code == 0
    assert_silent(bare.hook(bare.calling("Bash", "s1", command="git pull")))
    assert not (bare.home / "silent-calls").exists()


def test_a_silent_prompt_tells_of_a_pause_while_it_lasts(machine: Machine) -> None:
    machine.run("pause")
    machine.prompt(QUESTION)
    told = []
    for command in ("pause", "resume"):
        machine.run(command)
        done = machine.run("why")
        assert b"silent: the hook was paused then\n" in done.stdout
        told.append(b"`subcog resume` ends it" in done.stderr)
    assert told == [True, False]


def test_a_run_that_was_cut_off_is_counted_listed_and_named(machine: Machine) -> None:
    (machine.home / "cut-offs").write_text(f"{time.time_ns() // 1_000_000} UserPromptSubmit\n")  # as such a run leaves it
    assert json.loads(machine.run("report", "--json").stdout)["cut_off"] == 1
    assert b"1 run cut off: this machine was busy" in machine.run("report").stderr
    assert b"cut off        0  UserPromptSubmit: this machine was too busy" in machine.run("why", "list").stdout
    assert b" 1 run of the hook was cut off: this machine was busy" in machine.run("doctor").stdout
