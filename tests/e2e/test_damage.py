"""The installed executable in homes that are missing, read-only, full, locked or damaged: hook silent, terminal clear."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from glob import glob
from itertools import product
from pathlib import Path

import apsw
import pytest

from subcog_hooks.cli.search_sources import PENDING
from tests.e2e.machine import (
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


def test_missing_home_is_silence_and_nothing_found(bare: Machine) -> None:
    assert_silent(bare.prompt(QUESTION))
    assert not bare.home.exists()
    assert (bare.run("search", "--fast", "x").code, bare.home.exists()) == (1, False)


def test_home_that_is_a_file_is_silence_and_one_line(bare: Machine) -> None:
    bare.home.write_bytes(b"a file")
    assert_silent(bare.prompt(QUESTION))
    assert_one_line_error(bare.run("remember", CONTENT), 3)
    assert bare.home.read_bytes() == b"a file"


@posix
def test_read_only_home_is_searched_and_refuses_memories(machine: Machine) -> None:
    with read_only(machine.home):
        subcog = [*as_ordinary_user(machine), machine.command]
        assert_harmless(machine.start([*subcog, "hook"], machine.asking()))
        done = machine.start([*subcog, "search", "--fast", "session", "token", "--ids", "-n", "1"])
        assert (done.code, done.stdout, done.stderr) == (0, ANSWER.encode() + b"\n", PENDING.encode() + b"\n")
        assert_one_line_error(machine.start([*subcog, "remember", CONTENT]), 3)


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
    bounded = ["/bin/sh", "-c", 'ulimit -f 0 && exec "$0" "$@"', machine.command]
    assert_harmless(machine.start([*bounded, "hook"], machine.asking()))
    assert machine.recall(QUESTION) == [ANSWER]
    assert_one_line_error(machine.start([*bounded, "remember", CONTENT]), 3)
    assert machine.recall(QUESTION) == [ANSWER]


MOUNT = 'mount -t tmpfs -o size=1m none "$2" && cp -R "$1/." "$2" && { cat /dev/zero > "$2/zeros" 2>/dev/null || :; }'
ON_FULL_DISK = MOUNT + ' && SUBCOG_HOME="$2" exec "$0" '


@linux
def test_full_disk_does_no_harm(machine: Machine) -> None:
    assert_harmless(machine.start(on_full_disk(machine, "hook"), machine.asking()))
    for file in machine.home.glob("state.db*"):
        file.unlink()
    assert_harmless(machine.start(on_full_disk(machine, "hook"), machine.asking()))
    assert_one_line_error(machine.start(on_full_disk(machine, f"remember '{CONTENT}'")), 3)


def on_full_disk(machine: Machine, command: str) -> list[str]:
    """A command of a shell that may mount, and whose mounts go away with it."""
    disk = machine.root / "disk"
    disk.mkdir(exist_ok=True)
    for namespace in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        shell = [*namespace, "/bin/sh", "-c"]
        if works([*shell, 'mount -t tmpfs -o size=1m none "$0"', str(disk)], machine):
            return [*shell, ON_FULL_DISK + command, machine.command, str(machine.home), str(disk)]
    pytest.skip("file systems can not be mounted here")


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


def run_sql(database: Path, sql: str) -> None:
    """Run SQL on a database, which is made where there is none."""
    with closing(apsw.Connection(str(database))) as connection:
        connection.execute(sql)


def overwrite_behind_header(database: Path) -> None:
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(100)
        file.write(b"garbage " * ((size - 100) // 8))


def make_folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


def make_foreign(database: Path, version: int = 0) -> None:
    """Put another program's database in its place."""
    database.unlink()
    run_sql(database, f"CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup'); PRAGMA user_version={version}")


