"""The line for Claude Code's status line."""

import json
import re
import time
from pathlib import Path

from tests.e2e.machine import ANSWER, Machine

RELATED = "explain where the session token lives"
SESSION = "4b1e6f0a-0b0e-4a51-9d5c-2f3f9a5d7c11"


def status_line(machine: Machine, session: str = SESSION, cwd: Path | None = None) -> str:
    """The line that the client shows, for a payload as it writes it."""
    folder = str(cwd or machine.folder)
    payload = {"session_id": session, "cwd": folder, "model": {"id": "m"}, "workspace": {"current_dir": folder}}
    done = machine.run("statusline", stdin=json.dumps(payload).encode())
    assert (done.code, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
    return done.stdout.decode().rstrip("\n")


def test_the_status_line_counts_a_prompt_and_an_opening(pointing: Machine) -> None:
    notes = status_line(pointing)
    assert re.fullmatch(r"subcog \d+ notes", notes)
    pointing.answer(pointing.asking(RELATED, SESSION))
    assert status_line(pointing) == notes
    pointing.environment |= {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
    assert ANSWER in pointing.run("show", ANSWER).stdout.decode()
    assert status_line(pointing) == f"{notes} · 1 opened"
    pointing.answer(pointing.asking("What did we decide: why is the schema forward-only?", SESSION))
    assert status_line(pointing) == f"{notes} · 1 given, 1 opened"
    assert status_line(pointing, "another") == notes


def test_the_status_line_counts_notes_here_and_waiting_ones(bare: Machine, shop: Path) -> None:
    assert bare.run("remember", "The crane turns left.", "--user").code == 0
    assert status_line(bare) == "subcog 1 note"
    assert bare.run("remember", "The shop closes at noon.", cwd=shop).code == 0
    bare.imports({"id": "waiting", "content": "Tides are read hourly.", "status": "pending"})
    assert status_line(bare) == "subcog 1 note · 1 waits"
    assert status_line(bare, cwd=shop) == "subcog 2 notes · 1 waits"


def test_the_status_line_tells_of_a_hook_that_a_fault_keeps_off(bare: Machine, shop: Path) -> None:
    assert bare.run("remember", "The crane turns left.", "--user").code == 0
    bare.answer(bare.asking("Where does the crane turn?"))  # makes the state
    for text in ("[surfacing]\nenabled = false\n", "[surfacing]\nenabled = false\nlearn\n"):
        (bare.home / "config.toml").write_text(text)
        assert status_line(bare, cwd=shop) == "subcog 1 note · hook off"
    assert bare.answer(bare.asking("Where does the crane turn?")) == ""
    told = bare.run("doctor").stdout.decode()
    assert " BAD  config.toml is not TOML" in told
    assert "surfacing.enabled is false: the hook is silent" in told
    assert status_line(bare, cwd=shop) == "subcog 1 note · hook off"
    (bare.home / "config.toml").unlink()
    assert bare.run("pause").code == 0
    assert status_line(bare, cwd=shop) == "subcog 1 note · paused"


def test_the_status_line_says_once_that_a_run_was_cut_off(machine: Machine) -> None:
    machine.prompt("Where is the crane?", SESSION)
    notes = status_line(machine)
    later_ms = time.time_ns() // 1_000_000
    (machine.home / "cut-offs").write_text(f"{later_ms} PreToolUse {SESSION}\n{later_ms} Stop another\n5 Stop {SESSION}\n")
    assert status_line(machine) == f"{notes} · 1 run cut off: this machine was busy"
    machine.prompt("Where is the crane now?", SESSION)
    assert status_line(machine) == notes


def test_the_status_line_is_empty_where_nothing_is_to_show(bare: Machine, tmp_path: Path) -> None:
    payload = json.dumps({"session_id": SESSION, "cwd": str(tmp_path)}).encode()
    for stdin in (payload, b"", b"[", b"[1]", b'{"cwd": 7, "workspace": 3}', b"\xff"):
        assert bare.run("statusline", stdin=stdin)[:3] == (0, b"", b"")
    assert not bare.home.exists()
    bare.run("remember", "The crane turns left.", "--user")
    (bare.home / "memories.db").write_bytes(b"no database" * 1000)
    assert bare.run("statusline", stdin=payload)[:3] == (0, b"", b"")
