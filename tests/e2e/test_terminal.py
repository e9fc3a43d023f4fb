"""`subcog search` on a terminal: what words find is shown at once and gives way to the answer, and nothing is left of it."""

import re
import signal
import sys
from collections.abc import Callable, Iterator
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
LOADED = "\x1b]0;the model is loaded\x07"  # a window's title: nothing that is seen
ID = re.compile(r"(cat|pool|words|berth-\d\d)\b")
UP = "\x1b[1A"

# subcog, which says when it begins to load the neural model and, with HOLD in the environment, waits there
TELLING = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with interrupts ignored
class Teller:
    def find_spec(self, name, path=None, target=None):
        if name in ("onnxruntime", "fastembed"):
            sys.meta_path.remove(self)
            os.write(1, {LOADED.encode()!r})
            while "HOLD" in os.environ:
                time.sleep(0.01)
sys.meta_path.insert(0, Teller())
from subcog_hooks.__main__ import main
main()
"""


@pytest.fixture
def noted(bare: Machine) -> Machine:
    """A machine with the memories in NOTES; meaning decides their order."""
    bare.imports(*({"id": id_, "content": content, "created_at": "2026-03-02"} for id_, content in NOTES.items()))
    assert bare.run("config", "set", "fusion.alpha", "0.95").code == 0
    return bare


Start = Callable[..., OnTerminal]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts subcog on a terminal of its own."""
    started: list[OnTerminal] = []

    def begin(machine: Machine, *arguments: str, columns: int = 120, rows: int = 40, **environment: str) -> OnTerminal:
        command = [sys.executable, "-P", "-c", TELLING, *arguments]
        started.append(OnTerminal(command, machine.folder, {**machine.environment, **environment}, columns, rows))
        return started[-1]

    yield begin
    for terminal in started:
        terminal.kill()


def ids_of(machine: Machine, *arguments: str) -> list[str]:
    """What the same search gives to a script."""
    return machine.run(*arguments, "--ids").stdout.decode().split()


def shown(lines: list[str]) -> list[str]:
    """The ids of memories that lines begin with, in order."""
    return [found[0] for line in lines if (found := ID.match(line))]


@pytest.mark.parametrize("columns", [80, 120])
def test_words_show_first_and_give_way_to_the_answer(noted: Machine, start: Start, columns: int) -> None:
    terminal = start(noted, "search", QUERY, columns=columns)
    before = terminal.read_until(LOADED).partition(LOADED)[0]
    assert NOTES["words"] in before
    assert NOTES["cat"] not in before
    assert terminal.end() == 0
    after = terminal.written.partition(LOADED)[2]
    assert UP in after
    screen = terminal.screen()
    assert shown(screen.lines) == ids_of(noted, "search", QUERY) == ["cat", "words"]
    assert sum("namespace" in line for line in screen.lines) == (columns >= 100)
    assert (screen.gone, screen.cursor_is_shown) == ([], True)


def test_fast_search_and_other_forms_are_shown_once(noted: Machine, start: Start) -> None:
    for option in ("--fast", "--json", "--ids"):
        terminal = start(noted, "search", QUERY, option)
        assert terminal.end() == 0
        before, loaded, after = terminal.written.partition(LOADED)
        assert (bool(loaded), UP in terminal.written) == (option != "--fast", False)
        assert option == "--fast" or (before == "" and "cat" in after and "\x1b[" not in after)


def test_nothing_shows_before_an_answer_that_words_do_not_find(noted: Machine, start: Start) -> None:
    assert noted.run("search", "felines asleep", "--mode", "lexical").stderr.startswith(b"nothing found")
    for query in ("a tomcat that naps", "felines asleep"):
        terminal = start(noted, "search", query)
        assert terminal.end() == 0
        assert terminal.written.partition(LOADED)[0] == ""
        assert shown(terminal.screen().lines) == ["cat"]


def test_remarks_stand_above_the_answer_and_are_not_wiped_away(noted: Machine, start: Start) -> None:
    terminal = start(noted, "search", "kitens in months.csv")
    assert terminal.end() == 0
    lines = terminal.screen().lines
    assert lines[:2] == [PENDING, "taken as: kittens for kitens"]
    assert shown(lines) == ids_of(noted, "search", "kitens in months.csv")


def test_a_long_answer_leaves_nothing_of_the_first(bare: Machine, start: Start) -> None:
    text = "Berth {0} is let by the week, and its mooring lines are changed before winter {0}, says master {0}."
    bare.imports(*({"id": f"berth-{i:02}", "content": text.format(i), "created_at": "2026-03-02"} for i in range(12)))
    terminal = start(bare, "search", "berths and their mooring lines", columns=120, rows=8)
    assert terminal.end() == 0
    assert "berth" in terminal.written.partition(LOADED)[0]
    found = shown(terminal.screen().lines)
    assert (found, len(found)) == (ids_of(bare, "search", "berths and their mooring lines"), 10)


def test_an_interrupt_restores_the_terminal(noted: Machine, start: Start) -> None:
    terminal = start(noted, "search", QUERY, HOLD="1")
    terminal.read_until(LOADED)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    screen = terminal.screen()
    assert screen.cursor_is_shown
    assert "Traceback" not in terminal.written
    assert len(screen.lines) <= 1


def test_a_plain_terminal_or_pipe_gets_the_answer_alone(noted: Machine, start: Start) -> None:
    terminal = start(noted, "search", QUERY, TERM="dumb")
    assert terminal.end() == 0
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
