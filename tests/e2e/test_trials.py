"""Copies of the store on which changes are tried, through the executable: none outlives its process, or a purge, for long."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, posix, wait_until, write_program

SECRET = "The winch of the north pier is called Gudrun."
FILLERS = ("Ropes are replaced every spring.", "Pilots come on board at buoy 4.", "Release notes are written by hand.")
KILLS = 12
LONG_S = 20.0  # for a process on a busy machine
NOTES = {"notes": [{"number": number, "questions": ["Who pulls the ships in?"]} for number in range(1, 5)]}

pytestmark = posix


@pytest.fixture
def trying(bare: Machine) -> Machine:
    """A machine with memories, whose owner has chosen a model that answers once there is a file with its answer.

    Temporary files have a folder of their own.
    """
    (bare.root / "tmp").mkdir()
    bare.environment["TMPDIR"] = str(bare.root / "tmp")
    for text in (SECRET, *FILLERS):
        assert bare.run("remember", text).code == 0
    client = write_program(bare.root / "claude", f"until cat {bare.root}/answer 2>{os.devnull}; do sleep 0.05; done")
    bare.configure(llm__at_rest="claude", llm__client=str(client))
    return bare


@contextmanager
def trial(machine: Machine) -> Iterator[subprocess.Popen[bytes]]:
    """A command that has copied the store, and waits for the model."""
    before = copies(machine)
    with machine.begin("enrich", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: bool(copies(machine) - before), LONG_S)
            yield process
        finally:
            process.kill()


def copies(machine: Machine) -> set[Path]:
    """The stores of memories below the machine's folders that are none of its own."""
    return {path for path in machine.root.rglob("memories.db") if path.parent != machine.home}


def holders(machine: Machine, text: str) -> list[Path]:
    """The files that hold a text, in whatever folder of the machine."""
    return [path for path in machine.root.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def id_of(machine: Machine, text: str) -> str:
    return str(machine.stored()[text]["id"])


def let_answer(machine: Machine) -> None:
    written = machine.root / "written"
    written.write_text(json.dumps({"is_error": False, "structured_output": NOTES}))
    written.rename(machine.root / "answer")


def test_what_killed_trials_have_left_goes_with_the_next_command(trying: Machine) -> None:
    for _ in range(KILLS):
        with trial(trying) as process:
            process.send_signal(signal.SIGKILL)
    (trying.home / "trials" / "of-the-clinic").mkdir()  # a folder of another name
    assert copies(trying)
    assert trying.run("list").code == 0
    assert copies(trying) == set()
    assert sorted(os.listdir(trying.home / "trials")) == ["making.lock", "of-the-clinic"]
    left = [path for path in (trying.root / "tmp").iterdir() if path.is_dir() or path.read_bytes() not in (b"", b"blat")]
    assert left == []  # tempfile writes "blat" to try a folder; a kill can leave that.


def test_a_text_that_is_purged_after_a_kill_is_nowhere(trying: Machine) -> None:
    id_ = id_of(trying, SECRET)
    with trial(trying) as process:
        process.send_signal(signal.SIGKILL)
    assert trying.run("forget", id_, "--purge", "--yes").code == 0
    assert holders(trying, "Gudrun") == []


def test_a_purge_during_a_trial_ends_the_trial(trying: Machine) -> None:
    id_ = id_of(trying, SECRET)
    with trial(trying) as process:
        assert trying.run("forget", id_, "--purge", "--yes").code == 0
        assert holders(trying, "Gudrun") == []
        let_answer(trying)
        said = process.communicate(timeout=LONG_S)[1]
    assert process.returncode == 3
    assert b"memories were purged meanwhile" in said
    assert copies(trying) == set()


def test_a_trial_under_way_is_private_left_alone_and_named(trying: Machine) -> None:
    with trial(trying):
        before = copies(trying)
        folders = [folder for copy in before for folder in (copy.parent, copy.parent.parent)]
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
        done = trying.run("doctor")
        assert copies(trying) == before
    assert b"a trial is under way on a copy of the store" in done.stdout
    assert b"left by killed trials: removed just now" in trying.run("doctor").stdout
    assert b"copy of the store" not in trying.run("doctor").stdout


# ---- texts in an editor ---------------------------------------------------------------------------------------------------


def set_editor(machine: Machine, script: str) -> None:
    machine.environment["EDITOR"] = str(write_program(machine.root / "editor", script))


def test_a_text_that_an_edit_has_left_is_named_and_purged(trying: Machine) -> None:
    id_ = id_of(trying, SECRET)
    set_editor(trying, 'sed -i "s/^priority: .*/priority: high/" "$1"; cp "$1" "$1~"')
    done = trying.run("edit", id_)
    assert done.code == 2
    (left,) = (trying.home / "edits").iterdir()
    assert str(left / f"{id_}.md").encode() in done.stderr
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    assert b"1 text of an unfinished edit is in" in trying.run("doctor").stdout
    assert trying.run("forget", id_, "--purge", "--yes").code == 0
    assert holders(trying, "Gudrun") == []


def test_an_editor_text_of_a_killed_command_is_purged(trying: Machine) -> None:
    id_ = id_of(trying, SECRET)
    set_editor(trying, f"touch {trying.root}/opened; kill -9 $PPID")
    trying.run("edit", id_)
    assert (trying.root / "opened").exists()
    assert os.listdir(trying.root / "tmp") == []
    assert b"1 text of an unfinished edit is in" in trying.run("doctor").stdout
    assert trying.run("forget", id_, "--purge", "--yes").code == 0
    assert holders(trying, "Gudrun") == []
    assert os.listdir(trying.home / "edits") == []
