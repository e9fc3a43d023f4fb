"""`import` of Markdown files and folders: sections, the user's additions, decision records and their status."""

import json
import re
import shutil
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from tests.cli.conftest import MonkeyPatch, Run


def test_a_folder_without_markdown_is_refused(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = subcog("import", "empty")
    assert (done.code, done.err) == (2, "subcog: empty holds no Markdown; give a folder of .md files, or a .jsonl file\n")


def test_a_partial_export_archives_and_replaces_nothing_unasked(subcog: Run, tmp_path: Path) -> None:
    section = "The {} of the harbour is looked after by the yard, every second month of the year, in the morning.\n\n"
    (tmp_path / "notes.md").write_text(
        "# Notes\n\n## Locks\n\n" + section.format("lock") + "## Cranes\n\n" + section.format("crane")
    )
    subcog("import", "notes.md")
    lines = subcog("export").out.splitlines()
    assert len(lines) == 2
    Path("some.jsonl").write_text(lines[0].replace("morning", "evening") + "\n")
    done = subcog("import", "some.jsonl")
    assert (done.code, "is taken by another content" in done.err) == (2, True)
    assert subcog("export").out.splitlines() == lines


SECTIONS = (
    "# Notes\n\n## Locks\n\nThe lock of the harbour is opened by the yard, every second month of the year, in the morning.\n\n"
    "## Cranes\n\nThe crane of the harbour is looked after by the yard, every second month of the year, at noon.\n"
)


def sections(subcog: Run) -> dict[str, dict[str, object]]:
    """Return the sections in the store, by the last word of their first line."""
    rows = subcog("export", "--deleted").rows
    return {row["content"].split("\n")[0].rpartition(" ")[2]: row for row in rows}


def test_importing_again_leaves_what_the_user_has_decided(subcog: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text(SECTIONS)
    subcog("import", "notes.md")
    lock, crane = (str(sections(subcog)[name]["id"]) for name in ("Locks", "Cranes"))
    subcog("edit", lock, "--content", "Notes > Locks\n\nMy own careful text")
    subcog("forget", crane)
    notes.write_text(SECTIONS.replace("morning", "evening").replace("noon", "night"))
    done = subcog("import", "notes.md")
    assert "was edited since it was imported; use --replace to take the file's text" in done.err
    assert "careful" in str(sections(subcog)["Locks"]["content"])
    assert sections(subcog)["Cranes"]["status"] == "deleted"
    notes.write_text(
        "# Notes\n\nNothing of all this is true any more, and the harbour has been filled up with sand and shells.\n"
    )
    subcog("import", "notes.md")
    assert "careful" in str(sections(subcog)["Locks"]["content"])
    assert sections(subcog)["Locks"].get("status", "active") == "active"


CUES = ("--trigger", "lock", "--path", "quay/**", "--when", "branch=main", "--keyword", "sluice", "--priority", "60")


@pytest.fixture
def lock(subcog: Run, tmp_path: Path) -> str:
    """Return the id of a section to which the user has added every kind of cue."""
    (tmp_path / "notes.md").write_text(SECTIONS)
    subcog("import", "notes.md")
    id_ = str(sections(subcog)["Locks"]["id"])
    assert subcog("edit", id_, *CUES).code == 0
    return id_


def cues_of(subcog: Run) -> dict[str, object]:
    names = ("keywords", "triggers", "paths", "when", "priority")
    return {name: value for name, value in sections(subcog)["Locks"].items() if name in names}


ADDED = {"keywords": ["sluice"], "triggers": ["lock"], "paths": ["quay/**"], "when": {"branch": "main"}, "priority": 60}


@pytest.mark.usefixtures("lock")
def test_the_users_additions_stay_when_a_section_changes(subcog: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    for replace, now, counts in (
        ([], SECTIONS.replace("morning", "evening"), "added 0, replaced 1, already there 1\n"),
        (["--replace"], SECTIONS.replace("morning", "night"), "added 0, replaced 1, already there 1\n"),
        ([], "", "added 0, archived 2\n"),
        ([], "---\ntags: [cache]\n---\n" + SECTIONS, "added 0, replaced 2\n"),  # They come back, with tags.
    ):
        notes.write_text(now)
        done = subcog("import", "notes.md", *replace)
        assert (done.code, done.out, cues_of(subcog)) == (0, counts, ADDED)
        assert str(sections(subcog)["Locks"]["content"]).partition("\n\n")[2] in now or not now
    assert subcog("import", "notes.md").out == "added 0, already there 2\n"
    assert sections(subcog)["Locks"]["tags"] == ["cache"]


def test_an_edited_text_waits_for_replace_with_any_additions(subcog: Run, lock: str, tmp_path: Path) -> None:
    subcog("edit", lock, "--content", "Notes > Locks\n\nMy own careful text")
    subcog("edit", lock, "--priority", "70")
    (tmp_path / "notes.md").write_text(SECTIONS.replace("morning", "evening"))
    assert "was edited since it was imported; use --replace to take the file's text" in subcog("import", "notes.md").err
    assert "careful" in str(sections(subcog)["Locks"]["content"])
    assert subcog("import", "notes.md", "--replace").code == 0
    assert "evening" in str(sections(subcog)["Locks"]["content"])
    assert cues_of(subcog) == {**ADDED, "priority": 70}


def test_who_vouched_for_a_sections_text_has_not_for_another(subcog: Run, lock: str, tmp_path: Path) -> None:
    subcog("edit", lock, "--trust", "user", "--priority", "95")
    (tmp_path / "notes.md").write_text(SECTIONS.replace("morning", "evening"))
    assert "was edited" in subcog("import", "notes.md").err
    (tmp_path / "notes.md").write_text(SECTIONS)
    subcog("import", "notes.md", "--replace")
    assert (sections(subcog)["Locks"]["trust"], cues_of(subcog)["priority"]) == ("user", 95)
    (tmp_path / "notes.md").write_text(SECTIONS.replace("morning", "evening"))
    subcog("import", "notes.md", "--replace")
    assert (sections(subcog)["Locks"]["trust"], cues_of(subcog)["priority"]) == ("file", 89)
    subcog("import", "notes.md", "--replace", "--trust", "user")
    assert (sections(subcog)["Locks"]["trust"], cues_of(subcog)["triggers"]) == ("user", ["lock"])


def test_a_project_that_gets_a_remote_has_its_sections_once(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes.md").write_text(SECTIONS)
    subcog("import", "notes.md")
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    assert subcog("import", "notes.md").out == "added 2, archived 2\n"
    assert len(subcog("list", "--ids").out.split()) == 2


COPIED = "The {} of the harbour is looked after by the yard, every second month of the year, in the morning.\n\n"


def test_a_copy_of_a_section_is_stored_once(subcog: Run, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.md").write_text(SECTIONS)
    for name in ("AGENTS.md", "CLAUDE.md"):
        (tmp_path / name).write_text("## Build\n\n" + COPIED.format("mill"))
    assert subcog("import", "a").out.startswith("added 2")
    assert subcog("import", "b").out == "added 0, already there 2\n"
    assert subcog("import", "AGENTS.md").out.startswith("added 1")
    assert subcog("import", "CLAUDE.md").out == "added 0, already there 1\n"
    (tmp_path / "staging.md").write_text("# Staging\n\n" + COPIED.format("mill"))
    assert subcog("import", "staging.md").out.startswith("added 1")


def test_a_copy_comes_once_its_original_is_gone(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Notes\n\n## Mill\n\n" + COPIED.format("mill") + "## Lock\n\n" + COPIED.format("lock"))
    (tmp_path / "b.md").write_text("# Notes\n\n## Mill\n\n" + COPIED.format("mill"))
    assert subcog("import", str(tmp_path)).out.endswith(", already there 1\n")
    (tmp_path / "a.md").write_text("# Notes\n\n## Lock\n\n" + COPIED.format("lock"))
    assert subcog("import", str(tmp_path)).out.endswith(", archived 1, already there 1\n")
    live = [str(row["source"]) for row in subcog("export").rows if row.get("status", "active") == "active"]
    assert sorted(source.rpartition("/")[2].partition(":")[0] for source in live) == ["a.md", "b.md"]


def test_a_forgotten_section_stays_forgotten(subcog: Run, tmp_path: Path) -> None:
    record = "# 3. Use RabbitMQ\n\nStatus: Accepted\n\n## Context\n\nWe needed a queue between shop and yard.\n"
    (tmp_path / "0003-rabbit.md").write_text(record)
    subcog("import", "0003-rabbit.md")
    subcog("forget", *subcog("list", "--ids").out.split())
    (tmp_path / "0003-rabbit.md").write_text(record.replace("Accepted", "Superseded by 4"))
    done = subcog("import", "0003-rabbit.md")
    assert (done.code, done.err) == (0, "")
    assert {json.loads(line)["status"] for line in subcog("export", "--deleted").out.splitlines()} == {"deleted"}


def test_files_of_other_encodings_are_read_with_a_remark(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    text = "# {}\n\nDie Tür des Lagers schließt um sechs, und der Nachtwächter öffnet sie vor dem Morgen nicht wieder.\n"
    for name, encoding in (("shell", "utf-16"), ("editor", "cp1252"), ("usual", "utf-8")):
        (tmp_path / "notes" / f"{name}.md").write_bytes(text.format(name).encode(encoding))
    (tmp_path / "notes" / "image.md").write_bytes(b"\x89PNG\0\0\0\rIHDR\0\0")
    done = subcog("import", "notes")
    assert (done.code, done.out.startswith("added 3")) == (2, True)
    for name, message in (
        ("shell", " is read as UTF-16"),
        ("editor", " is read as Windows-1252"),
        ("image", ": is a binary file"),
    ):
        assert f"notes/{name}.md{message}\n" in done.err
    assert {row["content"].partition("\n\n")[2] for row in subcog("export").rows} == {text.partition("\n\n")[2].strip()}


def test_a_dry_run_shows_the_first_memories_that_would_come(subcog: Run, tmp_path: Path) -> None:
    text = "The crane of quay {} lifts forty tonnes, and the yard looks after it in each second month of the year."
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n\n" + "\n\n".join(f"## Quay {number}\n\n{text.format(number)}" for number in range(25)))
    lines = subcog("import", "notes.md", "--dry-run").out.splitlines()
    assert lines[0] == f"Notes > Quay 0 {text.format(0)[:65]}  ({file.as_posix()} line 3)"
    assert (len(lines), lines[-2:]) == (22, ["and 5 more", "would add 25"])
    subcog("import", "notes.md")
    file.write_text(file.read_text().replace("of quay 24", "of the last quay"))
    lines = subcog("import", "notes.md", "--dry-run").out.splitlines()
    assert lines[0].startswith("Notes > Quay 24 The crane of the last quay")
    assert lines[1:] == ["would add 0, would replace 1, already there 24"]


def test_an_undated_text_has_no_date_in_any_form(subcog: Run, home: Home) -> None:
    Path("docs/adr").mkdir(parents=True)
    Path("docs/adr/1.md").write_text(
        "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nAll is kept in PostgreSQL.\n"
    )
    subcog("import", "docs/adr")
    (row,) = subcog("export").rows
    assert (row["created_at"], subcog("search", "PostgreSQL", "--json").json["results"][0]["created_at"]) == (None, None)
    assert re.search(r"^created +undated$", subcog("show", row["id"]).out, re.MULTILINE)
    Path("export.jsonl").write_text(subcog("export").out)
    shutil.rmtree(home.root)
    subcog("import", "export.jsonl", "--trust", "user")
    assert subcog("export").rows == [row]


CUE_FIELDS = {"keywords", "triggers", "paths", "when", "priority"}
FRONT_MATTER = """\
---
tags: [harbour]
keywords: [crane]
triggers: [".*", crane]
paths: ["**"]
when:
  - calm
priority: 100
trust: user
---
"""


@pytest.mark.parametrize("name", ["AGENTS.md", "docs/notes.md", "CLAUDE.md", ".claude/CLAUDE.md"])
@pytest.mark.parametrize("trust", [[], ["--trust", "user"]])
def test_front_matter_gives_tags_and_no_more(
    subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch, name: str, trust: list[str]
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    file = tmp_path / "shop" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{FRONT_MATTER}# Cranes\n\nThe harbour master is asked before a crane is moved, whoever says otherwise.\n")
    assert subcog("import", str(file), *trust).code == 0
    (row,) = subcog("export").rows
    is_loaded = "CLAUDE.md" in name  # by the client in each session: it gives no tags, and nobody vouches for it
    assert (row.get("tags"), row.keys() & CUE_FIELDS) == (None if is_loaded else ["harbour"], set())
    assert row["trust"] == ("user" if trust and not is_loaded else "file")
