"""`import` and `export`: round trips, refusals by the line, trust, Markdown folders."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from subcog_hooks.core.paths import Home
from subcog_hooks.store import lookups
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audiences_of
from tests.cli.conftest import MonkeyPatch, Run

DATA = Path(__file__).parent.parent / "data"
KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"

EVERYTHING = {
    "id": "all-fields",
    "content": 'Größe: 東京 "quoted"\nsecond line\ttab',
    "namespace": "my-own.space",
    "project": "github.com/acme/shop",
    "branch": "main",
    "tags": ["a", "b"],
    "keywords": ["k"],
    "questions": ["who?", {"text": "when?", "by": "agent"}],
    "triggers": ["err(or)?"],
    "paths": ["src/**/*.py"],
    "when": {"branch": ["x", "y"], "n": 1, "prompts": {"gte": 3, "not": [5, 7]}, "file": {"not": {"glob": "**/*.md"}}},
    "priority": 95,
    "standing": True,
    "created_at": "2026-03-02T10:00:00.123Z",
    "updated_at": "2026-03-03T10:00:00Z",
    "expires_at": "2099-01-01T00:00:00Z",
    "status": "superseded",
    "superseded_by": "other",
    "source": "notes.md:3",
    "trust": "team",
}


def write(rows: Sequence[object], path: str = "rows.jsonl") -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)
    return path


def test_a_round_trip_gives_identical_bytes(subcog: Run, monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    subcog("import", str(DATA / "memories.jsonl"), "--trust", "user")
    subcog("import", write([EVERYTHING, {"content": "org wide", "scope": "org", "id": "org"}]), "--trust", "user")
    subcog("remember", "one more, made here")
    assert subcog("export", "first.jsonl").code == 0
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path / "other"))
    assert subcog("import", "first.jsonl", "--trust", "user").code == 0
    subcog("export", "second.jsonl")
    assert Path("first.jsonl").read_bytes() == Path("second.jsonl").read_bytes()
    assert len(Path("first.jsonl").read_bytes().splitlines()) > 40
    assert subcog("show", "all-fields", "--json").json == EVERYTHING


def test_the_same_id_is_skipped_refused_or_replaced(subcog: Run) -> None:
    subcog("import", write([{"id": "a", "content": "one"}]))
    same = subcog("import", write([{"id": "a", "content": "one"}]))
    assert (same.code, same.out) == (0, "added 0, already there 1\n")
    other = subcog("import", write([{"id": "a", "content": "two"}, {"id": "b", "content": "three"}]))
    assert (other.code, other.out) == (2, "added 1, refused 1\n")
    assert other.err == "subcog: rows.jsonl line 1: the id a is taken by another content; use --replace to overwrite it\n"
    replaced = subcog("import", write([{"id": "a", "content": "two"}]), "--replace")
    assert (replaced.code, replaced.out) == (0, "added 0, replaced 1\n")
    assert subcog("search", "--mode", "lexical", "--ids", "two").out == "a\n"
    assert subcog("search", "--mode", "lexical", "--ids", "one").code == 1


def test_rows_are_added_once_with_and_without_an_id(subcog: Run) -> None:
    rows = [{"content": "one"}, {"content": "one"}, {"content": "one", "project": "p"}]
    assert subcog("import", write(rows)).out == "added 2, already there 1\n"
    assert subcog("import", write(rows)).out == "added 0, already there 3\n"
    rows = [{"id": "a", "content": content} for content in ("two", "two", "three")]
    assert subcog("import", write(rows)).out == "added 1, already there 1, refused 1\n"


def test_an_invalid_line_is_named_and_the_others_are_stored(subcog: Run) -> None:
    cases = (
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "there is no content"),
        ('{"content": 3}', "content is 3; expected a text"),
        ('{"content": "x", "tags": "auth"}', 'tags is "auth"; expected a list of texts'),
        ('{"content": "x", "created_at": "soon"}', 'created_at is "soon"; expected ISO 8601'),
        ('{"content": "x", "scope": "project"}', "only scope project has a project"),
        ('{"content": "x", "id": "a b"}', "id is 'a b'"),
        ('{"content": "x", "id": "--help"}', "id is '--help'"),
        ('{"content": "x", "id": ".."}', "id is '..'"),
        ('{"content": "<private>x</private>"}', "content is empty"),
        ('{"content": "x", "triggers": ["deploy", "("]}', "triggers has '('"),
        ('{"content": "x", "paths": ["src/[ab", "*.sql"]}', "paths has 'src/[ab'"),
        ('{"content": "x", "questions": "who?"}', 'questions is "who?"; expected a list of texts'),
        ('{"content": "x", "questions": [{"text": "who?", "by": "me"}]}', 'or of objects such as {"text"'),
        ('{"content": "x", "questions": ["1", "2", "3", "4", "5", "6", "7", "8", "9"]}', "there are 9 questions, at most 8"),
    )
    lines = [line for line, _ in cases]
    done = subcog("import", write([{"id": "good", "content": "fine"}, *lines, {"id": "also", "content": "good"}]))
    messages = dict(line.removeprefix("subcog: rows.jsonl line ").split(": ", 1) for line in done.err.splitlines())
    assert (done.code, len(messages)) == (2, len(cases))
    for number, (line, expected) in enumerate(cases, 2):
        assert expected in messages[str(number)], line
    assert sorted(subcog("list", "--ids").out.split()) == ["also", "good"]


def test_odd_bytes_and_unknown_fields_stop_no_import(subcog: Run) -> None:
    odd = b'{"id": "a", "content": "x \\ud800 y", "colour": "blue", "content_hash": "z"}\n'
    Path("rows.jsonl").write_bytes(b'{"content": "\xff"}\n{"id": "good", "content": "fine \xf0\x9f\x98\x80"}\r\n\n' + odd)
    done = subcog("import", "rows.jsonl")
    assert "line 1: not UTF-8 at character 14" in done.err
    assert "fields without a meaning were left out: colour\n" in done.err
    assert {row["id"]: row["content"] for row in subcog("export").rows} == {"good": "fine \U0001f600", "a": "x \ufffd y"}
    for encoding, mark in (("utf-16", ""), ("utf-16-be", "\ufeff")):
        Path("memories.jsonl").write_bytes(f'{mark}{{"content": "Größe in {encoding}"}}\r\n'.encode(encoding))
        assert subcog("import", "memories.jsonl").out == "added 1\n"
    assert {"Größe in utf-16", "Größe in utf-16-be"} <= {row["content"] for row in subcog("export").rows}


def test_secrets_are_removed_counted_and_never_named(subcog: Run) -> None:
    done = subcog("import", write([{"id": f"m{i}", "content": f"The nightly backup job logs in as {KEY}"} for i in range(3)]))
    assert "removed 3 AWS access keys" in done.err
    assert KEY not in subcog("export").out
    done = subcog("import", write([{"id": "a", "content": "x", "triggers": [f"{KEY}("]}]))
    assert KEY not in done.err
    assert "removed 1 AWS access key and 1 trigger" in done.err
    assert "triggers" not in subcog("show", "a", "--json").json


def test_a_dry_run_stores_nothing_not_even_a_home(subcog: Run, tmp_path: Path) -> None:
    done = subcog("import", write([{"content": "x"}]), "--dry-run")
    assert (done.code, done.out) == (0, "x  (rows.jsonl line 1)\nwould add 1\n")
    assert not (tmp_path / "subcog").exists()


def test_a_file_that_can_not_be_imported_is_named(subcog: Run) -> None:
    done = subcog("import", "nowhere.jsonl")
    assert (done.code, done.err) == (2, "subcog: nowhere.jsonl does not exist; give a .jsonl file, a .md file or a folder\n")
    Path("notes.txt").write_text("hello")
    done = subcog("import", "notes.txt")
    assert (done.code, "is neither JSONL nor Markdown by its name" in done.err) == (2, True)
    assert subcog("import", "").err.startswith("subcog: nothing to import is named")


def test_export_writes_all_projects_but_not_what_was_forgotten(subcog: Run) -> None:
    subcog(
        "import", write([{"id": "a", "content": "x", "project": "p"}, {"id": "b", "content": "y"}, {"id": "c", "content": "z"}])
    )
    subcog("forget", "c")
    assert [json.loads(line)["id"] for line in subcog("export").out.splitlines()] == ["a", "b"]
    assert [json.loads(line)["id"] for line in subcog("export", "--deleted").out.splitlines()] == ["a", "b", "c"]


def test_dates_that_can_not_be_written_are_refused(subcog: Run) -> None:
    done = subcog("import", write([{"content": "x", "created_at": "0001-01-01T00:00:00+14:00"}]))
    assert "created_at is outside of the years 1 to 9999" in done.err
    id_ = subcog("remember", "Sessions last an hour").out.strip()
    for text in ("99999999d", "999999999999999999999d", "9999-12-31T23:00-12:00", "\u00b2d", "2020-01-01", "0d"):
        for command in (("remember", "text"), ("edit", id_)):
            done = subcog(*command, "--expires", text)
            assert (done.code, done.err.count("\n"), f"--expires is {text}" in done.err.replace("'", "")) == (2, 1, True)
    assert subcog("export").code == 0


def test_export_follows_links_and_writes_to_pipes_as_they_are(subcog: Run, tmp_path: Path) -> None:
    subcog("remember", "text")
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    subcog("export", "link")
    assert (tmp_path / "link").is_symlink()
    assert '"content": "text"' in (tmp_path / "target").read_text()
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert subcog("export", "pipe").code == 0
    assert b'"content": "text"' in os.read(reader, 1000)
    os.close(reader)
    (tmp_path / "folder").mkdir()
    done = subcog("export", "folder")
    assert (done.code, "folder is a folder" in done.err, done.err.count("\n")) == (2, True, 1)
    assert not (tmp_path / "folder.partial").exists()


def test_a_damaged_store_exports_what_can_be_read(subcog: Run, home: Home) -> None:
    subcog("import", write([{"id": f"m{i:04}", "content": f"fact {i} " + "about tides " * 30} for i in range(400)]))
    subcog("export", "backup.jsonl")
    before = Path("backup.jsonl").read_bytes()
    with open(home.memories_db, "r+b") as file:
        file.seek(43 * 4096)
        file.write(b"\xff" * 8192)
    assert subcog("export", "backup.jsonl").code == 3
    assert Path("backup.jsonl").read_bytes() == before
    assert len(Path("backup.jsonl.salvaged").read_text().splitlines()) > 300
    done = subcog("export")
    assert "; the rest was exported" in done.err
    assert 300 < len(done.out.splitlines()) < 400


def test_a_projects_url_is_taken_apart_on_the_way_in(subcog: Run) -> None:
    token = "ghp_" + "a1B2" * 9
    row = {"id": "a", "content": "x", "project": f"https://u:{token}@github.com/Acme/Shop.git"}
    subcog("import", write([row, '{"id": "b", "content": "y", "project": "a\\ud800"}']))
    assert token not in subcog("export").out
    assert subcog("show", "a", "--json").json["project"] == "github.com/acme/shop"


def test_an_export_of_nothing_leaves_an_older_one_alone(subcog: Run) -> None:
    Path("backup.jsonl").write_text("precious")
    done = subcog("export", "backup.jsonl")
    assert (done.code, done.err) == (1, "no memories\n")
    assert Path("backup.jsonl").read_text() == "precious"
    subcog("remember", "Berths are long")
    done = subcog("export", "backup.jsonl", "--project", "github.com/acme/typo")
    assert (done.code, "no memories of github.com/acme/typo\n" in done.err) == (1, True)
    assert Path("backup.jsonl").read_text() == "precious"


def test_a_forgotten_memory_comes_back_only_by_replace(subcog: Run) -> None:
    id_ = subcog("remember", "Berths are long").out.strip()
    subcog("export", "backup.jsonl")
    subcog("forget", id_)
    done = subcog("import", "backup.jsonl", "--trust", "user")
    assert done.out == "added 0, forgotten here 1 (--replace brings them back)\n"
    assert subcog("import", "backup.jsonl", "--trust", "user", "--replace").out == "added 0, replaced 1\n"
    assert subcog("list", "--ids").out.strip() == id_


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


def test_fix_derives_them_anew(subcog: Run, home: Home) -> None:
    subcog("import", rows(1))
    connection = apsw.Connection(home.memories_db)
    connection.execute("DELETE FROM triggers")
    connection.close()
    assert patterns(home) == set()
    assert subcog("doctor", "--fix").code == 0
    assert patterns(home) == {r"\d\d{1}"}
