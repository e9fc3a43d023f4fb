"""The parts of `scripts.bench.peers` that need no other system; the long run is by hand."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bench.peers import SubcogBlock, SubcogSearch, count_processes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs ps")


def test_subcog_is_asked_as_the_others_are(tmp_path: Path) -> None:
    note = "The signing keys of the webhook gateway are rotated on the first Monday of a month."
    search, block = SubcogSearch(str(tmp_path), sys.executable), SubcogBlock(str(tmp_path), sys.executable)
    search.store([{"id": "keys", "content": note}])
    question = "When are the signing keys of the webhook gateway rotated?"
    assert [system.ask(question).ids for system in (search, block)] == [["keys"], ["keys"]]
    assert note in block.ask(question).text
    assert block.ask("thanks, that was all for today") == ([], "")


def test_processes_that_stay_are_counted(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text("print('ready', flush=True); input()", encoding="utf-8")
    command = [sys.executable, str(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        assert count_processes(str(tmp_path)) == 1
        process.communicate("\n")
    assert count_processes(str(tmp_path)) == 0
