"""Imports that are kept up: by `import --again`, and in the background where files have changed."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.cli import background_jobs, import_from
from subcog_hooks.cli.background_jobs import JobPace
from subcog_hooks.cli.review import accept, undo
from subcog_hooks.core.paths import IN_AN_AGENT, Home
from subcog_hooks.store import home_files
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter
from tests.cli.conftest import MonkeyPatch, Run

LOCKS = "# Locks\n\nThe lock of the harbour is opened by the yard, every second month of the year, in the morning.\n"
CRANES = "# Cranes\n\nThe crane of the harbour is looked after by the yard, every second month of the year, at noon.\n"
RULE = "The tide tables of the coming year are printed in October, and hang in the office of the pilot.\n"


@pytest.fixture
def quay(monkeypatch: MonkeyPatch, tmp_path: Path) -> Path:
    """A repository, the current folder, with two notes and a rule file."""
    root = tmp_path / "quay"
    (root / ".git").mkdir(parents=True)
    (root / "notes").mkdir()
    (root / "notes" / "locks.md").write_text(LOCKS)
    (root / "notes" / "cranes.md").write_text(CRANES)
    (root / "GEMINI.md").write_text(RULE)
    monkeypatch.chdir(root)
    return root


def change_files(root: Path) -> None:
    (root / "notes" / "locks.md").write_text(LOCKS.replace("morning", "evening"))
    (root / "notes" / "cranes.md").unlink()
    (root / "notes" / "gates.md").write_text(LOCKS.replace("lock", "gate"))
    (root / "GEMINI.md").write_text(RULE.replace("October", "November"))


def contents(subcog: Run) -> str:
    rows = subcog("export").rows
    return "\n".join(row["content"] for row in rows if row.get("status", "active") == "active")


def work_at_rest() -> str:
    home = Home.find()
    return import_from.repeat_in_background(home, JobPace(home, 60.0, lambda: True))


def test_one_command_repeats_the_imports_of_a_project(subcog: Run, quay: Path, tmp_path: Path) -> None:
    subcog("import", "notes")
    subcog("import", "--from", "gemini")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "sea.md").write_text(LOCKS.replace("lock", "bridge"))
    subcog("import", str(tmp_path / "vault"), "--user")
    change_files(quay)
    (tmp_path / "vault" / "sea.md").write_text(LOCKS.replace("lock", "tower"))
    dry = subcog("import", "--again", "--dry-run")
    counts = [line for line in dry.out.splitlines() if line.startswith("would ")]
    assert counts == ["would add 1, would replace 1, would archive 1", "would add 0, would replace 1"]
    assert "morning" in contents(subcog)
    done = subcog("import", "--again")
    assert (done.code, done.out) == (0, "added 1, replaced 1, archived 1\nadded 0, replaced 1\n")
    assert f"{quay / 'notes'}:" in done.err
    text = contents(subcog)
    assert all(word in text for word in ("evening", "gate", "November", "bridge"))
    assert "crane" not in text


def test_again_repeats_nothing_that_was_not_imported(subcog: Run, quay: Path) -> None:
    done = subcog("import", "--again")
    assert (done.code, done.err) == (1, "nothing was imported here yet\n")
    subcog("import", str(quay / "notes"), "--dry-run")
    assert subcog("import", "--again").code == 1
    assert "--again repeats imports as they were" in subcog("import", "notes", "--again").err


def test_changed_files_are_imported_at_rest(subcog: Run, quay: Path) -> None:
    home, job = Home.find(), next(job for job in background_jobs.JOBS if job.name == "imports")
    subcog("remember", "The gate is shut.")
    assert (job.is_due(home), "imports" in subcog("doctor").out) == (False, False)
    subcog("import", "notes")
    subcog("import", "--from", "gemini")
    assert (job.is_due(home), "at rest, imports" in subcog("doctor").out) == (True, True)
    assert work_at_rest() == ""
    change_files(quay)
    assert work_at_rest() == "1 added, 2 updated, 1 archived"
    assert (work_at_rest(), "crane" in contents(subcog)) == ("", False)
    shutil.rmtree(quay / "notes")
    assert work_at_rest() == "0 added, 0 updated, 2 archived"


def test_edits_and_forgotten_memories_stay_at_rest(subcog: Run, quay: Path) -> None:
    subcog("import", "notes")
    lock, crane = ([row["id"] for row in subcog("export").rows if word in row["content"]] for word in ("Locks", "Cranes"))
    subcog("edit", *lock, "--content", "The lock is mine.")
    subcog("forget", *crane)
    change_files(quay)
    (quay / "notes" / "cranes.md").write_text(CRANES.replace("noon", "night"))
    work_at_rest()
    assert "The lock is mine." in contents(subcog)
    assert "crane" not in contents(subcog)


def test_a_vanished_folder_or_repository_elsewhere_stays(subcog: Run, quay: Path, tmp_path: Path) -> None:
    subcog("import", "notes")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "sea.md").write_text(LOCKS.replace("lock", "bridge"))
    subcog("import", str(tmp_path / "vault"), "--user")
    before = contents(subcog)
    os.rename(quay, tmp_path / "away")
    os.rename(tmp_path / "vault", tmp_path / "away" / "vault")
    assert work_at_rest() == ""
    os.chdir(tmp_path)
    done = subcog("import", "--again")
    assert (done.code, contents(subcog)) == (2, before)
    assert f"{quay} is no repository any more; its memories stay" in done.err


def test_an_agents_import_waits_each_time(subcog: Run, quay: Path, monkeypatch: MonkeyPatch) -> None:
    subcog("config", "set", "capture.agent", "pending")
    monkeypatch.setenv(IN_AN_AGENT, "1")
    subcog("import", "notes")
    monkeypatch.delenv(IN_AN_AGENT)
    change_files(quay)
    work_at_rest()
    assert {row["status"] for row in subcog("export").rows} == {"pending", "archived"}
    subcog("import", "notes")
    monkeypatch.setenv(IN_AN_AGENT, "1")
    subcog("import", "notes")
    (entry,) = home_files.read_imports(Home.find())
    assert not entry.waits


def test_trust_in_a_repository_holds_for_the_files_as_they_were(subcog: Run, quay: Path, tmp_path: Path) -> None:
    subcog("import", "notes", "--trust", "user")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "sea.md").write_text(LOCKS.replace("lock", "bridge"))
    subcog("import", str(tmp_path / "vault"), "--user", "--trust", "user")
    change_files(quay)
    (tmp_path / "vault" / "sea.md").write_text(LOCKS.replace("lock", "tower"))
    assert work_at_rest() == "0 added, 1 updated, 0 archived"
    assert "tower" in contents(subcog)
    assert "morning" in contents(subcog)
    subcog("import", "--again")
    assert {row["trust"] for row in subcog("export").rows} == {"user"}


def test_a_repositorys_later_text_is_not_for_all_projects(subcog: Run, quay: Path) -> None:
    subcog("import", "notes", "--user")
    before = contents(subcog)
    change_files(quay)
    assert (work_at_rest(), contents(subcog)) == ("", before)


def test_a_damaged_record_counts_as_none(subcog: Run, quay: Path) -> None:
    subcog("import", str(quay / "notes"))
    for text in ("", "[", "{}", '[1, {"path": 1}, {"root": "x"}]', '[{"path": "notes", "root": "x"}]', "[" * 9000):
        Path(Home.find().imports).write_text(text)
        assert home_files.read_imports(Home.find()) == []
        assert (work_at_rest(), subcog("import", "--again").code) == ("", 1)
    assert subcog("import", "notes").code == 0
    assert len(home_files.read_imports(Home.find())) == 1


NAMES = ("crane", "sluice", "tender", "beacon", "winch")
TALES = [
    " ".join(f"The {name} of pier {n} is oiled by crew {n}, and its {name} log closed." for n in range(13)) for name in NAMES
]
PILOTS = [" ".join(f"Pilot {number} rows {number} miles past the mole before {time}." for number in range(19)) for time in "ab"]
LOCK_FIX, GATE_FIX = ("- The lock of the first basin opens at dawn.\n", "- A gate that jams is freed by the diver on duty.\n")
RADIO_FIX = "- Ships call the office by radio, channel twelve.\n"


def active_ids(subcog: Run, word: str) -> list[str]:
    return [row["id"] for row in subcog("export").rows if word in row["content"] and row.get("status", "active") == "active"]


def write_fixes(root: Path, *fixes: str) -> str:
    """Write a note with sections of one heading, import it, and return its path."""
    (root / "notes" / "fixes.md").write_text("# Harbour\n\n" + "\n".join(f"## Fixed\n\n{text * 4}" for text in fixes))
    return "notes/fixes.md"


def test_no_paragraph_is_lost_or_back_where_cuts_have_shifted(subcog: Run, quay: Path) -> None:
    note = quay / "notes" / "locks.md"
    note.write_text("\n\n".join(["# Harbour", *TALES]))
    subcog("import", "notes/locks.md")
    subcog("edit", *active_ids(subcog, "winch"), "--trigger", "april")
    subcog("forget", *active_ids(subcog, "tender"))
    note.write_text("\n\n".join(["# Harbour", PILOTS[0], *TALES]))
    assert "would " in subcog("import", "notes/locks.md", "--dry-run").out
    subcog("import", "notes/locks.md")
    assert [len(active_ids(subcog, word)) for word in (*NAMES, "Pilot")] == [1, 1, 0, 0, 1, 1]
    (row,) = [row for row in subcog("export").rows if row.get("triggers")]
    assert "winch" in row["content"]
    assert subcog("import", "notes/locks.md").out == "added 0, already there 3\n"
    subcog("import", "notes/locks.md", "--replace")
    assert [len(active_ids(subcog, word)) for word in NAMES] == [1, 1, 1, 1, 1]


def test_equal_headings_do_not_exchange_their_texts(subcog: Run, quay: Path) -> None:
    file = write_fixes(quay, LOCK_FIX, GATE_FIX)
    subcog("import", file)
    (lock,), (gate,) = active_ids(subcog, "lock"), active_ids(subcog, "gate")
    subcog("edit", gate, "--trigger", "april")
    subcog("forget", lock)
    write_fixes(quay, RADIO_FIX, LOCK_FIX, GATE_FIX)
    assert subcog("import", file).out.startswith("added 1")
    assert (active_ids(subcog, "lock"), active_ids(subcog, "gate"), len(active_ids(subcog, "radio"))) == ([], [gate], 1)
    (row,) = [row for row in subcog("export").rows if row.get("triggers")]
    assert "gate" in row["content"]
    write_fixes(quay, RADIO_FIX, GATE_FIX.replace("diver", "smith"))
    assert subcog("import", file).out == "added 0, replaced 1, already there 1\n"
    assert active_ids(subcog, "smith") == [gate]


def test_a_forgotten_text_stays_away_under_another_heading(subcog: Run, quay: Path) -> None:
    file = quay / "notes" / "locks.md"
    file.write_text(f"# Harbour\n\n## Open\n\n{LOCK_FIX * 4}\n## Open\n\n{GATE_FIX * 4}")
    subcog("import", "notes/locks.md")
    subcog("forget", *active_ids(subcog, "gate"))
    file.write_text(f"# Harbour\n\n## Open\n\n{GATE_FIX * 4}")
    assert subcog("import", "notes/locks.md").out == "added 0, archived 1, already there 1\n"
    assert active_ids(subcog, "Harbour") == []


def test_an_accepted_section_follows_its_file(subcog: Run, quay: Path, monkeypatch: MonkeyPatch) -> None:
    subcog("config", "set", "capture.agent", "pending")
    with monkeypatch.context() as agent:
        agent.setenv(IN_AN_AGENT, "1")
        subcog("import", "notes")
    ids = [row["id"] for row in subcog("export").rows]
    subcog("review", "--accept", ids[0], "--accept", ids[1])
    assert set(subcog("search", "harbour", "--ids").out.split()) == set(ids)
    (quay / "notes" / "locks.md").write_text(LOCKS.replace("morning", "evening"))
    assert subcog("import", "notes").out == "added 0, replaced 1, already there 1\n"
    assert ("evening" in contents(subcog), "morning" in contents(subcog)) == (True, False)


def test_an_undone_acceptance_leaves_a_section_to_its_file(subcog: Run, quay: Path, monkeypatch: MonkeyPatch) -> None:
    subcog("config", "set", "capture.agent", "pending")
    monkeypatch.setenv(IN_AN_AGENT, "1")
    subcog("import", "notes")
    with Store.writer(Home.find()) as store:
        section, _ = store.select(Filter(statuses=("pending",)))
        settlement = accept(store, [section])
        assert store.get(section.id).status == "active"
        undo(store, settlement)
        restored = store.get(section.id)
    assert (restored.status, restored.updated_at) == ("pending", section.updated_at)


def test_an_edit_while_a_file_is_imported_is_kept(subcog: Run, quay: Path, monkeypatch: MonkeyPatch) -> None:
    subcog("import", "notes")
    change_files(quay)
    write = Store.write_unless_changed

    def edit_and_write(store: Store, since: int, **changes: Any) -> bool:  # as another process does meanwhile
        monkeypatch.setattr(Store, "write_unless_changed", write)
        with Store.writer(Home.find()) as other:
            [edited] = [memory for memory in other.all(("active",)) if "lock" in memory.content]
            other.modify([edited.id], lambda memory: memory.with_changes(content="By hand.", updated_at=memory.updated_at + 1))
        return store.write_unless_changed(since, **changes)

    monkeypatch.setattr(Store, "write_unless_changed", edit_and_write)
    subcog("import", "--again")
    kept = contents(subcog)
    assert "By hand." in kept
    assert "gate" in kept
