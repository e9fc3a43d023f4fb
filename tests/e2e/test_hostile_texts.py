"""The installed executable, and texts of a repository that would do something to a terminal or a log instead of being seen."""

import json
from pathlib import Path

import pytest

from tests.e2e.machine import QUESTION, REMOTE, Done, Machine, posix

EVIL = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\x85\u202egpj\u2066\u2028"  # sets a title, clears, colours, turns the writing, breaks lines
)
OBEYED = {
    *map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
}


def assert_seen(done: Done) -> None:
    """Nothing of what was printed is obeyed by a terminal, but for the ends of lines."""
    for stream in (done.stdout, done.stderr):
        assert not (OBEYED - {"\n", "\t"}) & set(stream.decode()), stream


@pytest.fixture
def repository(bare: Machine) -> Path:
    """A repository whose settings have keys that no setting has."""
    folder = bare.repository("harbour", REMOTE)
    (folder / ".subcog.toml").write_text(json.dumps(f"{EVIL}\nsubcog: all is well\n") + " = 1\n", encoding="utf-8")
    return folder


def test_keys_of_a_projects_file_are_shown_as_escapes(bare: Machine, repository: Path, subtests: pytest.Subtests) -> None:
    for command in ("config get search.limit", "doctor", "search --fast berths", "why how?"):
        with subtests.test(command=command):
            done = bare.run(*command.split(), cwd=repository)
            assert_seen(done)
            said = done.stderr + done.stdout
            assert b"is not a setting" in said
            assert b"\nsubcog: all is well" not in said


def test_keys_of_a_projects_file_are_one_line_of_the_log(bare: Machine, repository: Path) -> None:
    assert bare.run("remember", "The tide turns at six.").code == 0
    for _ in range(5):  # a busy machine may need more than the hook's deadline
        bare.hook(bare.asking(QUESTION, cwd=repository))
        if (log := bare.home / "log" / "hook.log").exists():
            break
    text = log.read_text(encoding="utf-8")
    assert not (OBEYED - {"\n"}) & set(text)
    assert all("is not a setting" in line for line in text.splitlines())


@posix
def test_names_of_files_and_fields_are_shown_as_escapes(bare: Machine) -> None:
    folder = bare.folder / "notes"
    folder.mkdir()
    (folder / f"{EVIL.replace('/', '')}\nsubcog: done.md").write_bytes(b"\xff\0\xfe")
    done = bare.run("import", str(folder))
    assert (done.code, done.stderr.count(b"\n")) == (2, 1)
    assert_seen(done)
    done = bare.run("import", "-", stdin=json.dumps({"content": "The tide turns.", f"{EVIL}\nx": 1, "y" * 5_000: 2}).encode())
    assert b"fields without a meaning were left out: " in done.stderr
    assert (done.stderr.count(b"\n"), len(done.stderr) < 500) == (1, True)
    assert_seen(done)


def test_what_is_stored_is_printed_as_escapes(bare: Machine, subtests: pytest.Subtests) -> None:
    row = {"id": "evil", "content": f"The dredger {EVIL} is moored.", "tags": [f"tag{EVIL}"], "source": f"notes{EVIL}"}
    bare.imports(row)
    searches = [f"search dredger --fast {form}" for form in ("--json", "--jsonl", "--explain")]
    for command in (*searches, "list --jsonl", "list", "show evil --json", "show evil", "export"):
        with subtests.test(command=command):
            done = bare.run(*command.split())
            assert b"dredger" in done.stdout
            assert_seen(done)
    first = bare.run("export").stdout  # comes back byte for byte
    assert bare.run("forget", "evil", "--purge", "--yes").code == 0
    assert bare.run("import", "-", "--trust", "user", stdin=first).code == 0
    assert bare.run("export").stdout == first
    assert "\x9b31m" in json.loads(first)["content"]
