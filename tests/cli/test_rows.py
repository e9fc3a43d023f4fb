"""Every command that prints rows prints them as one JSON array and as JSON lines, too."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

COMMANDS = (
    ["list"],
    ["review"],
    ["why", "list"],
    ["why", "list", "--tool"],
    ["models", "list"],
    ["config", "list"],
    ["import", "--from", "list"],
)


def test_an_array_has_the_rows_of_the_lines(subcog: Run, subtests: pytest.Subtests) -> None:
    rows = [
        {"id": "kept", "content": "Berths are let by the week."},
        {"id": "new", "content": "x \u2028 y", "status": "pending"},
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert subcog("import", "rows.jsonl").code == 0
    for command in COMMANDS:
        with subtests.test(command=command):
            lines, array = subcog(*command, "--jsonl"), subcog(*command, "--json")
            assert (lines.code, lines.err) == (array.code, array.err)
            assert lines.rows == (array.json if array.out else [])  # no decision has been made
            assert bool(lines.rows) == (lines.code == 0)
            if array.out:
                both = subcog(*command, "--json", "--jsonl")
                assert (both.code, "--json and --jsonl exclude each other" in both.err) == (2, True)
    assert subcog("list", "--json").json[0]["id"] == "kept"
    assert subcog("review", "--json").json[0]["near"] == []
    flags = {row["name"]: row["value"] for row in subcog("state", "get", "--jsonl").rows}
    assert flags == subcog("state", "get", "--json").json["facts"]
    assert "an import and --json exclude each other" in subcog("import", "rows.jsonl", "--json").err
