"""`import` of files that are gone by now: archived, or left alone where they may come back."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from subcog_hooks.capture.sources import source_reading
from tests.cli.conftest import MonkeyPatch, Run

REMOTE = '[remote "origin"]\n\turl = git@github.com:acme/quay.git\n'
LOCKS = "The lock of the harbour is opened by the yard, every second month of the year, in the morning.\n"
CRANES = "The crane of the harbour is looked after by the yard, every second month of the year, at noon.\n"
BUOYS = "The buoys of the outer road are painted red by the crew of the tender, always before Easter.\n"
TIDES = "The tide tables of the coming year are printed in October, and hang in the office of the pilot.\n"


@pytest.fixture
def quay(monkeypatch: MonkeyPatch, tmp_path: Path) -> Path:
    """A repository, the current folder, with two notes in its folder `notes`."""
    root = tmp_path / "quay"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text(REMOTE)
    write(root / "notes" / "locks.md", LOCKS, CRANES)
    write(root / "notes" / "buoys.md", BUOYS)
    monkeypatch.chdir(root)
    return root


def write(file: Path, *texts: str) -> None:
    """Write a note with a section for each text, named by its second word."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# Port\n\n" + "\n".join(f"## {text.split()[1].title()}\n\n{text}" for text in texts))


def active(subcog: Run) -> list[str]:
    rows = subcog("export").rows
    return sorted(row["source"].rpartition(":")[0] for row in rows if row.get("status", "active") == "active")


def id_of(subcog: Run, words: str) -> str:
    (id_,) = [row["id"] for row in subcog("export").rows if words in row["content"]]
    return str(id_)


def test_a_deleted_file_comes_back_with_what_was_added(subcog: Run, quay: Path) -> None:
    subcog("import", "notes")
    id_ = id_of(subcog, "buoys")
    subcog("edit", id_, "--keyword", "paint")
    text = (quay / "notes" / "buoys.md").read_text()
    (quay / "notes" / "buoys.md").unlink()
    assert subcog("import", "notes", "--dry-run").out == "would add 0, would archive 1, already there 2\n"
    assert len(active(subcog)) == 3
    assert subcog("import", "notes").out == "added 0, archived 1, already there 2\n"
    assert active(subcog) == ["notes/locks.md", "notes/locks.md"]
    assert subcog("import", "notes").out == "added 0, already there 2\n"
    (quay / "notes" / "buoys.md").write_text(text)
    assert subcog("import", "notes").out == "added 0, replaced 1, already there 2\n"
    (row,) = [row for row in subcog("export").rows if row["id"] == id_]
    assert (row.get("status", "active"), row["keywords"]) == ("active", ["paint"])


def test_a_renamed_or_deleted_file_brings_back_and_takes_nothing(subcog: Run, quay: Path) -> None:
    subcog("import", "notes")
    subcog("forget", id_of(subcog, "The crane"))
    subcog("edit", id_of(subcog, "buoys"), "--content", "The buoys are painted green by now.")
    (quay / "notes" / "locks.md").rename(quay / "notes" / "gates.md")
    (quay / "notes" / "buoys.md").unlink()
    assert subcog("import", "notes").out == "added 1, archived 1, already there 1\n"
    assert active(subcog) == ["notes/buoys.md", "notes/gates.md"]  # The edited one stays.


def test_importing_a_part_archives_nothing_of_the_rest(subcog: Run, quay: Path) -> None:
    write(quay / "notes" / "sub" / "tides.md", TIDES)
    subcog("import", "notes")
    (quay / "notes" / "locks.md").unlink()
    assert subcog("import", "notes/sub").out == "added 0, already there 1\n"
    assert subcog("import", "notes/buoys.md").out == "added 0, already there 1\n"
    assert active(subcog).count("notes/locks.md") == 2
    assert "archived 2" in subcog("import", ".").out


def test_a_folder_that_cannot_be_read_archives_nothing(subcog: Run, quay: Path) -> None:
    write(quay / "notes" / "sub" / "tides.md", TIDES)
    subcog("import", "notes")
    away = quay / "away"
    (quay / "notes").rename(away)
    assert subcog("import", "notes").code == 2
    (quay / "notes").mkdir()
    done = subcog("import", "notes")
    assert (done.code, done.out) == (0, "added 0\n")
    assert "notes is empty or cannot be read, so 4 memories from it stay" in done.err
    (quay / "notes").rmdir()
    away.rename(quay / "notes")
    (quay / "notes" / "sub" / "tides.md").unlink()
    done = subcog("import", "notes")
    assert done.out == "added 0, already there 3\n"
    assert "sub is empty or cannot be read, so 1 memory from it stays" in done.err
    assert len(active(subcog)) == 4
    (quay / "notes" / "sub").rmdir()
    assert subcog("import", "notes").out == "added 0, archived 1, already there 3\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything can be read here")
def test_a_forbidden_subfolder_counts_as_unread(subcog: Run, quay: Path) -> None:
    write(quay / "notes" / "sub" / "tides.md", TIDES)
    subcog("import", "notes")
    (quay / "notes" / "sub").chmod(0)
    done = subcog("import", "notes")
    (quay / "notes" / "sub").chmod(0o700)
    assert "archived" not in done.out
    assert len(active(subcog)) == 4


