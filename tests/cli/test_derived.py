"""Tables that the store derives from memories: room for triggers, `doctor --fix`."""

import json
from pathlib import Path

import apsw

from subcog_hooks.core.paths import Home
from subcog_hooks.store import lookups
from subcog_hooks.store.store import MAX_UNKEYED, Store
from subcog_hooks.store.store_reader import audiences_of
from tests.cli.conftest import Run

USER = audiences_of()


def rows(*numbers: int) -> str:
    """Write a file of memories, each with a trigger without a literal, and return its path."""
    lines = (
        json.dumps({"id": f"m{number}", "content": f"Note {number}.", "triggers": [rf"\d\d{{{number}}}"]}) for number in numbers
    )
    Path("rows.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return "rows.jsonl"


def patterns(home: Home) -> set[str]:
    """Return the triggers that any text may match."""
    with Store.reader(home) as store:
        return {trigger.pattern for trigger in lookups.find_triggers(store, [], USER, "")}


def test_an_import_refuses_only_the_lines_beyond_the_room(subcog: Run, home: Home) -> None:
    subcog("import", rows(1, 2))
    done = subcog("import", rows(*range(3, MAX_UNKEYED + 3)))
    assert done.code == 2
    assert done.out.startswith(f"added {MAX_UNKEYED - 2} ")
    assert "refused 2" in done.out
    assert [line.split(":")[1].strip() for line in done.err.splitlines() if line.startswith("subcog: ")] == [
        *("rows.jsonl line 49", "rows.jsonl line 50")
    ]
    assert len(patterns(home)) == MAX_UNKEYED


def test_a_dry_run_says_the_same(subcog: Run) -> None:
    done = subcog("import", rows(*range(1, MAX_UNKEYED + 2)), "--dry-run")
    assert "would add 50 (for all your projects: 50), refused 1" in done.out
    assert f"line {MAX_UNKEYED + 1}: triggers has" in done.err


def test_replacing_takes_no_more_room_than_there_was(subcog: Run, home: Home) -> None:
    subcog("import", rows(*range(1, MAX_UNKEYED + 1)))
    Path("changed.jsonl").write_text(
        "".join(
            json.dumps({"id": f"m{number}", "content": "Changed.", "triggers": [rf"\w\w{{{number}}}", "word"]}) + "\n"
            for number in (1, 2)
        ),
        encoding="utf-8",
    )
    assert subcog("import", "changed.jsonl", "--replace").code == 0
    assert len(patterns(home)) == MAX_UNKEYED
    assert r"\d\d{1}" not in patterns(home)


def test_one_too_many_is_one_line(subcog: Run) -> None:
    subcog("import", rows(*range(1, MAX_UNKEYED + 1)))
    assert subcog("import", rows(99)).err == (
        r"subcog: rows.jsonl line 1: triggers has '\\d\\d{99}', which no word must be in, and there are 50 of that kind"
        " already; give it a word of three or more letters that each match has\n"
    )


def test_fix_derives_them_anew(subcog: Run, home: Home) -> None:
    subcog("import", rows(1))
    connection = apsw.Connection(home.memories_db)
    connection.execute("DELETE FROM triggers")
    connection.close()
    assert patterns(home) == set()
    assert subcog("doctor", "--fix").code == 0
    assert patterns(home) == {r"\d\d{1}"}
