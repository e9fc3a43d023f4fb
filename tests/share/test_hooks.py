"""Hooks where a team's memory is configured and its server hangs: they read the local store, and open no socket."""

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog_hooks.cli.team import sharing
from subcog_hooks.core.paths import Home
from subcog_hooks.settings import loading
from subcog_hooks.share import server_connection
from subcog_hooks.share.synced import ShareState
from subcog_hooks.store.store import Store
from tests.conftest import Maker
from tests.hook.conftest import follow

SUBCOG = str(Path(sysconfig.get_path("scripts")) / "subcog")
TEXT = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the audit."
PROMPT = "Which OAuth2 flow does the SPA use, PKCE or the implicit one?"
EVENTS: list[dict[str, object]] = [
    {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT},
    {"hook_event_name": "SessionStart", "source": "startup"},
    {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "/x/auth.py", "new_string": "OAuth2"}},
    {"hook_event_name": "Stop"},
    {"hook_event_name": "SessionEnd"},
]


@pytest.fixture
def hanging(home: Home, store: Store, make: Maker) -> Iterator[Home]:
    """A home with a memory and a server that takes connections and never answers."""
    store.add([make(TEXT)])
    follow(home, store)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"postgresql://ada@127.0.0.1:{listening.getsockname()[1]}/team"
        config = f'[share]\nurl = "{url}"\nprojects = "github.com/acme/shop"\n'
        Path(home.config).write_text(config, encoding="utf-8")
        yield home


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event["hook_event_name"]))
def test_no_hook_opens_a_socket(hanging: Home, tmp_path: Path, event: dict[str, object]) -> None:
    trace = tmp_path / "trace"
    payload = json.dumps({"session_id": "one", "cwd": str(tmp_path), **event}).encode()
    command = ["strace", "-qq", "-o", str(trace), "-e", "trace=socket,connect,execve", sys.executable, SUBCOG, "hook"]
    environment = {**os.environ, "SUBCOG_BACKGROUND": "0"}
    done = subprocess.run(command, input=payload, capture_output=True, check=False, env=environment)
    if not trace.exists() or "execve(" not in trace.read_text(encoding="utf-8"):
        pytest.skip("strace may not trace here")
    assert done.returncode == 0
    assert "socket(" not in trace.read_text(encoding="utf-8")
    assert "connect(" not in trace.read_text(encoding="utf-8")


def test_a_prompt_gets_its_memory_and_loads_nothing_of_sharing(hanging: Home, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "leave, err = os._exit, os.dup(2)\n"
        "def tell(code):\n"
        "    os.write(err, ' '.join(sys.modules).encode())\n"
        "    leave(code)\n"
        "os._exit = tell\n"
        "sys.argv = ['subcog', 'hook']\n"
        "from subcog_hooks.__main__ import main\n"
        "main()\n"
    )
    payload = json.dumps({"session_id": "s", "cwd": str(tmp_path), **EVENTS[0]}).encode()
    done = subprocess.run([sys.executable, "-c", code], input=payload, capture_output=True, check=True)
    assert b"PKCE" in done.stdout
    loaded = set(done.stderr.decode().split())
    assert "subcog_hooks.store.store_reader" in loaded
    assert not {name for name in loaded if name.startswith("subcog_hooks.share")}
    assert not {"psycopg", "socket", "_socket"} & loaded


def test_background_work_gives_up_a_hanging_server_silently(hanging: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "CONNECT_WAIT_S", 2)  # libpq's minimum
    with ShareState.open(hanging) as state:
        state.agree("github.com/acme/shop", server_connection.server_identity(str(loading.load(hanging)["share.url"])))
    sharing.synchronise_in_background(hanging)
    with ShareState.open(hanging) as state:
        assert "cannot be reached" in state.read_note(sharing.FAILURE)
    assert not Path(hanging.log, "hook.log").exists()
