"""The installed executable in homes that are missing, read-only, full, locked or damaged: hook silent, terminal clear."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tests.e2e.machine import (
    ABOUT_IT,
    ANSWER,
    CONTENT,
    QUESTION,
    Machine,
    assert_harmless,
    assert_one_line_error,
    assert_silent,
    linux,
    posix,
)

# ---- a home that can not be used ------------------------------------------------------------------------------------------


def test_missing_home_prints_nothing_and_is_not_made(bare: Machine) -> None:
    assert_silent(bare.prompt(QUESTION))
    assert not bare.home.exists()


def test_missing_store_is_nothing_found_in_the_terminal(bare: Machine) -> None:
    assert (bare.run("search", "--fast", "x").code, bare.home.exists()) == (1, False)


def test_home_that_is_a_file_prints_nothing(bare: Machine) -> None:
    bare.home.write_bytes(b"a file")
    assert_silent(bare.prompt(QUESTION))
    assert bare.home.read_bytes() == b"a file"


def test_home_that_is_a_file_is_one_line_in_the_terminal(bare: Machine) -> None:
    bare.home.write_bytes(b"a file")
    assert_one_line_error(bare.run("remember", CONTENT), 3)


@posix
@pytest.mark.parametrize("user_home", ["", "relative", "/nowhere/at/all"])
def test_useless_home_of_the_user_prints_nothing(machine: Machine, user_home: str) -> None:
    del machine.environment["SUBCOG_HOME"]
    machine.environment["HOME"] = user_home
    assert_silent(machine.prompt(QUESTION))


@linux
def test_no_home_of_the_user_at_all_prints_nothing(machine: Machine) -> None:
    nobody = ["unshare", "--user", "--map-user=54321"]  # a user whom the system does not know
    if not works([*nobody, machine.command, "--version"], machine):
        pytest.skip("user namespaces can not be made here")
    del machine.environment["SUBCOG_HOME"]
    del machine.environment["HOME"]
    assert_silent(machine.start([*nobody, machine.command, "hook"], machine.asking()))
    assert_one_line_error(machine.start([*nobody, machine.command, "search", "--fast", "x"]), 3)


@posix
def test_read_only_home_does_no_harm(machine: Machine) -> None:
    with read_only(machine.home):
        started = [*as_ordinary_user(machine), machine.command, "hook"]
        assert_harmless(machine.start(started, machine.asking()))


@posix
def test_read_only_home_can_be_searched(machine: Machine) -> None:
    with read_only(machine.home):
        done = machine.start(
            [*as_ordinary_user(machine), machine.command, "search", "--fast", "session", "token", "--ids", "-n", "1"]
        )
    assert (done.code, done.stdout, done.stderr) == (0, ANSWER.encode() + b"\n", b"")


@posix
def test_read_only_home_refuses_a_memory_in_one_line(machine: Machine) -> None:
    with read_only(machine.home):
        assert_one_line_error(machine.start([*as_ordinary_user(machine), machine.command, "remember", CONTENT]), 3)


@posix
def test_unreadable_home_does_no_harm(machine: Machine) -> None:
    machine.home.chmod(0)
    try:
        done = machine.start([*as_ordinary_user(machine), machine.command, "hook"], machine.asking())
    finally:
        machine.home.chmod(0o700)
    assert_silent(done)


@posix
def test_files_that_can_not_grow_do_no_harm(machine: Machine) -> None:
    command = ["/bin/sh", "-c", 'ulimit -f 0 && exec "$0" hook', machine.command]
    assert_harmless(machine.start(command, machine.asking()))
    assert machine.recall(QUESTION) == [ANSWER]


@posix
def test_files_that_can_not_grow_refuse_a_memory_in_one_line(machine: Machine) -> None:
    done = machine.start(["/bin/sh", "-c", 'ulimit -f 0 && exec "$0" remember "$1"', machine.command, CONTENT])
    assert_one_line_error(done, 3)
    assert machine.recall(QUESTION) == [ANSWER]


MOUNT = 'mount -t tmpfs -o size=1m none "$2" && cp -R "$1/." "$2" && { cat /dev/zero > "$2/zeros" 2>/dev/null || :; }'
ON_FULL_DISK = MOUNT + ' && SUBCOG_HOME="$2" exec "$0" '


@linux
@pytest.mark.parametrize("after_a_hook", [False, True], ids=["fresh", "after a hook"])
def test_full_disk_does_no_harm(machine: Machine, after_a_hook: bool) -> None:
    if not after_a_hook:
        for file in machine.home.glob("state.db*"):
            file.unlink()
    command = [*on_disk_of_its_own(machine), ON_FULL_DISK + "hook", *disk(machine)]
    assert_harmless(machine.start(command, machine.asking()))


@linux
def test_full_disk_refuses_a_memory_in_one_line(machine: Machine) -> None:
    command = [*on_disk_of_its_own(machine), ON_FULL_DISK + f"remember '{CONTENT}'", *disk(machine)]
    assert_one_line_error(machine.start(command), 3)


def on_disk_of_its_own(machine: Machine) -> list[str]:
    """A shell that may mount, and whose mounts go away with it."""
    (machine.root / "disk").mkdir()
    for namespace in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        shell = [*namespace, "/bin/sh", "-c"]
        if works([*shell, 'mount -t tmpfs -o size=1m none "$0"', str(machine.root / "disk")], machine):
            return shell
    pytest.skip("file systems can not be mounted here")


def disk(machine: Machine) -> list[str]:
    """The arguments of ON_FULL_DISK."""
    return [machine.command, str(machine.home), str(machine.root / "disk")]


def as_ordinary_user(machine: Machine) -> list[str]:
    """The command that makes file modes hold for another one, root included."""
    if os.geteuid() != 0:
        return []
    without = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if not works([*without, "/bin/sh", "-c", 'test ! -w "$0"', str(machine.home)], machine):
        pytest.skip("file modes do not hold for root")
    return without


def works(command: Sequence[str], machine: Machine) -> bool:
    return shutil.which(command[0]) is not None and machine.start(command).code == 0


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """`folder` and all in it, without the right to write."""
    entries = [folder, *folder.rglob("*")]
    for entry in entries:
        entry.chmod(0o500 if entry.is_dir() else 0o400)
    try:
        yield
    finally:
        for entry in entries:
            entry.chmod(0o700 if entry.is_dir() else 0o600)


# ---- a damaged database ---------------------------------------------------------------------------------------------------


def as_garbage(database: Path) -> None:
    database.write_bytes(b"garbage " * 4_096)


def as_garbage_behind_the_header(database: Path) -> None:
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(100)
        file.write(b"garbage " * ((size - 100) // 8))


def as_truncated(database: Path) -> None:
    os.truncate(database, max(1_000, database.stat().st_size // 2))


def as_folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


def as_another_programs(database: Path) -> None:
    _write_another_programs(database, version=0)


def as_another_programs_with_a_version(database: Path) -> None:
    _write_another_programs(database, version=1)


def _write_another_programs(database: Path, version: int) -> None:
    database.unlink()
    connection = apsw.Connection(str(database))
    connection.execute(f"CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup'); PRAGMA user_version={version}")
    connection.close()


def as_newer(database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA user_version = 999")
    connection.close()


def as_older(database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA user_version = 1")
    connection.close()


Damage = Callable[[Path], None]
BEYOND_REPAIR: list[Damage] = [as_garbage, as_garbage_behind_the_header, as_truncated, as_another_programs]
UNUSABLE: list[Damage] = [*BEYOND_REPAIR, as_another_programs_with_a_version, as_folder, as_newer, as_older]


def name_of(damage: Damage) -> str:
    return damage.__name__.removeprefix("as_").replace("_", " ")


def spoil(database: Path, damage: Damage, *, with_log: bool = False) -> bytes:
    """Damage a database; without its write-ahead log, unless that is kept. What it holds then, b"" for a folder."""
    if not with_log:
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
    damage(database)
    return database.read_bytes() if database.is_file() else b""


@pytest.mark.parametrize("damage", UNUSABLE, ids=name_of)
def test_unusable_store_prints_nothing(machine: Machine, damage: Damage) -> None:
    held = spoil(machine.home / "memories.db", damage)
    assert_silent(machine.prompt(QUESTION))
    assert held == (b"" if damage is as_folder else (machine.home / "memories.db").read_bytes())


@pytest.mark.parametrize("damage", UNUSABLE, ids=name_of)
def test_unusable_store_is_one_line_in_the_terminal(machine: Machine, damage: Damage, subtests: pytest.Subtests) -> None:
    held = spoil(machine.home / "memories.db", damage)
    for command in (("search", "--fast", "x"), ("list",), ("remember", CONTENT), ("forget", ANSWER)):
        with subtests.test(command=command):
            assert_one_line_error(machine.run(*command), 3)
            assert held == (b"" if damage is as_folder else (machine.home / "memories.db").read_bytes())


def test_the_log_has_the_reason_and_not_the_prompt(machine: Machine) -> None:
    spoil(machine.home / "memories.db", as_garbage)
    assert_silent(machine.prompt(QUESTION))
    log = (machine.home / "log" / "hook.log").read_text(encoding="utf-8")
    assert "memories.db" in log
    assert "localStorage" not in log


@contextmanager
def locked(database: Path, *, to_readers: bool) -> Iterator[None]:
    """A database that another process is writing."""
    connection = apsw.Connection(str(database))
    try:
        if to_readers:
            connection.pragma("locking_mode", "exclusive")
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()


def test_store_that_another_process_writes_still_answers(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=False):
        assert machine.recall(QUESTION) == [ANSWER]


def test_locked_store_prints_nothing(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=True):
        assert_silent(machine.prompt(QUESTION))


def test_locked_store_is_one_line_in_the_terminal(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=True):
        assert_one_line_error(machine.run("search", "--fast", "x"), 3)


def test_locked_store_answers_again_when_it_is_let_go(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=True):
        assert_silent(machine.prompt(QUESTION, "one session"))
    assert machine.recall(QUESTION, "one session") == [ANSWER]


@pytest.mark.parametrize("to_readers", [False, True], ids=["to writers", "to all"])
def test_locked_state_does_no_harm(machine: Machine, to_readers: bool) -> None:
    with locked(machine.home / "state.db", to_readers=to_readers):
        assert_harmless(machine.prompt(QUESTION))
        assert machine.run("search", "--fast", "session", "token").code == 0
    assert machine.recall(QUESTION) == [ANSWER]


@pytest.mark.parametrize("damage", UNUSABLE, ids=name_of)
def test_damaged_state_does_no_harm(machine: Machine, damage: Damage) -> None:
    spoil(machine.home / "state.db", damage)
    assert_harmless(machine.prompt(QUESTION))
    assert machine.run("search", "--fast", "session", "token").code == 0


@pytest.mark.parametrize("with_log", [False, True], ids=["alone", "with its log"])
@pytest.mark.parametrize("damage", [*BEYOND_REPAIR, as_another_programs_with_a_version, as_older], ids=name_of)
def test_damaged_state_heals_by_itself(machine: Machine, damage: Damage, with_log: bool) -> None:
    spoil(machine.home / "state.db", damage, with_log=with_log)
    machine.prompt(QUESTION)
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert_silent(machine.prompt(QUESTION, "one session"))


def test_deleted_state_is_made_anew(machine: Machine) -> None:
    for file in machine.home.glob("state.db*"):
        file.unlink()
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert_silent(machine.prompt(QUESTION, "one session"))


# ---- a damaged index ------------------------------------------------------------------------------------------------------


def pointing_nowhere(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").write_text("lexical-1-0-0\n")


def pointing_outside(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").write_text("lexical-1-../../../../etc\n")


def with_a_garbage_pointer(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").write_bytes(b"\xff\x00" * 5_000)


def without_a_pointer(machine: Machine) -> None:
    (machine.home / "index" / "CURRENT").unlink()


def with_a_garbage_meta_file(machine: Machine) -> None:
    (machine.index / "meta.json").write_bytes(b"garbage")


def with_an_empty_meta_file(machine: Machine) -> None:
    (machine.index / "meta.json").write_bytes(b"")


def with_another_schema(machine: Machine) -> None:
    meta = json.loads((machine.index / "meta.json").read_text())
    meta["schema"] = [field for field in meta["schema"] if field["name"] == "body"]
    (machine.index / "meta.json").write_text(json.dumps(meta))


def without_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        file.unlink()


def with_truncated_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        os.truncate(file, file.stat().st_size // 2)


def with_empty_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        os.truncate(file, 0)


def with_garbage_in_segment_files(machine: Machine) -> None:
    for file in segment_files(machine):
        size = file.stat().st_size
        file.write_bytes(b"garbage " * (size // 8) + b"!" * (size % 8))


def with_garbage_before_the_footers(machine: Machine) -> None:
    for file in segment_files(machine):
        with file.open("r+b") as opened:
            opened.write(b"\xa5" * (file.stat().st_size // 2))


def as_an_empty_folder(machine: Machine) -> None:
    shutil.rmtree(machine.home / "index")
    (machine.home / "index").mkdir()


def as_a_folder_without_content(machine: Machine) -> None:
    folder = machine.index
    shutil.rmtree(folder)
    folder.mkdir()


def deleted(machine: Machine) -> None:
    shutil.rmtree(machine.home / "index")


def segment_files(machine: Machine) -> list[Path]:
    files = [file for file in machine.index.iterdir() if file.suffix not in (".json", ".lock")]
    assert files
    return files


IndexDamage = Callable[[Machine], None]
INDEX_DAMAGE: list[IndexDamage] = [
    pointing_nowhere,
    pointing_outside,
    with_a_garbage_pointer,
    without_a_pointer,
    with_a_garbage_meta_file,
    with_an_empty_meta_file,
    with_another_schema,
    without_segment_files,
    with_truncated_segment_files,
    with_empty_segment_files,
    with_garbage_in_segment_files,
    with_garbage_before_the_footers,
    as_an_empty_folder,
    as_a_folder_without_content,
    deleted,
]


def words_of(damage: IndexDamage) -> str:
    return damage.__name__.replace("_", " ")


@pytest.mark.parametrize("damage", INDEX_DAMAGE, ids=words_of)
def test_damaged_index_does_no_harm(machine: Machine, damage: IndexDamage) -> None:
    damage(machine)
    assert_harmless(machine.prompt(QUESTION))


@pytest.mark.parametrize("damage", INDEX_DAMAGE, ids=words_of)
def test_damaged_index_is_made_anew_by_the_next_search(machine: Machine, damage: IndexDamage) -> None:
    damage(machine)
    done = machine.run("search", "--fast", "session", "token", "localStorage", "--ids", "-n", "1")
    assert (done.code, done.stdout) == (0, ANSWER.encode() + b"\n")
    assert b"Traceback" not in done.stderr
    assert machine.recall(QUESTION) == [ANSWER]


@pytest.mark.parametrize("damage", INDEX_DAMAGE, ids=words_of)
def test_damaged_index_does_not_keep_a_memory_from_being_stored(machine: Machine, damage: IndexDamage) -> None:
    damage(machine)
    done = machine.run("remember", CONTENT)
    assert done.code == 0
    assert b"Traceback" not in done.stderr
    assert machine.recall(ABOUT_IT) == [done.stdout.decode().strip()]
