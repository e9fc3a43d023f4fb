"""The home folder: its path, and an impossible one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX systems only")

PROMPT = b'{"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": "why do we use PKCE?"}'


def run(variable: bytes, folder: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environb.items() if name != b"SUBCOG_HOME"} | {variable: folder}
    command = [sys.executable, "-m", "subcog_hooks", *arguments]
    return subprocess.run(
        command, input=PROMPT, env=environment, cwd=Path(__file__).parents[2], capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize("variable", [b"SUBCOG_HOME", b"HOME"])
def test_home_that_is_not_utf_8_is_one_line_and_silence(tmp_path: Path, variable: bytes) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    for arguments in (("remember", "text"), ("search", "x"), ("list",), ("doctor",), ("config", "list")):
        done = run(variable, folder, *arguments)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (3, b"", 1)
        assert b"caf?" in done.stderr
        assert b" is not UTF-8; set %s to a folder whose name is" % variable in done.stderr
    done = run(variable, folder, "hook")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert os.listdir(folder) == []
