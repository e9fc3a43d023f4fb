"""A memory that is for one project, for all of them, or for colleagues, through the installed executable."""

import json
from pathlib import Path

import pytest

from tests.e2e.machine import OWNER, SHOP, Machine, assert_one_line_error

TILES = "git@github.com:acme/tiles.git"
RULE = "Prices are kept in cents, never as floating point numbers."
ASKED = "In which unit do we keep prices, and do we use floating point numbers?"
QUESTION = "Which unit does money have?"
AGENTS = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ATTENDED": "1"}


@pytest.fixture
def tiles(bare: Machine) -> Path:
    """Another."""
    return bare.repository("tiles", TILES)


def stored(machine: Machine, text: str, *options: str, cwd: Path) -> str:
    """The id of a new memory."""
    done = machine.run("remember", text, *options, cwd=cwd)
    assert done.code == 0, done.stderr
    return done.stdout.split()[0].decode()


def test_a_moved_memory_comes_everywhere_or_in_one_project(bare: Machine, shop: Path, tiles: Path) -> None:
    id_ = stored(bare, RULE, "--path", "src/**", cwd=shop)
    assert bare.recall(ASKED, cwd=tiles) == []
    done = bare.run("edit", id_, "--user", cwd=tiles)
    assert done.stdout.decode() == f"{id_}\n"
    assert f"{id_} is for all your projects now: {RULE}\n" in done.stderr.decode()
    assert b"it still comes at src/**, now in every project" in done.stderr
    assert bare.recall(ASKED, cwd=tiles) == [id_]
    done = bare.run("edit", id_, "--project", "here", cwd=shop)
    assert f"{id_} is for {OWNER} now: {RULE}\n" in done.stderr.decode()
    assert (bare.recall(ASKED, cwd=tiles), bare.recall(ASKED, cwd=shop)) == ([], [id_])
    again = bare.run("edit", id_, "--project", SHOP)
    assert (again.code, again.stdout, again.stderr) == (0, b"", b"nothing changed\n")
    (row,) = bare.rows("export")
    assert (row["project"], row["paths"]) == (OWNER, ["src/**"])


def test_moving_needs_a_memory_a_project_and_the_persons_consent(bare: Machine, shop: Path) -> None:
    id_ = stored(bare, RULE, cwd=shop)
    mine = stored(bare, "Prices are kept in cents, never as floating numbers.", "--user", cwd=shop)
    assert_one_line_error(bare.run("edit", "nothing", "--user"), 1)
    outside = bare.run("edit", id_, "--project", "here")
    assert_one_line_error(outside, 2)
    assert b"this folder is in no project" in outside.stderr
    bare.environment |= AGENTS
    refused = bare.run("edit", id_, "--user")
    assert_one_line_error(refused, 2)
    assert b"--as-user" in refused.stderr
    assert {row.get("project") for row in bare.rows("export") if row["id"] == id_} == {OWNER}
    done = bare.run("edit", id_, "--user", "--as-user")
    assert (done.code, f"there already, 90% alike: {mine} Prices are" in done.stderr.decode()) == (0, True)


def test_a_file_for_colleagues_holds_one_project(bare: Machine, shop: Path, tiles: Path) -> None:
    (shop / "notes.md").write_text("# Releases\n\nA release leaves on Tuesdays.\n")
    bare.run("import", str(shop / "notes.md"), cwd=shop)
    id_ = stored(bare, RULE, "--question", QUESTION, "--priority", "90", cwd=shop)
    stored(bare, "Mine alone.", "--user", cwd=shop)
    stored(bare, "Tiles are square.", cwd=tiles)
    bare.run("forget", stored(bare, "No longer true.", cwd=shop))
    rows = {row["content"]: row for row in bare.rows("export", "--project", "here", cwd=shop)}
    assert set(rows) == {RULE, "Releases\n\nA release leaves on Tuesdays."}
    assert {(row["trust"], row["project"], row.get("source")) for row in rows.values()} == {("file", OWNER, None)}
    assert rows[RULE]["questions"] == [QUESTION]
    assert bare.rows("export", "--project", SHOP) == list(rows.values())
    before = bare.run("export").stdout
    (shop / "team.jsonl").write_bytes(bare.run("export", "--project", SHOP).stdout)
    assert bare.run("import", str(shop / "team.jsonl")).stdout == b"added 0, already there 2\n"
    assert bare.run("export").stdout == before
    assert rows[RULE]["id"] == id_


def test_a_colleagues_file_comes_without_its_cues(bare: Machine, shop: Path, tmp_path: Path) -> None:
    fields = {"triggers": [r"\bmoney\b"], "paths": ["src/**"], "when": {"mode": "release"}, "questions": [QUESTION]}
    line = {"id": "team-0001", "content": RULE, "project": OWNER, "standing": True, "priority": 95, "trust": "file", **fields}
    file = tmp_path / "team.jsonl"
    file.write_text(json.dumps(line) + "\n")
    seen = bare.run("import", str(file), "--dry-run")
    assert b"1 are a file's or a colleague's word and come without their cues and questions" in seen.stderr
    bare.run("import", str(file))
    (row,) = bare.rows("export")
    assert set(fields) & set(row) == set()
    assert (row.get("standing"), row["priority"], row["trust"]) == (None, 89, "file")
    assert bare.recall("Where does the money go?", cwd=shop) == []
    assert bare.run("import", str(file)).stdout == b"added 0, already there 1\n"
    assert bare.run("import", str(file), "--trust", "user", "--replace").stdout == b"added 0, replaced 1\n"
    (row,) = bare.rows("export")
    assert {name: row[name] for name in fields} == fields
    assert (row["standing"], row["trust"]) == (True, "file")
    assert bare.run("import", str(file), "--trust", "user").stdout == b"added 0, already there 1\n"
    bare.run("edit", "team-0001", "--question", "Mine?")
    assert bare.run("import", str(file), "--trust", "user").stdout == b"added 0, already there 1\n"
    assert bare.rows("export")[0]["questions"] == ["Mine?"]
