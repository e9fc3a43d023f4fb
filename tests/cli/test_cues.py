"""Keywords, triggers, paths, conditions and priority on the terminal: set, change, remove, show, search."""

import stat
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from tests.cli.conftest import MonkeyPatch, Run, show_json

KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"
GIVEN = (
    *("--keyword", "rollout", "--trigger", r"deploy(s|ed)?\b", "--trigger", "ship it"),
    *("--path", "src/{db,api}/**", "--path", "*.sql"),
    *("--when", "branch=main", "--when", "prompts>=3", "--when", "prompts<=9", "--when", "clinician_mode"),
    *("--priority", "95"),
)
FIELDS = {
    "keywords": ["rollout"],
    "triggers": [r"deploy(s|ed)?\b", "ship it"],
    "paths": ["src/{db,api}/**", "*.sql"],
    "when": {"branch": "main", "prompts": {"gte": 3, "lte": 9}, "clinician_mode": True},
    "priority": 95,
}


def fields(subcog: Run, id_: str) -> dict[str, object]:
    """Return a memory's fields that this module is about."""
    return {name: value for name, value in show_json(subcog, id_).items() if name in FIELDS}


@pytest.fixture
def memory_id(subcog: Run) -> str:
    """Return the id of a memory that has all of the fields."""
    return subcog("remember", "Deploys go out on Tuesdays", *GIVEN).out.strip()


def edit_with(subcog: Run, id_: str, monkeypatch: MonkeyPatch, script: str) -> str:
    """Return the messages of `edit` with this shell command on the file $1 as the editor."""
    path = Path("editor")
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(path.absolute()))
    return subcog("edit", id_).err


def test_a_memory_is_remembered_with_all_that_calls_it_up(subcog: Run, memory_id: str) -> None:
    assert fields(subcog, memory_id) == FIELDS
    assert show_json(subcog, memory_id)["trust"] == "user"


def test_what_does_not_hold_is_one_line_and_changes_nothing(subcog: Run, memory_id: str) -> None:
    before = subcog("export").out
    for arguments, message in (
        (["--trigger", "deploy("], "triggers has 'deploy('"),
        (["--trigger", "", "--trigger", "ok"], "triggers has the entry ''"),
        (["--path", "../up/*"], "paths has '../up/*'"),
        (["--keyword", " ", "--keyword", "k"], "keywords has the entry ' '"),
        (["--when", "branch"], "when has 'branch'"),
        (["--when", "prompts>=many"], "when has 'prompts'"),
        (["--when", "branch=main", "--when", "branch=dev"], "when has 'branch'"),
        (["--priority", "101"], "Invalid value for '--priority'"),
        (["--priority", "high"], "Invalid value for '--priority'"),
    ):
        for command, to in (("remember", "new"), ("edit", memory_id)):
            done = subcog(command, to, *arguments)
            assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
            assert message in done.err
    assert subcog("export").out == before


def test_secrets_do_not_get_in_by_these_fields(subcog: Run) -> None:
    memory_id = ("--trigger", KEY, "--keyword", KEY, "--path", f"src/{KEY}", "--when", f"mood={KEY}")
    done = subcog("remember", "all is well", *memory_id)
    assert (done.code, done.err.splitlines()[0]) == (0, "removed 4 AWS access keys, 1 path and 1 trigger")
    assert KEY not in done.err
    assert KEY not in subcog("export").out
    assert fields(subcog, done.out.strip()).keys() == {"keywords", "when"}


def test_an_unusable_state_does_not_prevent_remembering(subcog: Run, home: Home) -> None:
    Path(home.state_db).mkdir(parents=True)
    done = subcog("remember", "text", "--when", "calm")
    assert (done.code, fields(subcog, done.out.strip())) == (0, {"when": {"calm": True}})


def test_an_option_of_edit_replaces_its_field_alone(subcog: Run, memory_id: str) -> None:
    done = subcog("edit", memory_id, "--trigger", "release", "--when", "tool=Bash", "--priority", "40")
    assert (done.code, done.err.splitlines()) == (
        0,
        [
            "  priority: 40 (before: 95)",
            "  trigger: release (before: deploy(s|ed)?\\b; ship it)",
            "  when: tool=Bash (before: branch=main; prompts>=3; prompts<=9; clinician_mode)",
        ],
    )
    assert fields(subcog, memory_id) == {**FIELDS, "triggers": ["release"], "when": {"tool": "Bash"}, "priority": 40}


def test_an_empty_text_takes_all_of_a_field_away(subcog: Run, memory_id: str) -> None:
    left = dict(FIELDS)
    for option, field in (("--trigger", "triggers"), ("--keyword", "keywords"), ("--path", "paths"), ("--when", "when")):
        assert subcog("edit", memory_id, option, "").code == 0
        del left[field]
        assert fields(subcog, memory_id) == left
    subcog("edit", memory_id, "--priority", "0")
    assert fields(subcog, memory_id) == {}


def test_the_editor_leaves_alone_what_was_not_changed(subcog: Run, memory_id: str, monkeypatch: MonkeyPatch) -> None:
    subcog("edit", memory_id, "--trigger", "  two  blanks", "--trigger", "a\nb", "--when", 'mood="7"')
    before = subcog("export").out
    assert edit_with(subcog, memory_id, monkeypatch, "true") == "nothing changed\n"
    assert subcog("export").out == before
    edit_with(subcog, memory_id, monkeypatch, "sed -i 's/^trigger: two.*/&\\ntrigger: third/' \"$1\"")
    assert fields(subcog, memory_id)["triggers"] == ["  two  blanks", "third", "a\nb"]
    assert fields(subcog, memory_id)["when"] == {"mood": "7"}


