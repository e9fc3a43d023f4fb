"""`import` and `export`: round trips, refusals by the line, trust, Markdown folders."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from subcog_hooks.capture import importing
from subcog_hooks.paths import Home
from tests.cli.conftest import Run

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


def test_a_round_trip_through_an_empty_home_gives_identical_bytes(
    subcog: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    subcog("import", str(DATA / "memories.jsonl"), "--trust", "user")
    subcog("import", write([EVERYTHING, {"content": "org wide", "scope": "org", "id": "org"}]), "--trust", "user")
    subcog("remember", "one more, made here")
    assert subcog("export", "first.jsonl").code == 0
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path / "other"))
    assert subcog("import", "first.jsonl", "--trust", "user").code == 0
    subcog("export", "second.jsonl")
    assert Path("first.jsonl").read_bytes() == Path("second.jsonl").read_bytes()
    assert len(Path("first.jsonl").read_bytes().splitlines()) > 40


def test_every_field_comes_back(subcog: Run) -> None:
    subcog("import", write([EVERYTHING]), "--trust", "user")
    assert json.loads(subcog("show", "all-fields", "--json").out) == EVERYTHING


def test_a_file_can_not_raise_its_own_trust(subcog: Run) -> None:
    subcog(
        "import",
        write([{"id": "a", "content": "x", "trust": "user", "priority": 100}, {"id": "b", "content": "y", "trust": "team"}]),
    )
    a, b = (json.loads(subcog("show", name, "--json").out) for name in "ab")
    assert (a["trust"], a["priority"]) == ("import", 89)
    assert b["trust"] == "team"


def test_the_same_id_is_skipped_refused_or_replaced(subcog: Run) -> None:
    subcog("import", write([{"id": "a", "content": "one"}]))
    same = subcog("import", write([{"id": "a", "content": "one"}]))
    assert (same.code, same.out) == (0, "added 0, already there 1\n")
    other = subcog("import", write([{"id": "a", "content": "two"}, {"id": "b", "content": "three"}]))
    assert (other.code, other.out) == (2, "added 1 (for all your projects: 1), refused 1\n")
    assert other.err == "subcog: rows.jsonl line 1: the id a is taken by another content; use --replace to overwrite it\n"
    replaced = subcog("import", write([{"id": "a", "content": "two"}]), "--replace")
    assert (replaced.code, replaced.out) == (0, "added 0, replaced 1\n")
    assert subcog("search", "--mode", "lexical", "--ids", "two").out == "a\n"
    assert subcog("search", "--mode", "lexical", "--ids", "one").code == 1


def test_rows_without_an_id_are_added_once(subcog: Run) -> None:
    rows = [{"content": "one"}, {"content": "one"}, {"content": "one", "project": "p"}]
    assert subcog("import", write(rows)).out == "added 2 (for all your projects: 1, p: 1), already there 1\n"
    assert subcog("import", write(rows)).out == "added 0, already there 3\n"


def test_an_id_twice_in_one_file_holds_to_the_same_rules(subcog: Run) -> None:
    done = subcog(
        "import", write([{"id": "a", "content": "one"}, {"id": "a", "content": "one"}, {"id": "a", "content": "two"}])
    )
    assert done.out == "added 1 (for all your projects: 1), already there 1, refused 1\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "there is no content"),
        ('{"content": 3}', "content is 3; expected a text"),
        ('{"content": "x", "tags": "auth"}', 'tags is "auth"; expected a list of texts'),
        ('{"content": "x", "created_at": "soon"}', 'created_at is "soon"; expected ISO 8601'),
        ('{"content": "x", "priority": "high"}', 'priority is "high"'),
        ('{"content": "x", "scope": "project"}', "only scope project has a project"),
        ('{"content": "x", "id": "a b"}', "id is 'a b'"),
        ('{"content": "x", "triggers": ["("], "when": {"calm": true}}', "triggers has '('"),
        ('{"content": "x", "triggers": ["("], "namespace": "No!"}', "namespace is 'No!'"),
        ('{"content": "x", "when": []}', "when is []"),
        ('{"content": "x", "when": {"source": "reboot"}}', "when has 'source'"),
        ('{"content": "x", "when": {"branch": {"like": "a"}}}', "when has 'branch'"),
        ('{"content": "x", "priority": 101}', "priority is 101; expected 0 to 100"),
        ('{"content": "<private>x</private>"}', "content is empty"),
        ('{"content": "x", "questions": "who?"}', 'questions is "who?"; expected a list of texts'),
        ('{"content": "x", "questions": [{"text": "who?", "by": "me"}]}', 'or of objects such as {"text"'),
        ('{"content": "x", "questions": ["1", "2", "3", "4", "5", "6", "7", "8", "9"]}', "there are 9 questions, at most 8"),
    ],
)
def test_a_line_that_does_not_hold_is_named_and_the_others_are_stored(subcog: Run, line: str, said: str) -> None:
    done = subcog("import", write([{"id": "good", "content": "fine"}, line, {"id": "also", "content": "good"}]))
    assert done.code == 2
    assert done.err.startswith("subcog: rows.jsonl line 2: ")
    assert said in done.err
    assert sorted(subcog("list", "--ids").out.split()) == ["also", "good"]


def test_a_trigger_or_a_path_that_does_not_hold_is_left_out_of_its_line(subcog: Run) -> None:
    cues = {"triggers": ["deploy", "a(?=b)", "("], "paths": ["src/[ab", "*.sql"]}
    done = subcog("import", write([{"id": "a", "content": "x", **cues}, {"id": "b", "content": "y", "triggers": ["("]}]))
    assert (done.code, done.out) == (2, "added 2 (for all your projects: 2)\n")
    told = done.err.splitlines()
    assert [line.partition(" has ")[0] for line in told] == [
        *["subcog: rows.jsonl line 1: triggers"] * 2,
        "subcog: rows.jsonl line 1: paths",
        "subcog: rows.jsonl line 2: triggers",
    ]
    assert all(line.endswith("; the rest of it is kept") for line in told)
    a, b = (json.loads(subcog("show", name, "--json").out) for name in "ab")
    assert (a["triggers"], a["paths"], "triggers" in b) == (["deploy"], ["*.sql"], False)


@pytest.mark.parametrize("narrowed", [{"when": {"calm": True}}, {"priority": 95}])
def test_a_line_is_refused_where_without_its_trigger_it_would_come_more_often(subcog: Run, narrowed: dict[str, object]) -> None:
    line: dict[str, object] = {"id": "a", "content": "x", "triggers": ["("], **narrowed}
    done = subcog("import", write([line]), "--trust", "user")
    assert (done.code, done.out) == (2, "added 0, refused 1\n")
    line["paths"] = ["*.sql"]
    assert subcog("import", write([line]), "--trust", "user").out == "added 1 (for all your projects: 1)\n"


def test_a_trigger_with_a_secret_is_not_named_by_its_fault(subcog: Run) -> None:
    done = subcog("import", write([{"id": "a", "content": "x", "triggers": [f"{KEY}(", "("]}]))
    assert KEY not in done.err
    assert "removed 1 AWS access key and 1 trigger" in done.err
    assert "triggers" not in json.loads(subcog("show", "a", "--json").out)


def test_bytes_that_are_not_utf8_stop_their_line_only(subcog: Run) -> None:
    Path("rows.jsonl").write_bytes(b'{"content": "\xff"}\n{"id": "good", "content": "fine \xf0\x9f\x98\x80"}\r\n\n')
    done = subcog("import", "rows.jsonl")
    assert "line 1: not UTF-8 at character 14" in done.err
    assert subcog("list", "--ids").out == "good\n"


def test_lone_surrogates_and_unknown_fields_do_not_stop_an_import(subcog: Run) -> None:
    done = subcog("import", write(['{"id": "a", "content": "x \\ud800 y", "colour": "blue", "content_hash": "z"}']))
    assert done.err == "fields without a meaning were left out: colour\n"
    assert json.loads(subcog("show", "a", "--json").out)["content"] == "x \ufffd y"


def test_secrets_are_removed_on_the_way_in_and_counted(subcog: Run) -> None:
    done = subcog("import", write([{"id": f"m{i}", "content": f"key {KEY}"} for i in range(3)]))
    assert "removed 3 AWS access keys" in done.err
    assert KEY not in subcog("export").out


def test_a_dry_run_stores_nothing_not_even_a_home(subcog: Run, tmp_path: Path) -> None:
    done = subcog("import", write([{"content": "x"}]), "--dry-run")
    assert (done.code, done.out) == (0, "would add 1 (for all your projects: 1)\n")
    assert not (tmp_path / "subcog").exists()


def test_a_missing_file_is_one_line(subcog: Run) -> None:
    done = subcog("import", "nowhere.jsonl")
    assert (done.code, done.err) == (2, "subcog: nowhere.jsonl does not exist; give a .jsonl file, a .md file or a folder\n")


def test_a_folder_of_decision_records_becomes_decisions(subcog: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    done = subcog("import", str(DATA / "adr"))
    assert done.code == 0
    rows = [json.loads(line) for line in subcog("export").out.splitlines()]
    assert {row["namespace"] for row in rows} == {"decisions"}
    assert {row["trust"] for row in rows} == {"file"}
    assert {row["project"] for row in rows} == {str(project)}
    assert all("/adr/0" in row["source"] for row in rows)
    again = subcog("import", str(DATA / "adr"))
    assert again.out == f"added 0, already there {len(rows)}\n"


def test_a_folder_without_markdown_is_refused(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = subcog("import", "empty")
    assert (done.code, done.err) == (2, "subcog: empty holds no Markdown; give a folder of .md files, or a .jsonl file\n")


def test_export_writes_all_projects_but_not_what_was_forgotten(subcog: Run) -> None:
    subcog(
        "import", write([{"id": "a", "content": "x", "project": "p"}, {"id": "b", "content": "y"}, {"id": "c", "content": "z"}])
    )
    subcog("forget", "c")
    assert [json.loads(line)["id"] for line in subcog("export").out.splitlines()] == ["a", "b"]
    assert [json.loads(line)["id"] for line in subcog("export", "--deleted").out.splitlines()] == ["a", "b", "c"]


def test_a_file_that_can_not_be_written_is_one_line(subcog: Run) -> None:
    subcog("remember", "x")
    done = subcog("export", "/nowhere/at/all.jsonl")
    assert done.code == 2
    assert (
        done.err
        == "subcog: /nowhere/at/all.jsonl can not be written: No such file or directory; check the folder and the disk\n"
    )


def test_reindex_builds_the_index_from_the_store(subcog: Run, tmp_path: Path) -> None:
    subcog("import", write([{"id": "a", "content": "alpha"}, {"id": "b", "content": "beta"}]))
    for path in (tmp_path / "subcog" / "index").rglob("*.term"):
        path.unlink()
    assert subcog("reindex").out == "indexed 2 memories\n"
    assert subcog("search", "--mode", "lexical", "--ids", "alpha").out == "a\n"


def test_markdown_imported_again_is_updated_and_what_is_gone_is_archived(subcog: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    text = "# Notes\n\n## Locks\n\nThe harbour lock opens at six in the morning, before the first tide of the day comes in.\n\n"
    gone = "## Cranes\n\nThe crane of the east quay lifts forty tonnes and is serviced by the yard every second month.\n"
    notes.write_text(text + gone)
    subcog("import", "notes.md")
    notes.write_text(text.replace("six", "five"))
    done = subcog("import", "notes.md")
    assert (done.code, done.out) == (0, "added 0, replaced 1, archived 1\n")
    assert "at five" in subcog("search", "harbour lock").out
    assert subcog("search", "crane").code == 1
    assert subcog("search", "crane", "--status", "archived").code == 0


def test_a_superseded_decision_record_comes_in_as_superseded(subcog: Run, tmp_path: Path) -> None:
    record = (
        "# 3. Use RabbitMQ\n\n## Status\n\nSuperseded by 4\n\n## Context\n\nWe needed a queue between the shop and the yard.\n"
    )
    (tmp_path / "0003-rabbit.md").write_text(record)
    subcog("import", "0003-rabbit.md")
    assert {json.loads(line)["status"] for line in subcog("export").out.splitlines()} == {"superseded"}


def test_standard_input_can_be_imported(subcog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write([{"id": "a", "content": "x"}])
    with open(path, encoding="utf-8") as file:
        monkeypatch.setattr("subcog_hooks.capture.importing.sys.stdin", file)
        monkeypatch.setattr("tests.cli.conftest.sys.stdin", file)
        importing.run("-", None, importing.Options(dry_run=True), lambda _: None)


def test_a_file_of_another_kind_is_refused_by_its_name(subcog: Run) -> None:
    Path("notes.txt").write_text("hello")
    done = subcog("import", "notes.txt")
    assert (done.code, "is neither JSONL nor Markdown by its name" in done.err) == (2, True)


def test_secrets_in_conditions_are_removed_and_what_json_can_not_say_is_refused(subcog: Run) -> None:
    done = subcog(
        "import", write([{"id": "a", "content": "x", "when": {"k": KEY}}, '{"id": "b", "content": "y", "when": {"k": NaN}}'])
    )
    assert "line 2: when has 'k'" in done.err
    assert KEY not in subcog("export").out


def test_dates_that_can_not_be_written_are_refused(subcog: Run) -> None:
    done = subcog("import", write([{"content": "x", "created_at": "0001-01-01T00:00:00+14:00"}]))
    assert "created_at is outside of the years 1 to 9999" in done.err
    for text in ("99999999d", "999999999999999999999d", "\u00b2d", "2020-01-01", "0d"):
        assert subcog("remember", "x", "--expires", text).code == 2
    assert subcog("export").code == 0


def test_export_follows_links_and_writes_to_pipes_as_they_are(subcog: Run, tmp_path: Path) -> None:
    subcog("remember", "x")
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    subcog("export", "link")
    assert (tmp_path / "link").is_symlink()
    assert '"content": "x"' in (tmp_path / "target").read_text()
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert subcog("export", "pipe").code == 0
    assert b'"content": "x"' in os.read(reader, 1000)
    os.close(reader)
    (tmp_path / "folder").mkdir()
    assert subcog("export", "folder").code == 2
    assert not (tmp_path / "folder.partial").exists()


def test_a_damaged_store_still_exports_what_can_be_read(subcog: Run, home: Home) -> None:
    rows = [{"id": f"m{i:04}", "content": f"fact {i} " + "about tides " * 30} for i in range(400)]
    subcog("import", write(rows))
    with open(home.memories_db, "r+b") as file:
        file.seek(40 * 4096)
        file.write(b"\xff" * 8192)
    done = subcog("export")
    assert "exported is what can be read" in done.err
    assert 300 < len(done.out.splitlines()) < 400


def test_an_export_of_some_sections_archives_no_others_and_replaces_none_unasked(subcog: Run, tmp_path: Path) -> None:
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
    """The sections in the store, by the last word of their first line."""
    rows = map(json.loads, subcog("export", "--deleted").out.splitlines())
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
    """The id of a section to which the user has added all that calls a memory up."""
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
@pytest.mark.parametrize("replace", [[], ["--replace"]])
def test_what_the_user_has_added_to_a_section_stays_when_its_text_changes(
    subcog: Run, tmp_path: Path, replace: list[str]
) -> None:
    (tmp_path / "notes.md").write_text(SECTIONS.replace("morning", "evening"))
    done = subcog("import", "notes.md", *replace)
    assert (done.code, done.err) == (0, "")
    assert "evening" in str(sections(subcog)["Locks"]["content"])
    assert cues_of(subcog) == ADDED
    assert subcog("import", "notes.md", *replace).out == "added 0, already there 2\n"


def test_a_text_that_was_edited_waits_for_replace_whatever_else_was_added(subcog: Run, lock: str, tmp_path: Path) -> None:
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


def test_a_section_with_additions_that_is_gone_is_archived_and_comes_back_with_them(
    subcog: Run, lock: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("")
    assert "archived 2" in subcog("import", "notes.md").out
    (tmp_path / "notes.md").write_text(SECTIONS)
    assert "replaced 2" in subcog("import", "notes.md").out
    assert cues_of(subcog) == ADDED


def test_front_matter_that_changes_arrives(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(SECTIONS)
    subcog("import", "notes.md")
    (tmp_path / "notes.md").write_text("---\ntags: [cache]\n---\n" + SECTIONS)
    assert "replaced 2" in subcog("import", "notes.md").out
    assert sections(subcog)["Locks"]["tags"] == ["cache"]


def test_an_emptied_file_archives_its_sections(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(SECTIONS)
    subcog("import", "notes.md")
    (tmp_path / "notes.md").write_text("")
    assert "archived 2" in subcog("import", "notes.md").out


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (
            "---\nstatus: superseded by ADR-0005\n---\n# 4. Use Kafka\n\n## Context\n\n" + "We needed a queue. " * 9,
            "superseded",
        ),
        ("# 4. Use Kafka\n\nStatus: Rejected\n\n## Context\n\n" + "We needed a queue. " * 9, "archived"),
        (
            "# Payments\n\nStatus rejected means that the payment was refused by the bank of the customer, who is told so.\n",
            "active",
        ),
        (
            "# Config\n\n```yaml\nstatus: deprecated\n```\n\nis how a feature is marked, in the file of its own team.\n",
            "active",
        ),
        ("# Decision log\n\nStatus: Rejected\n" + "Kafka. " * 20 + "\n\nStatus: Accepted\n" + "Rabbit. " * 20, "active"),
    ],
)
def test_the_status_of_a_record_is_its_own_words_only(subcog: Run, tmp_path: Path, text: str, status: str) -> None:
    (tmp_path / "0004-queue.md").write_text(text) if "Kafka\n" in text else (tmp_path / "notes.md").write_text(text)
    subcog("import", ".")
    assert {json.loads(line).get("status", "active") for line in subcog("export").out.splitlines()} == {status}


def test_a_damaged_store_does_not_replace_an_older_export(subcog: Run, home: Home) -> None:
    subcog("import", write([{"id": f"m{i:04}", "content": f"fact {i} " + "about tides " * 30} for i in range(400)]))
    subcog("export", "backup.jsonl")
    before = Path("backup.jsonl").read_bytes()
    with open(home.memories_db, "r+b") as file:
        file.seek(40 * 4096)
        file.write(b"\xff" * 8192)
    assert subcog("export", "backup.jsonl").code == 3
    assert Path("backup.jsonl").read_bytes() == before
    assert len(Path("backup.jsonl.salvaged").read_text().splitlines()) > 300


def test_a_projects_url_is_taken_apart_on_the_way_in(subcog: Run) -> None:
    token = "ghp_" + "a1B2" * 9
    subcog(
        "import",
        write(
            [
                {"id": "a", "content": "x", "project": f"https://u:{token}@github.com/Acme/Shop.git"},
                '{"id": "b", "content": "y", "project": "a\\ud800"}',
            ]
        ),
    )
    assert token not in subcog("export").out
    assert json.loads(subcog("show", "a", "--json").out)["project"] == "github.com/acme/shop"


def test_a_project_that_gets_a_remote_has_its_sections_once(subcog: Run, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes.md").write_text(SECTIONS)
    subcog("import", "notes.md")
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    assert "archived 2" in subcog("import", "notes.md").out
    assert len(subcog("list", "--ids").out.split()) == 2


def test_an_export_of_nothing_leaves_an_older_one_alone(subcog: Run) -> None:
    Path("backup.jsonl").write_text("precious")
    done = subcog("export", "backup.jsonl")
    assert (done.code, done.err) == (1, "no memories\n")
    assert Path("backup.jsonl").read_text() == "precious"


def test_a_forgotten_section_stays_forgotten_whatever_its_file_says(subcog: Run, tmp_path: Path) -> None:
    record = "# 3. Use RabbitMQ\n\nStatus: Accepted\n\n## Context\n\nWe needed a queue between shop and yard.\n"
    (tmp_path / "0003-rabbit.md").write_text(record)
    subcog("import", "0003-rabbit.md")
    subcog("forget", *subcog("list", "--ids").out.split())
    (tmp_path / "0003-rabbit.md").write_text(record.replace("Accepted", "Superseded by 4"))
    done = subcog("import", "0003-rabbit.md")
    assert (done.code, done.err) == (0, "")
    assert {json.loads(line)["status"] for line in subcog("export", "--deleted").out.splitlines()} == {"deleted"}


def test_an_entity_is_imported_found_and_exported_as_a_memory(subcog: Run) -> None:
    entity = {
        "entity_id": "harbour_calm",
        "entity_type": "HANDLER",
        "recognition": "How to speak with a skipper who is upset.",
        "keywords": "mooring rage, breathe",
        "trigger_patterns": ["(about to|gonna) (snap|explode)"],
        "state_conditions": {"clinician_mode": True},
    }
    Path("entities.jsonl").write_text(json.dumps(entity) + "\n", encoding="utf-8")
    assert subcog("import", "entities.jsonl").code == 0
    for query in ("mooring rage", "he is about to explode"):
        assert subcog("search", query, "--fast", "--ids", "-n", "1").out == "harbour_calm\n"
    for value, found in (("true", "harbour_calm\n"), ("false", "")):
        assert subcog("search", "mooring rage", "--fast", "--ids", "--state", f"clinician_mode={value}").out == found
    line = json.loads(subcog("export").out)
    assert (line["id"], line["keywords"], line["namespace"]) == ("harbour_calm", ["mooring rage", "breathe"], "handler")
    assert subcog("import", "entities.jsonl").code == 0  # the same again is skipped
