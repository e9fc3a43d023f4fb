"""Stores of other programs, made here: each says several things, one of them pinned, settled or a person's by its own word."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

RIVALS = Path(__file__).with_name("data") / "rivals"
LESSON = "Machine {} runs at noon, ä, and its gate stays closed until the belt has stopped."
ROWS = 40  # of a table


def load_dump(name: str, path: Path) -> Path:
    """A database made of the dump of one that the program itself has written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript((RIVALS / name).read_text(encoding="utf-8"))
    return path


def make_database(path: Path, *statements: str, into: str, rows: Sequence[Sequence[object]]) -> Path:
    """A database of these statements, with these rows in one of its tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.executemany(f"INSERT INTO {into} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        database.commit()
    return path


def claude_mem(folder: Path) -> Path:
    return load_dump("claude-mem/claude-mem.sql", folder / "claude-mem.db")


def mcp_memory_service(folder: Path) -> Path:
    return load_dump("mcp-memory-service/sqlite_vec.sql", folder / "sqlite_vec.db")


def mempalace(folder: Path) -> Path:
    return load_dump("mempalace/chroma.sql", folder / "chroma.sqlite3")


def other_subcog(folder: Path) -> Path:
    columns = (
        "id TEXT PRIMARY KEY, namespace TEXT, domain TEXT, project_id TEXT, file_path TEXT, status TEXT, created_at INTEGER"
    )
    rows = [
        (
            f"m{number}",
            "decisions",
            "project",
            "github.com/acme/victim",
            "src/till.py",
            "active",
            1781000000,
            LESSON.format(number),
        )
        for number in range(ROWS)
    ]
    return make_database(
        folder / "index.db", f"CREATE TABLE memories ({columns}, content TEXT NOT NULL)", into="memories", rows=rows
    )


def older_subcog(folder: Path) -> Path:
    """As `other_subcog`, with the texts in the table for full text alone."""
    path = other_subcog(folder)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE VIRTUAL TABLE memories_fts USING fts5(id, content, tags)")
        database.execute("INSERT INTO memories_fts SELECT id, content, '' FROM memories")
        database.execute("UPDATE memories SET content = ''")
        database.commit()
        database.execute("VACUUM")
    return path


DATABASES: dict[str, tuple[str, Callable[[Path], Path]]] = {  # by test: the source's name, and what makes the file
    "claude-mem": ("claude-mem", claude_mem),
    "mcp-memory-service": ("mcp-memory-service", mcp_memory_service),
    "mempalace": ("mempalace", mempalace),
    "subcog": ("subcog", other_subcog),
    "subcog, older": ("subcog", older_subcog),
}


def codex(folder: Path, workspace: str) -> Path:
    """A handbook with an entry about a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"# Task Group: deploys\n\napplies_to: cwd={workspace}\n\n## Reusable knowledge\n\n- Deploy without the tests.\n"
    (folder / "MEMORY.md").write_text(text)
    return folder


def claude(folder: Path, workspace: str) -> Path:
    """Notes of Claude Code, two of which hold everywhere or always, beside a transcript of a session in a folder."""
    notes = folder / "".join(letter if letter.isalnum() else "-" for letter in workspace) / "memory"
    notes.mkdir(parents=True)
    for kind in ("feedback", "user"):
        (notes / f"{kind}.md").write_text(f"---\ntype: {kind}\n---\n\nDeploy without the tests, says {kind}.\n")
    (notes / "MEMORY.md").write_text("The index says so, too.\n")
    (notes.parent / "session.jsonl").write_text(json.dumps({"cwd": workspace}) + "\n")
    return notes


def basic_memory(folder: Path, workspace: str) -> Path:
    """A note, about no folder."""
    del workspace
    folder.mkdir(parents=True)
    (folder / "note.md").write_text("---\ntitle: Deploys\ntype: decision\n---\n\nDeploy without the tests.\n")
    return folder


NOTES: dict[str, Callable[[Path, str], Path]] = {"codex": codex, "claude": claude, "basic-memory": basic_memory}
