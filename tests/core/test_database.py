"""SQLite files: their versions, and a disk that is full."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from subcog_hooks.core import database
from subcog_hooks.core.errors import StoreError, StoreTooNew, StoreTooOld

ROOT = Path(__file__).parents[2]

FULL = """
import os, sys
from subcog_hooks.core.errors import StoreError
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.core.paths import Home

disk, with_log = sys.argv[1], sys.argv[2] == "with a log"
home = Home(os.path.join(disk, "home"))
store = Store.writer(home)
store.add([Memory(id="a", content="The gate is shut.", created_at=1, updated_at=1)])
if with_log:  # a process that is killed leaves it behind
    log = open(home.memories_db + "-wal", "rb").read()
store.close()
if with_log:
    open(home.memories_db + "-wal", "wb").write(log)
VectorStore.writer(home, "small", 64).close()
with open(os.path.join(disk, "filler"), "wb", buffering=0) as filler:
    for size in (4096, 1):
        try:
            while filler.write(bytes(size)):
                pass
        except OSError:
            pass
for attempt in (
    lambda: Store.reader(home).get("a").content,
    lambda: VectorStore.reader(home, "small", 64).watermark(),
    lambda: VectorStore.writer(home, "other", 64).watermark(),
    lambda: Store.writer(home).revision(),
    lambda: [ProcessLock(os.path.join(home.index, f"{i}" * 200), 0, "testing").__enter__() for i in range(10)] and None,
):
    try:
        print(attempt())
    except StoreError as error:
        print(error.message.replace(disk, "DISK"))
"""


def on_a_full_disk(tmp_path: Path, *arguments: str) -> list[str]:
    """The lines that the script prints on a full disk in its own namespace."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    mounted = f'mount -t tmpfs -o size=400k,nr_inodes=30 none "{tmp_path}" && exec "$0" "$@"'
    command = ["unshare", "-rm", "sh", "-c", mounted, sys.executable, "-c", FULL, str(tmp_path), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    if "mount" in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_full_disk_is_read_and_failed_writes_are_reported(tmp_path: Path) -> None:
    memory, watermark, *failures = on_a_full_disk(tmp_path, "")
    assert (memory, watermark) == ("The gate is shut.", "-1")
    assert [line.rpartition(": ")[2] for line in failures] == ["the disk is full"] * 3, failures


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_file_whose_log_is_not_empty_is_not_read_without_it(tmp_path: Path) -> None:
    message = on_a_full_disk(tmp_path, "with a log")[0]
    assert message == "DISK/home/memories.db cannot be used: the disk is full"


CREATE_WORDS = "CREATE TABLE words (word TEXT)"
CREATE_TEXTS = "CREATE TABLE texts (text TEXT)"


def schema(folder: Path, script: str, version: int, **upgrades: str) -> database.Schema:
    """A schema of this script. upgrades: `from_3="CREATE …"`."""
    file = folder / f"{version}.sql"
    file.write_text(script)
    return database.Schema(str(file), version, "FULL", {int(name[5:]): text for name, text in upgrades.items()})


def tables_in(path: str, schema: database.Schema) -> list[str]:
    connection = database.open_reader(path, schema, 100)
    rows = connection.execute("SELECT name FROM sqlite_schema ORDER BY name").fetchall()
    connection.close()
    return [str(name) for (name,) in rows]


def test_a_file_with_an_upgrade_is_upgraded_by_a_writer(tmp_path: Path) -> None:
    path = str(tmp_path / "file.db")
    earlier = schema(tmp_path, CREATE_WORDS, 3)
    later = schema(tmp_path, CREATE_WORDS + ";" + CREATE_TEXTS, 4, from_3=CREATE_TEXTS)
    database.open_writer(path, earlier, 100).close()
    with pytest.raises(StoreError, match="is of an earlier version; run `subcog doctor`, which upgrades it"):
        database.open_reader(path, later, 100)
    for _ in range(2):
        database.open_writer(path, later, 100).close()
        assert tables_in(path, later) == ["texts", "words"]
    with pytest.raises(StoreTooNew):
        database.open_writer(path, earlier, 100)


def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "file.db")
    earlier = schema(tmp_path, CREATE_WORDS, 3)
    database.open_writer(path, earlier, 100).close()
    broken = schema(tmp_path, "", 4, from_3=f"{CREATE_TEXTS}; CREATE TABLE words (word TEXT)")
    with pytest.raises(StoreError, match="table words already exists"):
        database.open_writer(path, broken, 100)
    assert tables_in(path, earlier) == ["words"]


def test_a_file_without_an_upgrade_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "file.db")
    database.open_writer(path, schema(tmp_path, CREATE_WORDS, 3), 100).close()
    before = Path(path).read_bytes()
    later = schema(tmp_path, CREATE_WORDS, 5, from_4=CREATE_TEXTS)
    for open_file in (database.open_reader, database.open_writer):
        with pytest.raises(StoreTooOld, match=r"is of a version before 0\.1\.0; delete it; it is made anew"):
            open_file(path, later, 100)
    assert Path(path).read_bytes() == before