UNUSABLE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda database: database.write_bytes(b"garbage " * 4_096),
    "garbage behind the header": overwrite_behind_header,
    "truncated": lambda database: os.truncate(database, max(1_000, database.stat().st_size // 2)),
    "another program's": make_foreign,
    "another program's with a version": lambda database: make_foreign(database, version=1),
    "older": lambda database: run_sql(database, "PRAGMA user_version = 1"),
    "newer": lambda database: run_sql(database, "PRAGMA user_version = 999"),
    "folder": make_folder,
}
HEALED = [*UNUSABLE][:-2]


def spoil(database: Path, damage: str, *, with_log: bool = False) -> bytes:
    """Damage a database; without its write-ahead log, unless that is kept. What it holds then, b"" for a folder."""
    if not with_log:
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
    UNUSABLE[damage](database)
    return content_of(database)


def content_of(database: Path) -> bytes:
    return database.read_bytes() if database.is_file() else b""


def test_unusable_store_is_silence_and_one_line(machine: Machine, subtests: pytest.Subtests) -> None:
    store = machine.home / "memories.db"
    whole = store.read_bytes()
    for damage in UNUSABLE:
        with subtests.test(damage=damage):
            held = spoil(store, damage)
            assert_silent(machine.prompt(QUESTION))
            for command in (("search", "--fast", "x"), ("remember", CONTENT)):
                assert_one_line_error(machine.run(*command), 3)
            assert content_of(store) == held
            if store.is_dir():
                store.rmdir()
            store.write_bytes(whole)
    log = (machine.home / "log" / "hook.log").read_text(encoding="utf-8")
    assert ("memories.db" in log, "localStorage" in log) == (True, False)


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


def test_locked_store_is_silent_until_it_is_let_go(machine: Machine) -> None:
    with locked(machine.home / "memories.db", to_readers=True):
        assert_silent(machine.prompt(QUESTION, "one session"))
        assert_one_line_error(machine.run("search", "--fast", "x"), 3)
    assert machine.recall(QUESTION, "one session") == [ANSWER]


def test_locked_state_does_no_harm(machine: Machine) -> None:
    for to_readers in (False, True):
        with locked(machine.home / "state.db", to_readers=to_readers):
            assert_harmless(machine.prompt(QUESTION))
            assert machine.run("search", "--fast", "session", "token").code == 0
    assert machine.recall(QUESTION) == [ANSWER]


def test_damaged_or_deleted_state_heals_by_itself(machine: Machine, subtests: pytest.Subtests) -> None:
    for damage, with_log in [*product(HEALED, (False, True)), ("deleted", False)]:
        with subtests.test(damage=damage, with_log=with_log):
            if damage == "deleted":
                for file in machine.home.glob("state.db*"):
                    file.unlink()
            else:
                held = spoil(machine.home / "state.db", damage, with_log=with_log)
                assert_harmless(machine.prompt(QUESTION))
            session = f"{damage} {with_log}"
            assert machine.recall(QUESTION, session) == [ANSWER]
            assert_silent(machine.prompt(QUESTION, session))
            if damage.startswith("another program's"):
                assert content_of(machine.home / "state.db.other") == held


# ---- a damaged index ------------------------------------------------------------------------------------------------------


def narrow_schema(meta: Path) -> None:
    """Leave a schema of one field."""
    kept = json.loads(meta.read_text())
    kept["schema"] = [field for field in kept["schema"] if field["name"] == "body"]
    meta.write_text(json.dumps(kept))


def empty_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def overwrite_half(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(b"\xa5" * (file.stat().st_size // 2))


POINTER, META, SEGMENTS = "{home}/index/CURRENT", "{index}/meta.json", "{index}/*"
INDEX_DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {  # the files, and what is done to each of them
    "pointer outside": (POINTER, lambda file: file.write_text("lexical-1-../../../../etc\n")),
    "garbage pointer": (POINTER, lambda file: file.write_bytes(b"\xff\x00" * 5_000)),
    "no pointer": (POINTER, Path.unlink),
    "empty meta file": (META, lambda file: file.write_bytes(b"")),
    "another schema": (META, narrow_schema),
    "no segment files": (SEGMENTS, Path.unlink),
    "truncated segment files": (SEGMENTS, lambda file: os.truncate(file, file.stat().st_size // 2)),
    "garbage before the footers": (SEGMENTS, overwrite_half),
    "folder without content": ("{index}", empty_folder),
    "no folder": ("{home}/index", shutil.rmtree),
}


def damage_index(machine: Machine, damage: str) -> None:
    pattern, change = INDEX_DAMAGE[damage]
    files = [Path(name) for name in glob(pattern.format(home=machine.home, index=machine.index))]
    assert files
    for file in files:
        if pattern != SEGMENTS or file.suffix not in (".json", ".lock"):
            change(file)


def test_damaged_index_is_made_anew_and_does_no_harm(machine: Machine, subtests: pytest.Subtests) -> None:
    for number, damage in enumerate(INDEX_DAMAGE):
        with subtests.test(damage=damage):
            damage_index(machine, damage)
            assert_harmless(machine.prompt(QUESTION))
            done = machine.run("search", "--fast", "session", "token", "localStorage", "--ids", "-n", "1")
            assert (done.code, done.stdout, b"Traceback" in done.stderr) == (0, ANSWER.encode() + b"\n", False)
            assert machine.recall(QUESTION) == [ANSWER]
            damage_index(machine, damage)
            done = machine.run("remember", f"Berth {number} is dredged in June.")
            assert (done.code, b"Traceback" in done.stderr) == (0, False)
            assert done.stdout.decode().strip() in machine.run("search", "--fast", "--ids", "berth dredged").stdout.decode()
