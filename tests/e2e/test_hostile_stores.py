"""Stores and texts of other programs that are damaged, or made to do harm, through the installed executable."""

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, assert_one_line_error, linux, posix
from tests.rival_stores import mcp_memory_service

MEMORY = 1_000_000_000  # bytes of address space, for a command
LONG_TEXT = 400_000_000  # bytes


ENDLESS = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'shop' AS project FROM n"


def test_a_view_that_never_ends_is_no_table(bare: Machine, shop: Path, subtests: pytest.Subtests) -> None:
    for name, table in {
        "claude-mem": "observations",
        "mcp-memory-service": "memories",
        "mempalace": "embedding_metadata",
    }.items():
        with subtests.test(name=name):
            path = bare.root / f"{name}.db"
            with closing(sqlite3.connect(path)) as database:
                database.execute(f"CREATE VIEW {table} AS {ENDLESS}")
            done = bare.run("import", "--from", name, str(path), cwd=shop)
            assert_one_line_error(done, 2)
            assert f"has no table {table}" in done.stderr.decode()


def bounded(machine: Machine, *arguments: str) -> list[str]:
    """A command line that runs a command within MEMORY."""
    program = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({0}, {0})); os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", program.format(MEMORY), machine.command, *arguments]


@linux
def test_a_text_that_would_fill_the_memory_is_left_out(bare: Machine) -> None:
    path = mcp_memory_service(bare.root)
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            f"UPDATE memories SET content = CAST(zeroblob({LONG_TEXT}) AS TEXT) WHERE content LIKE 'Deploys run every Tuesday%'"
        )
        database.commit()
    done = bare.start(bounded(bare, "import", "--from", "mcp-memory-service", str(path)))
    assert done.code == 0, done.stderr
    assert b"left out 1, which has a text of more than 4,000,000 bytes" in done.stderr
    assert "Prices are stored in cents, never as floating point numbers." in [*bare.stored()]
    assert not [text for text in [*bare.stored("all")] if text.startswith("Deploys run")]


def test_a_damaged_name_is_one_line(bare: Machine) -> None:
    bare.run("remember", "Prices are in cents.")
    path = mcp_memory_service(bare.root)
    whole = path.read_bytes()
    for found, put in (
        (b"memory_type TEXT", b"memory_\xffype TEXT"),
        (b"CREATE TABLE memories", b"CREATE TABLE\xff\xfe\xfdmories"),
    ):
        assert found in whole
        path.write_bytes(whole.replace(found, put))
        done = bare.run("import", "--from", "mcp-memory-service", str(path))
        assert_one_line_error(done, 2)
        assert b"store" in done.stderr or b"is damaged" in done.stderr
        assert b"report it" not in done.stderr
    assert [*bare.stored("all")] == ["Prices are in cents."]


@posix
def test_a_pipe_beside_a_database_is_not_waited_for(bare: Machine) -> None:
    path = mcp_memory_service(bare.root)
    for ending in ("-journal", "-wal", "-shm"):
        pipe = Path(f"{path}{ending}")
        os.mkfifo(pipe)
        done = bare.run("import", "--from", "mcp-memory-service", str(path))
        assert_one_line_error(done, 2)
        assert f"{ending} is no regular file; remove it" in done.stderr.decode()
        pipe.unlink()


def test_a_file_of_nothing_but_backticks_is_read_in_time(bare: Machine) -> None:
    folder = bare.root / "user" / ".claude"
    (folder / "projects").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text("`" * 300_000 + "\n" + "```a\n" * 20_000)
    done = bare.run("import", "--from", "claude", "--dry-run")
    assert done.code == 0, done.stderr


def test_a_document_with_a_million_lines_is_left_out(bare: Machine, shop: Path) -> None:
    (shop / "AGENTS.md").write_text("# a\n" * 200_000)
    assert b"left out 1, which has more than 100,000 lines" in bare.run("import", "--from", "agents", cwd=shop).stderr
    done = bare.run("import", "AGENTS.md", cwd=shop)
    assert (done.code, b"has more than 100,000 lines; split it" in done.stderr) == (2, True)
