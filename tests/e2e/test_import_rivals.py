"""The stores of other memories, through the installed executable: most were written by those programs (tests/data/rivals)."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from tests.e2e.machine import OWNER, SHOP, Machine, assert_one_line_error
from tests.rival_stores import RIVALS, load_dump, make_database, mcp_memory_service

OTHER_SUBCOG = "id, namespace, domain, project_id, file_path, status, created_at, tags, tombstoned_at, content"


def assert_taken_once(machine: Machine, arguments: list[str], cwd: Path | None = None) -> str:
    """Import a source: seen first, which stores nothing, and twice, which is as once; what was said of it."""
    assert arguments[0] in {
        line.split()[0] for line in machine.run("import", "--from", "list", cwd=cwd).stdout.decode().splitlines()
    }
    seen = machine.run("import", "--from", *arguments, "--dry-run", cwd=cwd)
    assert (seen.code, machine.stored(), machine.stored("pending")) == (0, {}, {})
    assert re.search(rb"^from /\S", seen.stderr, re.MULTILINE), seen.stderr
    done = machine.run("import", "--from", *arguments, cwd=cwd)
    assert done.code == 0, done.stderr
    assert seen.stdout.splitlines()[-1] == done.stdout.strip().replace(b"added", b"would add")
    first = machine.stored(), machine.stored("pending")
    assert machine.run("import", "--from", *arguments, cwd=cwd).stdout == (
        f"added 0, already there {len(first[0]) + len(first[1])}\n".encode()
    )
    assert (machine.stored(), machine.stored("pending")) == first
    exported = [json.loads(line) for line in machine.run("export", "-").stdout.splitlines()]
    assert all(re.match(f"{arguments[0]}[:@]", str(row["source"])) for row in exported)
    return done.stderr.decode()


# ---- written by the programs themselves -----------------------------------------------------------------------------------


def test_mcp_memory_services_harvest_waits_for_review(bare: Machine) -> None:
    folder = bare.root / "user" / ".local" / "share" / "mcp-memory"
    path = load_dump("mcp-memory-service/sqlite_vec.sql", folder / "sqlite_vec.db")
    before = path.read_bytes()
    said = assert_taken_once(bare, ["mcp-memory-service"])
    assert "left out 1, which is deleted there" in said
    assert "left out 1, which is superseded there" in said
    kept = bare.stored()
    assert {text: (row["namespace"], row.get("tags", []), row["trust"]) for text, row in kept.items()} == {
        "We chose Postgres over MySQL because the reports need JSONB indexes.": ("decisions", ["database", "shop"], "import"),
        "Prices are stored in cents, never as floating point numbers.": ("learnings", ["money", "shop"], "import"),
        "The staging server is called heron and lies behind the VPN.": ("learnings", [], "import"),
        "Restart the worker after a change of its queue, or it keeps the old one.": (
            "learnings",
            ["queue", "źródło"],
            "import",
        ),
        "An empty cart answers 204, not 404: the app takes 404 for a failure.": ("learnings", ["api-cart", "http"], "import"),
        "Deploys run every Tuesday at nine, so that nobody repairs them at a weekend.": ("decisions", ["deploy"], "import"),
    }
    assert {str(row["created_at"])[:10] for text, row in kept.items() if "JSONB" in text} == {"2026-11-24"}
    waiting = bare.stored("pending")
    assert {row["trust"] for row in waiting.values()} == {"tool"}
    assert {text[:21] for text in waiting} == {"We decided to use Red", "The root cause was a "}
    assert path.read_bytes() == before
    assert bare.run("review", "--reject", str(next(iter(waiting.values()))["id"])).code == 0
    assert bare.run("import", "--from", "mcp-memory-service").stdout == b"added 0, already there 8\n"


def test_claude_mems_observations_wait_for_review(bare: Machine, shop: Path) -> None:
    load_dump("claude-mem/claude-mem.sql", bare.root / "user" / ".claude-mem" / "claude-mem.db")
    said = assert_taken_once(bare, ["claude-mem"], shop)
    assert "left out 1, which is about tiles: import it there" in said
    assert "left out 1, which is marked sensitive there" in said
    assert "claude-mem tells projects apart by the folder's name alone: notes about another shop come, too" in said
    assert {text: row["trust"] for text, row in bare.stored().items()} == {
        "Prices are shown with the tax of the country that the parcel goes to, not of the shop.": "import",
        "Deploys\nNever deploy on a Friday.": "import",
    }
    assert {text: (row["namespace"], row["trust"]) for text, row in bare.stored("pending").items()} == {
        "Basket kept in Redis\nThe basket was moved to Redis, because Memcached forgot it at each restart.\n"
        "Its entries live for thirty days": ("decisions", "tool"),
        "Rounding in the report\nSums of floats drifted by a cent in June; the report now adds integers.": (
            "learnings",
            "tool",
        ),
        "Key of the staging bank\nThe staging bank's key stands in a variable, not in a file.": ("security", "tool"),
    }


def test_claude_mem_is_found_where_its_settings_say(bare: Machine, shop: Path) -> None:
    load_dump("claude-mem/claude-mem.sql", bare.root / "moved" / "claude-mem.db")
    settings = bare.root / "user" / ".claude-mem" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"CLAUDE_MEM_DATA_DIR": str(bare.root / "moved")}))
    assert bare.run("import", "--from", "claude-mem", cwd=shop).code == 0
    assert "Deploys\nNever deploy on a Friday." in bare.stored()
    settings.write_text('{"CLAUDE_MEM_DATA_DIR": ')
    assert_one_line_error(bare.run("import", "--from", "claude-mem", cwd=shop), 2)


def test_a_running_programs_log_metadata_and_milliseconds_count(bare: Machine) -> None:
    path = bare.root / "store.db"
    rows = [
        ("Deploys run on Fridays.", "a", '{"superseded_by": "b"}', 1_795_486_086_495.0),
        ("Deploys run on Tuesdays.", "b", "[]", 1_795_486_086_495.0),
        ("Prices are in cents.", "c", "{", 1_795_486_086.5),
    ]
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE memories (content TEXT, content_hash TEXT, metadata TEXT, created_at REAL, newer BLOB)")
        writer.executemany("INSERT INTO memories VALUES (?, ?, ?, ?, zeroblob(9))", rows)
        writer.commit()
        assert path.with_name("store.db-wal").stat().st_size > 0
        done = bare.run("import", "--from", "mcp-memory-service", str(path))
    assert b"left out 1, which is superseded there" in done.stderr
    dates = {row["content"]: row["created_at"][:10] for row in bare.stored().values()}
    assert dates == {"Deploys run on Tuesdays.": "2026-11-24", "Prices are in cents.": "2026-11-24"}


def test_mempalace_gives_filed_notes_and_no_pieces(bare: Machine) -> None:
    palace = bare.root / "user" / ".mempalace"
    load_dump("mempalace/chroma.sql", palace / "palace" / "chroma.sqlite3")
    said = assert_taken_once(bare, ["mempalace"])
    assert "left out 3, each of which is a piece of a file or of a talk" in said
    assert "left out 1, which is an entry of an agent's diary" in said
    kept = bare.stored()
    assert {row["trust"] for row in kept.values()} == {"agent"}
    decided = kept["We decided to keep prices in cents because the bank refuses fractions of one."]
    assert (decided["namespace"], decided["tags"]) == ("decisions", ["shop", "decisions"])
    long = "The report of the year is built from three tables, and each of them has its own clock. " * 30
    pieces = [text.partition("\n\n")[2] for text in kept if "three tables" in text]  # each is a section below a heading
    assert sorted(" ".join(pieces).split()) == sorted(long.split())
    assert not any("stork" in text for text in kept)
    assert [(row["trust"], row["namespace"]) for row in bare.stored("pending").values()] == [("tool", "decisions")]


@pytest.mark.parametrize("is_in_repository", [False, True])
def test_basic_memory_gives_notes_that_hold(bare: Machine, *, is_in_repository: bool) -> None:
    notes = bare.repository("notes", SHOP) if is_in_repository else bare.root / "notes"
    shutil.copytree(RIVALS / "basic-memory", notes, dirs_exist_ok=True)
    with next(notes.rglob("Prices in cents.md")).open("a", encoding="utf-8") as note:
        note.write("\n- Always ask [[Ada]] before a price changes, as she knows the bank\n")
    configured = bare.root / "user" / ".basic-memory" / "config.json"
    configured.parent.mkdir()
    configured.write_text(json.dumps({"projects": {"shop": str(notes), "gone": {"path": str(bare.root / "gone")}}}))
    said = assert_taken_once(bare, ["basic-memory"])
    assert "left out 1, which is replaced or rejected by its own words" in said
    assert "left out 1, which is empty" in said
    waiting = {text.partition("\n")[0]: row for text, row in bare.stored("pending").items()}
    if is_in_repository:
        assert (bare.stored(), len(waiting)) == ({}, 4)
        assert {(row["project"], row["trust"]) for row in waiting.values()} == {(OWNER, "file")}
        return
    kept = {text.partition("\n")[0]: row for text, row in bare.stored().items()}
    assert {title: (row["namespace"], row.get("project"), row["trust"]) for title, row in kept.items()} == {
        "Prices in cents": ("decisions", None, "agent"),
        "Anrede": ("learnings", None, "agent"),
        "Outbox": ("decisions", None, "agent"),
    }
    assert kept["Prices in cents"]["tags"] == ["money", "shop"]
    assert "[[Reports]]" not in str(kept["Prices in cents"]["content"])
    assert "Always ask [[Ada]] before" in str(kept["Prices in cents"]["content"])
    assert "(since the drift of June)" in str(kept["Prices in cents"]["content"])
    assert [row["trust"] for row in waiting.values()] == ["tool"]


# ---- made after what the programs publish ---------------------------------------------------------------------------------


def test_the_other_subcog_gives_its_memories_with_their_project(bare: Machine) -> None:
    rows = [  # namespace, domain, project, status, tags, and when it was tombstoned
        ("decisions", "project", OWNER, "active", "money,bank", None),
        ("patterns", "user", None, "active", "", None),
        ("learnings", "project", OWNER, "active", "auto-capture", None),
        ("learnings", "project", OWNER, "superseded", "", None),
        ("learnings", "project", OWNER, "active", "", 1781000001),
        ("learnings", "project", None, "active", "", None),
        ("help", "user", None, "active", "", None),
    ]
    make_database(
        bare.root / "user" / ".local" / "share" / "subcog" / "index.db",
        f"CREATE TABLE memories ({OTHER_SUBCOG})",
        into="memories",
        rows=[
            (f"m{n}", *row[:3], "src/till.py", row[3], 1781000000, *row[4:], f"Memory {n} is about the till.")
            for n, row in enumerate(rows)
        ],
    )
    said = assert_taken_once(bare, ["subcog"])
    for reason in ("is superseded there", "is tombstoned there", "is about a project that it does not name", "is a help text"):
        assert f"left out 1, which {reason}" in said
    kept = bare.stored()
    assert {text: (row["namespace"], row.get("project"), row["trust"]) for text, row in kept.items()} == {
        "Memory 0 is about the till.": ("decisions", OWNER, "import"),
        "Memory 1 is about the till.": ("patterns", None, "import"),
    }
    decided = kept["Memory 0 is about the till."]
    assert (decided["tags"], decided["created_at"][:10]) == (["money", "bank"], "2026-06-09")
    assert {text: row["trust"] for text, row in bare.stored("pending").items()} == {"Memory 2 is about the till.": "tool"}


def test_codex_handbook_comes_entry_by_entry_with_its_project(bare: Machine, shop: Path) -> None:
    handbook = bare.root / "user" / ".codex" / "memories" / "MEMORY.md"
    handbook.parent.mkdir(parents=True)
    text = (
        "# Task Group: the shop's till\n\nscope: the till\napplies_to: cwd={folder}; reuse_rule=this checkout\n\n"
        "## Task 1: a fix, done\n\n### rollout_summary_files\n\n- rollout_summaries/a.md (cwd=/x)\n\n### keywords\n\n- till\n\n"
        '## User preferences\n\n- when a till is changed, the user asked: "run its tests" -> run them first [Task 1]\n\n'
        "## Reusable knowledge\n\n- Prices are integers\n  of cents. [Task 1][Task 2]\n\n  So are fees.\n\n"
        "- Ask so:\n  ```sql\n  select *\n    from till\n  ```\n\n"
        "## Failures and how to do differently\n\n- The drawer opens twice -> the lock was missing [Task 1]\n"
    )
    handbook.write_text(text.format(folder=shop) + "\n" + text.format(folder="/not/here").replace("till", "lift"))
    (handbook.parent / "raw_memories.md").write_text("# Raw\n\nNot to be taken.\n")
    said = assert_taken_once(bare, ["codex"])
    assert "left out 4, each of which is of a folder that is not here (/not/here)" in said
    assert {text: (row["namespace"], row["project"], row["trust"]) for text, row in bare.stored().items()} == {
        'the shop\'s till: when a till is changed, the user asked: "run its tests" -> run them first': (
            "patterns",
            OWNER,
            "agent",
        ),
        "the shop's till: Prices are integers of cents. So are fees.": ("learnings", OWNER, "agent"),
        "the shop's till: Ask so:\n```sql\nselect *\n  from till\n```": ("learnings", OWNER, "agent"),
        "the shop's till: The drawer opens twice -> the lock was missing": ("learnings", OWNER, "agent"),
    }
    handbook.write_text(text.format(folder=shop).replace("integers\n  of cents", "whole cents"))
    assert bare.run("import", "--from", "codex").stdout == b"added 1, archived 1, already there 3\n"


# ---- what can not be read -------------------------------------------------------------------------------------------------


def test_an_unusable_or_locked_database_is_one_line(bare: Machine, shop: Path) -> None:
    (bare.root / "text.db").write_text("no database " * 100)
    make_database(bare.root / "other.db", "CREATE TABLE cats (name TEXT)", into="cats", rows=[("Tom",)])
    locked = mcp_memory_service(bare.root)
    (bare.root / "cut.db").write_bytes(locked.read_bytes()[:5_000])
    for name, file in product(("claude-mem", "mcp-memory-service", "mempalace"), ("text.db", "other.db", "cut.db", "none.db")):
        assert_one_line_error(bare.run("import", "--from", name, str(bare.root / file), cwd=shop), 2)
    with closing(sqlite3.connect(locked, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        done = bare.run("import", "--from", "mcp-memory-service", str(locked))
    assert_one_line_error(done, 2)
    assert b"end the program that uses it" in done.stderr
    assert bare.stored("all") == {}


def test_what_cannot_be_read_is_one_line(bare: Machine, shop: Path, subtests: pytest.Subtests) -> None:
    half, nowhere = bare.root / "user" / ".basic-memory" / "config.json", bare.folder
    half.parent.mkdir()
    half.write_text('{"projects": {"shop":')
    for arguments, folder, said in (
        ("", nowhere, "nothing to import is named"),
        ("--from nonsense", nowhere, "expected claude, agents"),
        ("--from claude", nowhere, "there are no notes"),
        ("--from cursor", nowhere, "in no repository"),
        ("--from adr", nowhere, "in no repository"),
        ("--from adr", shop, "has no folder of decision records"),
        ("--from mcp-memory-service not-there.db", nowhere, "is not there"),
        ("--from codex", shop, "is not there"),
        ("--from basic-memory", shop, str(half)),
        ("--from mempalace", shop, "chroma.sqlite3 is not there"),
    ):
        with subtests.test(arguments=arguments, folder=folder):
            done = bare.run("import", *arguments.split(), cwd=folder)
            assert_one_line_error(done, 2)
            assert said in done.stderr.decode()
