"""Tables that the store derives from memories: room for triggers, `doctor --fix`."""

import json
from pathlib import Path

import apsw

from subcog_hooks.core.paths import Home
from subcog_hooks.store.cue_tables import MAX_UNKEYED
from subcog_hooks.store.store import Store
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
        return {trigger.pattern for trigger in store.triggers([], USER, "")}


def test_an_import_refuses_only_the_lines_beyond_the_room(subcog: Run, home: Home) -> None:
    subcog("import", rows(1, 2))
    more = rows(*range(3, MAX_UNKEYED + 3))
    assert f"would add {MAX_UNKEYED - 2} " in subcog("import", more, "--dry-run").out
    done = subcog("import", more)
    assert (done.code, done.out.startswith(f"added {MAX_UNKEYED - 2} "), "refused 2" in done.out) == (2, True, True)
    refused = [line for line in done.err.splitlines() if line.startswith("subcog: ")]
    assert [line.split(":")[1].strip() for line in refused] == ["rows.jsonl line 49", "rows.jsonl line 50"]
    assert refused[0] == (
        r"subcog: rows.jsonl line 49: triggers has '\\d\\d{51}', which no word must be in, and there are 50 of that kind"
        " already; give it a word of three or more letters that each match has"
    )
    assert len(patterns(home)) == MAX_UNKEYED
    changed = [{"id": f"m{number}", "content": "Changed.", "triggers": [rf"\w\w{{{number}}}", "word"]} for number in (1, 2)]
    Path("changed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed), encoding="utf-8")
    assert subcog("import", "changed.jsonl", "--replace").code == 0  # It takes no more room than there was.
    assert (len(patterns(home)), r"\d\d{1}" in patterns(home)) == (MAX_UNKEYED, False)


def test_fix_derives_them_anew(subcog: Run, home: Home) -> None:
    subcog("import", rows(1))
    connection = apsw.Connection(home.memories_db)
    connection.execute("DELETE FROM triggers")
    connection.close()
    assert patterns(home) == set()
    assert subcog("doctor", "--fix").code == 0
    assert patterns(home) == {r"\d\d{1}"}
