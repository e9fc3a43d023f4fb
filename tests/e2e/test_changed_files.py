"""A memory's line says that a file which it names has changed since, as a background job finds out."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from subcog_hooks.store import project
from tests.e2e.machine import NO_BRIEF, OWNER, SHOP, Machine

ASKED = "How large is the connection pool of the harbour's ledger, and where is it set?"
NOTE = "The connection pool of the harbour's ledger has 20 connections, set in app/db.py."
REMARK = ", app/db.py changed since] "


@pytest.fixture
def changed(bare: Machine) -> Path:
    """A repository in which the client was used; the file that its memory names has changed since."""
    root = bare.repository("shop", SHOP)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "app").mkdir()
    for day, text in (("2024-01-01", "size = 20\n" * 8), ("2024-06-01", "size = settings.size\n" * 8)):
        (root / "app" / "db.py").write_text(text)
        dates = {f"GIT_{who}_DATE": f"{day}T12:00:00Z" for who in ("AUTHOR", "COMMITTER")}
        identity = {f"GIT_{who}_{what}": "ada@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        subprocess.run(["git", "add", "-A"], cwd=root, check=True)
        subprocess.run(["git", "commit", "-qm", "Work"], cwd=root, check=True, env={**os.environ, **dates, **identity})
    sessions = bare.root / "user" / ".claude" / "projects" / project.slug_of(str(root))
    sessions.mkdir(parents=True)
    (sessions / "a.jsonl").write_text(json.dumps({"type": "user", "cwd": str(root)}) + "\n")
    bare.imports(
        {"id": "pool", "content": NOTE, "project": OWNER, "created_at": "2024-02-01"},
        {"id": "ports", "content": "The harbour's ledger listens on port 5440.", "project": OWNER, "created_at": "2024-02-01"},
    )
    return root


def test_a_line_says_that_its_file_has_changed_since(bare: Machine, changed: Path) -> None:
    bare.environment[NO_BRIEF] = "950"
    bare.prompt(ASKED, cwd=changed)  # makes the state
    assert REMARK not in bare.answer(bare.asking(ASKED, cwd=changed))
    assert bare.run("at-rest").code == 0
    [line] = [line for line in bare.answer(bare.asking(ASKED, cwd=changed)).splitlines() if "pool" in line]
    assert REMARK in line
    assert line.endswith(NOTE)
    started = bare.begun("startup", cwd=changed)
    assert REMARK + NOTE in started
    assert started.count("changed since") == 1
    assert b"1 memory names a file changed since" in bare.run("doctor").stdout
    bare.run("edit", "pool", "--content", NOTE.replace("20", "30"), cwd=changed)
    assert "changed since" not in bare.begun("startup", cwd=changed)


def test_doctor_lists_the_memories_whose_files_have_changed(bare: Machine, changed: Path) -> None:
    printed = " ".join(bare.run("doctor", "--memories", cwd=changed).stdout.decode().split())
    assert "app/db.py changed since 2024-02-01 subcog edit pool" in printed
    assert "ports" not in printed


def test_a_programs_name_in_the_repository_is_not_run(bare: Machine, changed: Path) -> None:
    marker = bare.root / "ran"
    for name in ("git", "git.exe"):
        (changed / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (changed / name).chmod(0o755)
    with (changed / ".git" / "config").open("a") as file:
        file.write(f'[diff]\n\texternal = "touch {marker}"\n[core]\n\tfsmonitor = "touch {marker}"\n')
    bare.environment["PATH"] = f"{changed}{os.pathsep}{bare.environment['PATH']}"
    assert b"app/db.py changed" in b" ".join(bare.run("doctor", "--memories", cwd=changed).stdout.split())
    bare.run("at-rest", cwd=changed)
    assert not marker.exists()