def test_a_folder_outside_any_repository_is_compared_too(subcog: Run, tmp_path: Path) -> None:
    write(tmp_path / "vault" / "locks.md", LOCKS)
    write(tmp_path / "vault" / "tides.md", TIDES)
    subcog("import", "vault")
    (tmp_path / "vault" / "locks.md").rename(tmp_path / "vault" / "gates.md")
    (tmp_path / "vault" / "tides.md").unlink()
    assert subcog("import", "vault").out == "added 1, archived 2\n"


def test_a_clone_worktree_or_sparse_checkout_archives_nothing(subcog: Run, quay: Path, monkeypatch: MonkeyPatch) -> None:
    shutil.copytree(quay, quay.parent / "clone")
    shutil.rmtree(quay / ".git")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "x"), ("worktree", "add", "-q", "../worktree")):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *arguments], cwd=quay, check=True, capture_output=True)
    with (quay / ".git" / "config").open("a") as config:
        config.write(REMOTE)
    subcog("import", "notes")
    for other in ("clone", "worktree"):
        monkeypatch.chdir(quay.parent / other)
        Path("notes/locks.md").unlink()
        assert subcog("import", "notes").out == "added 0, already there 1\n"
    monkeypatch.chdir(quay)
    (quay / "notes" / "locks.md").unlink()
    whole = (quay / ".git" / "config").read_text()
    (quay / ".git" / "config").write_text(f"{whole}[core]\n\tsparseCheckout = true\n")
    assert "archived" not in subcog("import", "notes").out
    (quay / ".git" / "config").write_text(whole)
    assert "archived 2" in subcog("import", "notes").out


RECORD = "# {number}. {title}\n\nDate: 2026-03-02\n\n## Status\n\nAccepted\n\n## Context\n\n{text}\n## Decision\n\n{text}\n"


def test_decision_records_without_their_folder_are_archived(subcog: Run, quay: Path) -> None:
    folder = quay / "docs" / "adr"
    folder.mkdir(parents=True)
    (folder / "0001-locks.md").write_text(RECORD.format(number=1, title="Open the locks", text=LOCKS))
    subcog("import", "notes")
    subcog("import", "--from", "adr")
    shutil.rmtree(quay / "docs")
    shutil.rmtree(quay / "notes")
    done = subcog("import", "--from", "adr")
    assert (done.code, "archived" in done.out) == (0, True)
    assert active(subcog) == ["notes/buoys.md", "notes/locks.md", "notes/locks.md"]
    done = subcog("import", "--from", "adr")
    assert (done.code, "has no folder of decision records" in done.err) == (2, True)


@pytest.mark.parametrize("is_mount_point", [False, True])
def test_notes_on_a_missing_disk_are_not_gone(
    subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch, is_mount_point: bool
) -> None:
    yard, disk = tmp_path / "yard", tmp_path / "disk"
    for folder, texts in ((yard, (LOCKS, CRANES)), (disk, (BUOYS,))):
        for text in texts:
            write(folder / f"{text.split()[1]}.md", text)
    config = tmp_path / "basic-memory" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"projects": {"yard": str(yard), "disk": {"path": str(disk)}}}))
    monkeypatch.setenv("BASIC_MEMORY_CONFIG_DIR", str(config.parent))
    assert subcog("import", "--from", "basic-memory").code == 0
    disk.rename(tmp_path / "unmounted")
    if is_mount_point:
        disk.mkdir()
    (yard / "crane.md").unlink()
    done = subcog("import", "--from", "basic-memory")
    assert (done.out, f"{disk} is missing, empty" in done.err) == ("added 0, archived 1, already there 1\n", True)
    assert active(subcog) == ["basic-memory:disk/buoys.md", "basic-memory:yard/lock.md"]
    config.write_text(json.dumps({"projects": {"yard": str(yard)}}))  # The person has given up the project.
    assert subcog("import", "--from", "basic-memory").out == "added 0, archived 1, already there 1\n"


def test_sections_that_a_loaded_file_lost_are_archived(subcog: Run, quay: Path) -> None:
    texts = [text * 9 for text in (LOCKS, CRANES, BUOYS)]
    (quay / ".claude" / "rules").mkdir(parents=True)
    (quay / ".claude" / "rules" / "tides.md").write_text(TIDES)
    subcog("import", ".claude")
    write(quay / "CLAUDE.md", *texts)
    subcog("import", "CLAUDE.md")
    assert len(active(subcog)) == 4
    write(quay / "CLAUDE.md", *texts[:2])
    assert subcog("import", "CLAUDE.md").out == "added 1, archived 3\n"
    assert len(active(subcog)) == 2
    subcog("import", "notes")
    (quay / "notes" / "locks.md").rename(quay / "notes" / "gates.md")
    (quay / "notes" / "CLAUDE.md").write_text(LOCKS)
    subcog("import", "notes")
    shutil.rmtree(quay / "notes")
    (quay / "CLAUDE.md").unlink()
    subcog("import", "--again")
    assert [source.rpartition("::")[2] for source in active(subcog)] == [".claude/rules/tides.md"]
    shutil.rmtree(quay / ".claude")
    subcog("import", "--again")
    assert active(subcog) == []


def test_too_many_folders_archive_nothing(subcog: Run, quay: Path, monkeypatch: MonkeyPatch) -> None:
    (quay / "AGENTS.md").write_text(TIDES)
    write(quay / "zone" / "AGENTS.md", LOCKS)
    subcog("import", "--from", "agents")
    monkeypatch.setattr(source_reading, "MAX_SEARCHED_FOLDERS", 2)
    done = subcog("import", "--from", "agents")
    assert "has more than 2 folders; the others were not searched" in done.err
    assert len(active(subcog)) == 2
