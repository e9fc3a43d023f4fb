"""The installed executable where state.db or the store are not as they should be."""

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.e2e.machine import ANSWER, QUESTION, Machine, assert_one_line_error, assert_silent, context_of, ids_in, posix
from tests.e2e.test_damage import UNUSABLE, as_ordinary_user, read_only

# ---- a state.db that can not be used --------------------------------------------------------------------------------------


def make_full_folder(path: Path) -> None:
    remove(path)
    path.mkdir()
    (path / "kept").write_text("something")


def make_foreign_alone(path: Path) -> None:
    remove(path, "-wal", "-shm")
    UNUSABLE["another program's"](path)


def remove(path: Path, *suffixes: str) -> None:
    for suffix in suffixes or ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "damage", [UNUSABLE["newer"], make_foreign_alone, make_full_folder], ids=["newer", "foreign", "folder"]
)
def test_a_state_that_can_not_be_used_costs_no_memories(machine: Machine, damage: Callable[[Path], object]) -> None:
    state = machine.home / "state.db"
    damage(state)
    if damage is not make_foreign_alone:
        assert_one_line_error(machine.run("pause"), 3)
    assert machine.recall(QUESTION, session="one") == [ANSWER]
    assert "state.db" in (machine.home / "log" / "hook.log").read_text()
    if damage is make_full_folder:
        out = machine.run("doctor").stdout.decode()
        assert "state.db cannot be opened: it is a folder; move it away; until then the hook hands over again" in out
        assert "ok  hook ran in" in out  # The checks behind it are made, too.
        return
    assert machine.recall(QUESTION, session="one") == []


@posix
def test_an_unwritable_state_is_still_read(machine: Machine) -> None:
    assert machine.recall(QUESTION, session="one") == [ANSWER]
    with read_only(machine.home):
        ordinary = as_ordinary_user(machine)
    apsw.Connection(str(machine.home / "state.db")).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    remove(machine.home / "state.db", "-wal", "-shm")
    (machine.home / "state.db").chmod(0o400)
    hook = [*ordinary, machine.command, "hook"]
    assert ids_in(context_of(machine.start(hook, machine.asking(session="two")))) == [ANSWER]
    assert machine.start(hook, machine.asking(session="one")).stdout == b""
    log = (machine.home / "log" / "hook.log").read_text()
    assert "state.db cannot be written; check its permissions; the hook goes on without it" in log
    assert_one_line_error(machine.start([*ordinary, machine.command, "pause"]), 3)


# ---- a process that is stopped while it writes ----------------------------------------------------------------------------


# ---- a clock that jumps ---------------------------------------------------------------------------------------------------


# ---- a store that has lost all --------------------------------------------------------------------------------------------


def test_an_emptied_store_is_an_error_and_silence(machine: Machine, subtests: pytest.Subtests) -> None:
    remove(machine.home / "memories.db", "-wal", "-shm")
    (machine.home / "memories.db").write_bytes(b"")
    for command in ("search --fast session", "remember text", "export", "import -", "doctor --fix"):
        with subtests.test(command=command):
            done = machine.run(*command.split())
            assert_one_line_error(done, 3)
            assert b"memories.db is empty, but the index has memories; restore a backup" in done.stderr
            assert (machine.home / "memories.db").stat().st_size == 0
    assert_silent(machine.prompt(QUESTION))
    assert any("memories.db is empty" in line for line in machine.log())


def test_a_missing_store_is_an_error_until_its_index_is_deleted(machine: Machine) -> None:
    remove(machine.home / "memories.db", "", "-wal", "-shm")
    for command in ("remember text", "list", "export -"):
        done = machine.run(*command.split())
        assert_one_line_error(done, 3)
        assert b"memories.db is missing, but the index has memories; restore a backup, or delete " in done.stderr
    assert_silent(machine.prompt(QUESTION))
    shutil.rmtree(machine.home / "index")
    assert machine.run("remember", "text").code == 0
