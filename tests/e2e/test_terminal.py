"""`subcog search` on a terminal: the answer fits its width, remarks stand above it, and an interrupt leaves it sane."""

import re
import signal
import sys
from pathlib import Path

import pytest

from subcog_hooks.cli.search_sources import PENDING
from tests.e2e.machine import Machine, posix
from tests.e2e.screen import OnTerminal

pytestmark = posix

QUERY = "Where do kittens nap during cold months?"
NOTES = {
    "cat": "The office cat sleeps on the warm server rack in winter.",  # has no word of QUERY
    "pool": "Database connections are recycled after 30 seconds because the load balancer drops idle sockets.",
    "words": "Kittens: see months.csv of the ledger, sheet 9.",
}
LOADING = "\x1b]0;the model is being loaded\x07"  # a window's title: nothing that is seen
ID = re.compile(r"(cat|pool|words)\b")

# subcog, which says when it begins to load the neural model, and waits there
HELD = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with interrupts ignored
class Holder:
    def find_spec(self, name, path=None, target=None):
        if name in ("onnxruntime", "fastembed"):
            os.write(1, {LOADING.encode()!r})
            while True:
                time.sleep(0.01)
sys.meta_path.insert(0, Holder())
from subcog_hooks.__main__ import main
main()
"""


@pytest.fixture
def noted(bare: Machine) -> Machine:
    """A machine with the memories in NOTES; meaning decides their order."""
    bare.imports(*({"id": id_, "content": content, "created_at": "2026-03-02"} for id_, content in NOTES.items()))
    assert bare.run("config", "set", "fusion.alpha", "0.95").code == 0
    return bare


def searched(machine: Machine, query: str, columns: int = 120, **environment: str) -> OnTerminal:
    """A search that has run to its end on a terminal."""
    command = [machine.command, "search", query]
    terminal = OnTerminal(command, machine.folder, {**machine.environment, **environment}, columns)
    assert terminal.end() == 0
    return terminal


def ids_of(machine: Machine, query: str) -> list[str]:
    """What the same search gives to a script."""
    return machine.run("search", query, "--ids").stdout.decode().split()


def shown(lines: list[str]) -> list[str]:
    """The ids of memories that lines begin with, in order."""
    return [found[0] for line in lines if (found := ID.match(line))]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_what_a_script_gets(noted: Machine, columns: int) -> None:
    lines = searched(noted, QUERY, columns).screen().lines
    assert shown(lines) == ids_of(noted, QUERY) == ["cat", "words"]
    assert sum("namespace" in line for line in lines) == (columns >= 100)


def test_remarks_stand_above_the_answer(noted: Machine) -> None:
    lines = searched(noted, "kitens in months.csv").screen().lines
    assert lines[:2] == [PENDING, "taken as: kittens for kitens"]
    assert shown(lines) == ids_of(noted, "kitens in months.csv")


def test_an_interrupt_restores_the_terminal(noted: Machine) -> None:
    terminal = OnTerminal([sys.executable, "-P", "-c", HELD, "search", QUERY], noted.folder, noted.environment)
    try:
        terminal.read_until(LOADING)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
    finally:
        terminal.kill()
    assert "Traceback" not in terminal.written
    assert len(terminal.screen().lines) <= 1


def test_a_plain_terminal_or_pipe_gets_the_answer_alone(noted: Machine) -> None:
    terminal = searched(noted, QUERY, TERM="dumb")
    assert "\x1b[" not in terminal.written
    lines = terminal.screen().lines
    assert shown(lines) == ["cat", "words"]
    assert "" not in lines
    done = noted.run("search", QUERY)
    assert (done.code, b"\x1b" in done.stdout + done.stderr, done.stdout.count(b"\n")) == (0, False, 2)


def test_the_screen_of_these_tests_moves_as_a_terminal_does(tmp_path: Path) -> None:
    code = "print('one\\ntwo\\nthree' + '\\x1b[1A\\r\\x1b[2K' + 'x' * 12)"
    terminal = OnTerminal([sys.executable, "-c", code], tmp_path, {}, columns=10, rows=3)
    assert terminal.end() == 0
    assert terminal.screen().lines == ["one", "x" * 10, "xxree"]
