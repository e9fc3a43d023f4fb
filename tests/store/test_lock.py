"""A lock between processes: one holder at a time, gone with its owner, and clear errors."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.store.home_files import ProcessLock, is_held

ROOT = Path(__file__).parents[2]

HOLD = """
import sys
from subcog_hooks.store.home_files import ProcessLock
with ProcessLock(sys.argv[1], 0, "holding"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_process_holds_it_until_it_is_killed(tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "x.lock")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_held(path)
        with pytest.raises(StoreBusy, match="another process has been waiting for a test for long"):
            ProcessLock(path, 10, "waiting for a test").__enter__()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with ProcessLock(path, 0, "waiting for a test"):
        assert is_held(path)
    assert not is_held(path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
def test_lock_that_cannot_be_taken_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    before = len(os.listdir("/proc/self/fd"))
    (tmp_path / "x.lock").mkdir()
    with pytest.raises(StoreError, match="it is a folder") as raised:
        ProcessLock(str(path), 0, "testing").__enter__()
    assert len(os.listdir("/proc/self/fd")) == before  # while the error, and with it every frame, is alive
    del raised


@pytest.mark.parametrize("garbage", [b"garbage" * 1_000, b"\x00", b"SQLite format 3\x00" + b"\xff" * 200])
def test_lock_file_with_foreign_content_is_emptied_and_locked(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "x.lock"
    path.write_bytes(garbage)
    with ProcessLock(str(path), 0, "testing"):
        with pytest.raises(StoreBusy):
            ProcessLock(str(path), 1, "testing").__enter__()
        assert is_held(str(path))
    assert not is_held(str(path))
