"""The questions that a memory answers, from `remember --question` to the prompt that is put in their words."""

import json
from pathlib import Path

from tests.e2e.machine import DATA, Machine, assert_silent

RULE = "Nobody merges on Fridays after four, whatever the pipeline shows."
QUESTION = "is there a time of the week when deployments are forbidden"
PROMPT = "Is there a time of the week when our deployments are forbidden?"


def started(bare: Machine) -> None:
    assert bare.run("import", str(DATA / "memories.jsonl")).code == 0


def test_a_prompt_in_the_words_of_a_question_brings_its_memory(bare: Machine) -> None:
    started(bare)
    done = bare.run("remember", RULE, "--question", QUESTION)
    assert done.code == 0, done.stderr
    id_ = done.stdout.decode().strip()
    assert bare.recall(PROMPT) == [id_]
    told = bare.run("why").stdout.decode()
    assert f"asked like this: {QUESTION}" in " ".join(told.split())
    assert (
        QUESTION not in bare.prompt(PROMPT, session="another").stdout.decode()
    )  # the memory is handed over, not its questions


def test_the_same_memory_without_it_does_not_come(bare: Machine) -> None:
    started(bare)
    bare.run("remember", RULE)
    assert_silent(bare.prompt(PROMPT))


def test_questions_survive_an_export_and_an_import_byte_for_byte(bare: Machine, tmp_path: Path) -> None:
    rows = [{"id": "rule", "content": RULE, "questions": [QUESTION, {"text": "when may I merge", "by": "model"}]}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert bare.run("import", str(tmp_path / "rows.jsonl"), "--wait", "--trust", "user").code == 0
    exported = bare.run("export").stdout
    assert bare.run("forget", "--purge", "--yes", "rule").code == 0
    (tmp_path / "out.jsonl").write_bytes(exported)
    assert bare.run("import", str(tmp_path / "out.jsonl"), "--trust", "user").code == 0
    assert bare.run("export").stdout == exported
    assert json.loads(exported)["questions"] == rows[0]["questions"]
    assert bare.recall(PROMPT) == ["rule"]
