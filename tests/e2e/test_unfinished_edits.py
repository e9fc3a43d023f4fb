"""The texts of unfinished edits, through the executable: none outlives a purge."""

import os
import stat
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, posix, write_program

SECRET = "The winch of the north pier is called Gudrun."

pytestmark = posix


@pytest.fixture
def noted(bare: Machine) -> Machine:
    """A machine with two memories. Temporary files have a folder of their own."""
    (bare.root / "tmp").mkdir()
    bare.environment["TMPDIR"] = str(bare.root / "tmp")
    for text in (SECRET, "Ropes are replaced every spring."):
        assert bare.run("remember", text).code == 0
    return bare


def holders(machine: Machine, text: str) -> list[Path]:
    """The files that hold a text, in whatever folder of the machine."""
    return [path for path in machine.root.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def id_of(machine: Machine, text: str) -> str:
    return str(machine.stored()[text]["id"])


def set_editor(machine: Machine, script: str) -> None:
    machine.environment["EDITOR"] = str(write_program(machine.root / "editor", script))


def test_a_text_that_an_edit_has_left_is_named_and_purged(noted: Machine) -> None:
    id_ = id_of(noted, SECRET)
    set_editor(noted, 'sed -i "s/^priority: .*/priority: high/" "$1"; cp "$1" "$1~"')
    done = noted.run("edit", id_)
    assert done.code == 2
    (left,) = (noted.home / "edits").iterdir()
    assert str(left / f"{id_}.md").encode() in done.stderr
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    assert b"1 text of an unfinished edit is in" in noted.run("doctor").stdout
    assert noted.run("forget", id_, "--purge", "--yes").code == 0
    assert holders(noted, "Gudrun") == []


def test_an_editor_text_of_a_killed_command_is_purged(noted: Machine) -> None:
    id_ = id_of(noted, SECRET)
    set_editor(noted, f"touch {noted.root}/opened; kill -9 $PPID")
    noted.run("edit", id_)
    assert (noted.root / "opened").exists()
    assert os.listdir(noted.root / "tmp") == []
    assert b"1 text of an unfinished edit is in" in noted.run("doctor").stdout
    assert noted.run("forget", id_, "--purge", "--yes").code == 0
    assert holders(noted, "Gudrun") == []
    assert os.listdir(noted.home / "edits") == []