def test_the_editor_has_a_line_for_each_entry(subcog: Run, memory_id: str, monkeypatch: MonkeyPatch) -> None:
    change = "sed -i '/^trigger: ship/d; s/^when: branch=.*/when: branch=dev,main/' \"$1\""
    edit_with(subcog, memory_id, monkeypatch, f'cat "$1" > seen; {change}')
    names = ("trigger", "path", "when", "priority")
    assert [line for line in Path("seen").read_text().splitlines() if line.startswith(names)] == [
        "priority: 95",
        r"trigger: deploy(s|ed)?\b",
        "trigger: ship it",
        "path: src/{db,api}/**",
        "path: *.sql",
        "when: branch=main",
        "when: prompts>=3",
        "when: prompts<=9",
        "when: clinician_mode",
    ]
    when = {"branch": ["dev", "main"], "prompts": {"gte": 3, "lte": 9}, "clinician_mode": True}
    assert fields(subcog, memory_id) == {**FIELDS, "triggers": [r"deploy(s|ed)?\b"], "when": when}


@pytest.fixture
def imported_id(subcog: Run) -> str:
    """Return the id of a memory from somebody else's file, which asked for more than it may have."""
    Path("rows.jsonl").write_text('{"id": "theirs", "content": "x", "priority": 100, "trust": "user"}\n')
    assert subcog("import", "rows.jsonl").code == 0
    return "theirs"


def test_an_imported_memory_is_pinned_only_when_vouched_for(subcog: Run, imported_id: str) -> None:
    assert (show_json(subcog, imported_id)["priority"], show_json(subcog, imported_id)["trust"]) == (89, "import")
    done = subcog("edit", imported_id, "--priority", "90")
    assert done.code == 2
    assert done.err == (
        "subcog: priority is 90 and trust is import, which may have 89 at most; "
        "`subcog edit theirs --priority 90 --trust user` vouches for it\n"
    )
    assert subcog("edit", imported_id, "--priority", "90", "--trust", "user").code == 0
    assert (show_json(subcog, imported_id)["priority"], show_json(subcog, imported_id)["trust"]) == (90, "user")


def test_neither_the_editor_nor_another_trust_pins_it(subcog: Run, imported_id: str, monkeypatch: MonkeyPatch) -> None:
    printed = edit_with(subcog, imported_id, monkeypatch, "sed -i 's/^priority: .*/priority: 90/' \"$1\"")
    assert "priority is 90 and trust is import" in printed
    assert show_json(subcog, imported_id)["priority"] == 89
    done = subcog("edit", imported_id, "--trust", "team")
    assert (done.code, done.err) == (2, "subcog: --trust is 'team'; expected user\n")


def test_all_of_it_is_shown(subcog: Run, memory_id: str) -> None:
    lines = subcog("show", memory_id).out.split("keywords", 1)[1].split("trust")[0].split("\n")
    assert [line for line in lines if not line.startswith("standing")] == [  # as its text has it
        "      rollout",
        r"triggers      deploy(s|ed)?\b",
        "              ship it",
        "paths         src/{db,api}/**",
        "              *.sql",
        "when          branch=main",
        "              prompts>=3",
        "              prompts<=9",
        "              clinician_mode",
        "priority      95, pinned",
        "",
    ]


def test_a_list_is_narrowed_by_what_calls_a_memory_up(subcog: Run, memory_id: str) -> None:
    subcog("remember", "Something else", "--trigger", "release", "--path", "docs/*.md")
    for arguments in (
        ["--trigger", "we DEPLOYED it"],
        ["--path", "src/db/pool.py"],
        ["--path", "deep/down/schema.sql"],
        ["--trigger", "please ship it", "--path", "src/api/a/b.py"],
    ):
        assert subcog("list", "--ids", *arguments).out.split() == [memory_id]
    for arguments in (["--trigger", "unrelated"], ["--path", "src/ui/a.py"]):
        done = subcog("list", *arguments)
        assert (done.code, done.err) == (1, "no memories\n")


def test_a_glob_of_the_home_folder_is_held_against_full_paths(subcog: Run, tmp_path: Path) -> None:
    id_ = subcog("remember", "Tides are written down daily", "--path", "~/notes/*.md").out.strip()
    assert subcog("list", "--ids", "--path", str(tmp_path / "notes" / "tides.md")).out.split() == [id_]
    assert subcog("list", "--path", "notes/tides.md").code == 1


def test_a_narrowed_list_has_pages(subcog: Run) -> None:
    for number in range(4):
        subcog("remember", f"note {number}", "--trigger", "tide")
    subcog("remember", "other")
    first, second = (subcog("list", "--trigger", "the tide", "-n", "3", "--page", page) for page in "12")
    assert [line.split()[-1] for line in (first.out + second.out).splitlines()] == ["3", "2", "1", "0"]
    assert (first.err, second.err) == ("3 of 4; --page 2 shows more\n", "the last of 4\n")


def test_a_search_for_a_file_heeds_globs_from_the_projects_root(
    subcog: Run, memory_id: str, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "db").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "db" / "pool.py").touch()
    monkeypatch.chdir(tmp_path / "shop" / "src")
    for path in ("db/pool.py", "src/db/pool.py", "src/api/a/b.py", str(tmp_path / "shop" / "src" / "db" / "new.py"), "x.sql"):
        assert subcog("search", "deploys", "--ids", "--fast", "--path", path).out.split() == [memory_id]
    for path in ("pool.py", "src/ui/a.py", "db/new.py"):
        assert subcog("list", "--path", path).code == 1
