"""The installed executable, and files that a repository or an accident has put where it reads: nothing hangs or leaks."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.capture.sources.catalogue import SOURCE_NAMES
from tests.e2e.machine import ANSWER, QUESTION, REMOTE, Done, Machine, linux, posix

SECRET = "The launch code of the lighthouse is kept behind the third brick."
NOTE = "# Moorings\n\nThe dredging barge Ellida is moored at pier 7 from November on.\n"

# ---- import ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def notes(bare: Machine) -> Path:
    """A folder with one note, which `import` is given."""
    folder = bare.folder / "notes"
    folder.mkdir()
    (folder / "moorings.md").write_text(NOTE)
    return folder


@posix
def test_links_out_of_a_folder_and_pipes_are_named_and_left(bare: Machine, notes: Path) -> None:
    (bare.root / "private.md").write_text(f"# Private\n\n{SECRET}\n")
    (notes / "leak.md").symlink_to(bare.root / "private.md")
    (notes / "same.md").symlink_to(notes / "moorings.md")
    os.mkfifo(notes / "pipe.md")
    done = bare.run("import", str(notes))
    assert (done.code, b"same.md" in done.stderr) == (2, False)
    assert b"subcog: leak.md: is a link that leads out of the folder; it was left out\n" in done.stderr
    assert b"pipe.md: is no regular file" in done.stderr
    exported = bare.run("export").stdout
    assert (b"Ellida" in exported, b"lighthouse" in exported) == (True, False)


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:  # type: ignore[attr-defined,unused-ignore]  # not on Windows
        made.bind(path.name)


SPECIAL: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo if hasattr(os, "mkfifo") else Path.touch,
    "socket": _make_socket,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to("/dev/null"),
}


@posix
def test_no_special_file_is_waited_for(bare: Machine, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    monkeypatch.chdir(bare.folder)  # the path of a socket has at most 108 bytes
    for kind, make in SPECIAL.items():
        commands = [["import", name] for name in ("notes", "notes.md", "notes.jsonl", ".")]
        commands += [["import", "--from", name, "notes"] for name in (SOURCE_NAMES if kind == "pipe" else ())]
        for name in ("notes", "notes.md", "notes.jsonl"):
            (bare.folder / name).unlink(missing_ok=True)
            make(bare.folder / name)
        for command in commands:
            with subtests.test(kind=kind, command=command):
                done = bare.run(*command)
                assert (done.code, done.stderr.count(b"\n"), b"Error" in done.stderr) == (2, 1, False)


@linux
def test_an_open_pipe_is_read(bare: Machine) -> None:
    line = json.dumps({"id": "piped", "content": "The tide turns at six."})
    script = f"'{bare.command}' import <(echo '{line}') && echo '{line}' | '{bare.command}' import /dev/stdin"
    done = bare.start(["bash", "-c", script])
    assert done.stdout.splitlines() == [b"added 1", b"added 0, already there 1"]


def test_a_file_of_ten_gigabytes_is_refused_by_its_size(bare: Machine, notes: Path) -> None:
    sizes = (("large.md", b"more than 4,000,000 bytes"), ("large.jsonl", b"10,000,000,000 bytes, at most "))
    for name, size in sizes:
        with (notes / name).open("wb") as file:
            file.truncate(10_000_000_000)
        done = bare.run("import", str(notes / name))
        assert done.code == 2
        assert size in done.stderr
        assert (b"Error" in done.stderr, done.stderr.count(b"\n")) == (False, 1)


@posix
def test_a_line_without_end_is_refused_and_the_next_is_taken(bare: Machine) -> None:
    done = bare.run("import", "-", stdin=b'{"content": "' + b"x" * 9_000_000 + b'"}\n{"content": "The tide turns at six."}\n')
    assert done.code == 2
    assert b"standard input line 1: the line has more than 8,000,000 characters; split it\n" in done.stderr
    assert b"The tide turns at six." in bare.run("export").stdout


# ---- pipes where files are read -------------------------------------------------------------------------------------------


PIPES: dict[str, str] = {  # by what is read there: where it lies
    "project settings": "harbour/.subcog.toml",
    "git config": "harbour/.git/config",
    "HEAD": "harbour/.git/HEAD",
    "settings": "memories/config.toml",
    "state": "memories/state.db",
    "index": "memories/index/CURRENT",
}


@posix
@pytest.mark.parametrize("place", PIPES)
def test_a_pipe_hangs_neither_hook_nor_terminal(machine: Machine, place: str) -> None:
    repository = machine.repository("harbour", REMOTE)
    pipe = machine.root / PIPES[place]

    def make_pipe() -> None:
        for file in pipe.parent.glob(pipe.name + "*"):
            file.unlink()
        os.mkfifo(pipe)

    if place != "index":
        make_pipe()
        may_be_off = place == "settings"  # nobody can read there that the hook is on
        assert machine.recall(QUESTION, cwd=repository) == ([] if may_be_off else [ANSWER])
    for command in (("search", "--fast", "session", "token"), ("doctor",), ("why",)):
        make_pipe()
        assert b"Traceback" not in machine.run(*command, cwd=repository).stderr


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


def test_keys_of_a_projects_file_are_shown_as_escapes(bare: Machine, repository: Path) -> None:
    assert bare.run("remember", "The tide turns at six.").code == 0
    for command in ("config get search.limit", "doctor", "search --fast berths", "why how?"):
        done = bare.run(*command.split(), cwd=repository)
        assert_seen(done)
        said = done.stderr + done.stdout
        assert (b"is not a setting" in said, b"\nsubcog: all is well" in said) == (True, False), command
    bare.hook(bare.asking(QUESTION, cwd=repository))
    text = (bare.home / "log" / "hook.log").read_text(encoding="utf-8")
    assert not (OBEYED - {"\n"}) & set(text)
    assert "is not a setting" in text


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
