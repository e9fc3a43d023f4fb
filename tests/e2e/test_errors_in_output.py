"""The note about an error comes wherever the error stands: alone, with its trace, or behind the output of what went well."""

import json
from typing import Any

import pytest

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.machine import ATTEMPTS, DATA, Machine

FAILED: dict[str, object] = {"tool_name": "Bash", "is_interrupt": False}
TOOLS: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "failing_tools.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture
def failing(bare: Machine) -> Machine:
    """A machine with a note about the error of each tool, among others."""
    for name in AS_LARGE_STORES_WITHOUT_LINES:
        del bare.environment[name]
    notes = "".join(json.dumps({"id": row["tool"], "content": row["note"]}) + "\n" for row in TOOLS)
    for rows in (notes, (DATA / "memories.jsonl").read_text(encoding="utf-8")):
        (bare.folder / "notes.jsonl").write_text(rows, encoding="utf-8")
        assert bare.run("import", "notes.jsonl", "--trust", "user", "--wait").code == 0
    return bare


def outputs(row: dict[str, Any]) -> list[str]:
    """The error of a tool alone, with its trace, and behind 5, 60 and 300 ordinary lines."""
    behind = [[row["ordinary"].format(i=number) for number in range(count)] for count in (0, 5, 60, 300)]
    return [row["error"], *("\n".join([*lines, *row["output"]]) for lines in behind)]


def lacks_note(machine: Machine, event: str, row: dict[str, Any], **fields: object) -> bool:
    """Whether the tool's note is neither told nor pointed at. A busy machine may need more than one try."""
    for _ in range(ATTEMPTS):
        done = machine.hook(machine.payload(event, fields))
        text = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""
        if any(row["tool"] in line.partition("]")[0] for line in text.splitlines()[1:-1]):
            return False
    return True


def test_a_failed_call_gets_its_note_behind_any_output(failing: Machine) -> None:
    lacking = [
        (row["tool"], output)
        for row in TOOLS
        for output in outputs(row)
        if lacks_note(
            failing, "PostToolUseFailure", row, **FAILED, tool_input={"command": row["command"]}, error=f"Exit code 1\n{output}"
        )
    ]
    assert lacking == []


def test_a_pasted_output_gets_its_note_behind_any_lines(failing: Machine) -> None:
    lacking = [
        (row["tool"], output)
        for row in TOOLS
        for output in outputs(row)
        if lacks_note(failing, "UserPromptSubmit", row, prompt=f"{row['command']} fails, what is wrong?\n\n{output}")
    ]
    assert lacking == []


def test_a_pasted_warning_that_is_a_question_of_a_note_is_exact(failing: Machine) -> None:
    warning = 'Warning: Text content did not match. Server: "Thursday" Client: "Friday"'
    row = {"tool": "zone"}
    note = {"id": "zone", "content": "Dates are formatted in the shop's zone by useShopTime.", "questions": [warning]}
    (failing.folder / "zone.jsonl").write_text(json.dumps(note) + "\n", encoding="utf-8")
    assert failing.run("import", "zone.jsonl", "--trust", "user", "--wait").code == 0
    assert not lacks_note(failing, "UserPromptSubmit", row, prompt=f"{warning}\n    at time\n    at Hint (src/Hint.tsx:12:9)")
