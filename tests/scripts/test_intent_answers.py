"""The recorder of a model's answers about labelled prompts, against a real server; and what is worked out of them."""

import json
from pathlib import Path

import pytest

from scripts.intent import hybrid, record
from subcog_hooks.llm.providers import Provider
from tests.llm_server import LlmServer, fails, says

ROWS = (
    {"id": "a", "prompt": "How do we rotate the signing keys?", "label": "howto"},
    {"id": "b", "prompt": "make it blue", "label": "none"},
    {"id": "c", "prompt": "log in with password=hunter2swordfish and deploy", "label": "none"},
)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


def test_each_prompt_is_asked_about_once(prompts: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    with LlmServer(says("howto", 0.9, ["keys"]), fails(500), says("none", 0.8)) as server:
        provider = Provider("openai", server.url_v1, "small", "")
        assert record.record(prompts, answers, provider, 2) == (2, 1)
        assert record.record(prompts, answers, provider, -1) == (2, 1)  # the one that failed, and the next
        assert "hunter2" not in json.dumps([request.json for request in server.requests])
        assert record.record(prompts, answers, provider, 0) == (0, 0)
    lines = list(map(json.loads, answers.read_text(encoding="utf-8").splitlines()))
    assert [(line["id"], line.get("error", "")[-20:]) for line in lines[1:]][-1] == ("c", "may hold a secret")
    found = hybrid.read_answers(answers, 60.0)
    assert {id_: answer.type for id_, answer in found.items()} == {"a": "howto", "b": "none"}
    assert hybrid.read_answers(answers, -1.0) == {}  # one can take no time, as far as the clock tells
    assert [row["id"] for row in hybrid.answered([*ROWS, {"id": "never asked"}], answers)] == ["a", "b"]  # in time or not


def test_a_run_that_was_killed_in_a_line_goes_on_behind_it(prompts: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "mod', encoding="utf-8")
    with LlmServer(says("howto", 0.9, ["keys"])) as server:
        assert record.record(prompts, answers, Provider("openai", server.url_v1, "small", ""), 1) == (1, 1)
    assert record.recorded(answers) == hybrid.read_answers(answers, 60.0).keys() == {"a"}


def test_where_nobody_answers_it_stops(prompts: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text("".join(json.dumps({"id": str(n), "prompt": f"Where is crane {n}?"}) + "\n" for n in range(20)))
    with LlmServer(fails(500)) as server:
        asked, answered = record.record(many, tmp_path / "answers.jsonl", Provider("openai", server.url_v1, "small", ""), -1)
    assert (asked, answered) == (record.MOST_FAILURES, 0)


def test_simulated_answers_are_as_right_as_is_said() -> None:
    rows = [{"id": str(number), "label": ("howto", "none", "general")[number % 3]} for number in range(600)]
    for accuracy in (0.0, 0.7, 1.0):
        answers = hybrid.simulated(rows, accuracy)
        right = sum(answers[row["id"]].type == row["label"] for row in rows) / len(rows)
        assert right == pytest.approx(accuracy, abs=0.06)


def test_the_hybrid_beats_both_with_a_good_model() -> None:
    rows = [json.loads(line) for line in hybrid.OWN.read_text(encoding="utf-8").splitlines()]
    found = hybrid.compared(rows, hybrid.simulated(rows, 0.7))
    both = found["hybrid"]
    assert both.f1 > max(found["keywords alone"].f1, found["model alone"].f1)
    assert both.right > max(found["keywords alone"].right, found["model alone"].right)
    assert both.calls < len(rows) / 2
