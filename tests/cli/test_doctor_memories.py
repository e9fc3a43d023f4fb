"""`doctor --memories`: memories that need attention, each with a command. Nothing is changed."""

import json
from pathlib import Path

from subcog_hooks.cli.doctor_memories import (
    CONTRADICTION,
    DUPLICATE,
    YEAR_MS,
    HandOvers,
    NearPair,
    Use,
    compare_pairs,
    find_unused,
)
from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests.cli.conftest import Run
from tests.conftest import Maker


def import_rows(subcog: Run, tmp_path: Path, *rows: dict[str, object]) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = subcog("import", "rows.jsonl", "--wait")
    assert done.code == 0, done.err


def test_what_says_the_same_or_the_opposite_is_found_by_meaning(subcog: Run, tmp_path: Path) -> None:
    import_rows(
        subcog,
        tmp_path,
        {"id": "run-old", "content": "Run Python through uv instead of python or python3.", "created_at": "2026-01-01"},
        {"id": "run-new", "content": "Use uv to run Python.", "created_at": "2026-02-01"},
        {"id": "wait-old", "content": "The request timeout of the API is 30 seconds.", "created_at": "2026-01-01"},
        {"id": "wait-new", "content": "The request timeout of the API is 10 seconds.", "created_at": "2026-02-01"},
        {"id": "alone", "content": "Cranes in the harbour are painted yellow.", "created_at": "2026-02-01"},
        {"id": "theirs", "content": "Use uv to run Python.", "project": "github.com/acme/a", "created_at": "2026-03-01"},
        {"id": "others", "content": "The request timeout of the API is 5 seconds.", "project": "github.com/acme/b"},
        {"id": "others2", "content": "Deploys happen on Mondays.", "project": "github.com/acme/a"},
        {"id": "others3", "content": "Deploys happen on Mondays.", "project": "github.com/acme/b"},
    )
    before = subcog("export").out
    done = subcog("doctor", "--memories")
    assert done.code == 0
    assert "subcog supersede run-old run-new" in done.out
    assert "subcog supersede wait-old wait-new" in done.out
    assert "30 seconds there" in done.out.replace("30 s there", "30 seconds there")
    assert "subcog supersede theirs run-new" in done.out  # a user's memory counts in every project
    assert "alone" not in done.out
    assert "others2" not in done.out  # two projects' memories are no duplicates
    assert subcog("export").out == before
    assert subcog("supersede", "run-old", "run-new").code == 0
    assert "supersede run-old run-new" not in subcog("doctor", "--memories").out


def test_expired_memories_are_named(subcog: Run, tmp_path: Path) -> None:
    import_rows(
        subcog,
        tmp_path,
        {"id": "over", "content": "The freeze lasts until Friday.", "expires_at": "2026-01-02"},
        {"id": "fine", "content": "Never push on a Friday."},
    )
    out = subcog("doctor", "--memories").out
    assert "it expired on 2026-01-02\n      subcog forget over" in out
    assert "fine" not in out


def test_unused_for_a_year_is_shown_only_with_a_years_records(make: Maker) -> None:
    now = 4 * YEAR_MS
    old = [make("x", id=name, created_at=YEAR_MS, updated_at=YEAR_MS) for name in ("never", "long ago", "lately")]
    by_id = {"long ago": HandOvers(2, 2 * YEAR_MS), "lately": HandOvers(1, now - 1)}
    findings = find_unused(old, Use(by_id, 0), now)
    assert [(finding.memories[0].id, finding.command) for finding in findings] == [
        ("never", "subcog forget never"),
        ("long ago", "subcog forget long ago"),
    ]
    assert find_unused(old, Use(by_id, now - 1), now) == []


def test_contradictions_and_other_numbers_are_no_duplicates(make: Maker) -> None:
    def kinds(old: str, new: str, cosine: float) -> list[str]:
        return [finding.kind for finding in compare_pairs([NearPair(make(old, id="a"), make(new, id="b"), cosine)])]

    assert kinds("We squash commits before merging.", "We do not squash commits before merging.", 0.97) == [CONTRADICTION]
    assert kinds("Staging runs on port 5432.", "Staging runs on port 5433.", 0.97) == [CONTRADICTION]
    assert kinds("The staging host runs on port 5432.", "The production host runs on port 5433.", 0.97) == []
    assert kinds("Use tabs in Rust files.", "Do not use tabs in Python files.", 0.8) == []
    assert kinds("Fixed BUG #1052 in the walker", "Fixed BUG #1089 in the walker", 0.97) == []
    assert kinds("Use uv to run Python.", "Run Python through uv.", 0.9) == [DUPLICATE]
    assert kinds("Use uv to run Python.", "Run Python through uv.", 0.7) == []
    assert kinds("long " * 200, "also long " * 100, 0.9) == []


def test_no_command_replaces_a_users_memory_by_a_projects(make: Maker) -> None:
    def command(old: str, new: str, old_of: str | None, new_of: str | None) -> str:
        pair = NearPair(make(old, id="a", project=old_of), make(new, id="b", project=new_of), 0.9)
        return compare_pairs([pair])[0].command

    same = "Use uv to run Python.", "Run Python through uv."
    assert command(*same, None, "p") == "subcog supersede b a"
    assert command(*same, "p", None) == command(*same, None, None) == command(*same, "p", "p") == "subcog supersede a b"
    otherwise = "We squash commits before merging.", "We do not squash commits before merging."
    assert command(*otherwise, None, "p") == "subcog edit a"
    assert command(*otherwise, "p", None) == command(*otherwise, "p", "p") == "subcog supersede a b"


def test_memories_without_a_vector_are_embedded_first(subcog: Run, home: Home, make: Maker) -> None:
    assert subcog("doctor", "--memories").code == 1  # It needs a store, and goes alone.
    assert subcog("doctor", "--memories", "--fix").code == 2
    with Store.writer(home) as store:
        store.add([make(f"Crane {number} lifts {number} tonnes.", id=f"crane-{number}") for number in range(38)])
        store.add([make("Run Python through uv instead of python or python3.", id="one")])
        store.add([make("Use uv to run Python.", id="two")])
    done = subcog("doctor", "--memories")
    assert ("subcog supersede one two" in done.out, "--fix" in done.err, "not compared" in done.err) == (True, False, False)
