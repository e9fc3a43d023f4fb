"""`subcog brief`: the brief of a session that begins here."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

RULE = "Commit by hand; the agent never pushes."


@pytest.fixture
def with_memories(subcog: Run, tmp_path: Path) -> Run:
    rows = [{"content": f"Module m{n} keeps its rows in table t{n}.", "namespace": "context"} for n in range(45)]
    rows.insert(21, {"content": RULE, "namespace": "preferences"})
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert subcog("import", str(file), "--trust", "user").code == 0
    return subcog


def test_it_prints_the_block_that_a_session_begins_with(with_memories: Run) -> None:
    done = with_memories("brief")
    assert done.code == 0
    assert done.out.startswith("<subcog-memories source=")
    assert RULE in done.out
    assert "others when they matter" in done.out


def test_it_says_what_each_is_worth_and_what_comes_next(with_memories: Run) -> None:
    done = with_memories("brief", "--explain")
    assert "no room, next in line" in done.out
    (line,) = [line for line in done.out.splitlines() if RULE in line and "kind" in line]
    assert "kind +0.00" in line
    assert "kind -0.50" in done.out
    record = with_memories("brief", "--json").json
    assert len(record["text"]) == record["characters"]
    assert 880 < record["memory_characters"] <= 950
    assert f"{record['memory_characters']:,} characters, {record['characters']:,} with the lines around them" in done.out
    assert len(record["next"]) == 5
    assert set(record["worth"]) == set(record["ids"])


def test_what_silences_it_is_said(with_memories: Run) -> None:
    for name in ("surfacing.session_start", "surfacing.enabled"):
        with_memories("config", "set", name, "false")
        done = with_memories("brief")
        assert done.code == 0
        assert f"none of it is given now: {name} is false" in done.err
        with_memories("config", "set", name, "true")
    with_memories("config", "set", "surfacing.brief_characters", "0")
    assert "surfacing.brief_characters is 0" in with_memories("brief").err


def test_an_empty_store_and_a_missing_folder_are_named(subcog: Run, tmp_path: Path) -> None:
    done = subcog("brief")
    assert (done.code, done.out) == (1, "")
    assert "there are no memories" in done.err
    done = subcog("brief", "--cwd", str(tmp_path / "gone"))
    assert done.code == 2
    assert "is no folder" in done.err
