"""The questions that a memory answers, from `remember --question` to the prompt that is put in their words."""

import json
from pathlib import Path

from tests.e2e.machine import Machine

RULE = "Nobody merges on Fridays after four, whatever the pipeline shows."
QUESTION = "is there a time of the week when deployments are forbidden"
PROMPT = "Is there a time of the week when our deployments are forbidden?"


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
