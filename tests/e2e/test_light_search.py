"""`subcog search` as a script calls it: without the terminal's libraries, and with the terminal's answers."""

import json
import re
import subprocess
import sys

import pytest

from tests.e2e.machine import ANSWER, QUESTION, Machine

TERMINAL = "--debug"  # an option that leaves the search to the terminal's own way
QUERIES = (
    (QUESTION, "--json"),
    (QUESTION, "--jsonl", "-n", "3", "--explain"),
    (QUESTION, "--ids", "--page", "2", "--all-projects"),
    ("zzyzx", "qwfpg", "--json"),
    (QUESTION, "--ids", "--since", "yesterday"),
    (QUESTION, "--json", "--status", "lost"),
    (QUESTION, "--jsonl", "--project", "nobody/knows", "--namespace", "decisons"),
    ("--json",),
    ("--batch", "-", "-n", "2"),
)
LOADED = """
import os, sys
def leave(code):
    loaded = {name.partition(".")[0] for name in sys.modules}
    os.write(2, repr(sorted(loaded & {"typer", "rich", "click", "fastembed"})).encode())
    real(code)
real, os._exit = os._exit, leave
sys.argv = ["subcog", *sys.argv[1:]]
from subcog_hooks.__main__ import main
main()
"""


def without_times(text: bytes) -> bytes:
    return re.sub(rb'"elapsed_ms": [0-9.]+', b"", text)


def test_it_answers_byte_for_byte_as_the_terminal(machine: Machine, subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query):
            rows = json.dumps({"id": 1, "query": QUESTION}).encode()
            light = machine.run("search", *query, "--fast", stdin=rows)
            terminal = machine.run("search", *query, "--fast", TERMINAL, stdin=rows)
            told = terminal.stderr  # with a traceback before it, where it is an error
            said = told[told.find(b"subcog: ") :] if b"Traceback" in told else told
            assert (light.code, light.stderr) == (terminal.code, said)
            assert without_times(light.stdout) == without_times(terminal.stdout)


def test_it_loads_nothing_of_the_terminal(machine: Machine) -> None:
    command = [sys.executable, "-c", LOADED, "search", QUESTION, "--fast", "--ids", "--quiet"]
    done = subprocess.run(command, env=machine.environment, cwd=machine.folder, capture_output=True, check=False)
    assert (done.stdout.split()[0].decode(), done.stderr) == (ANSWER, b"[]")


def test_a_batch_answers_each_line_as_it_comes(machine: Machine) -> None:
    with machine.begin("search", "--batch", "-", "--fast") as process:
        given, answered = process.stdin, process.stdout
        assert given is not None
        assert answered is not None

        def ask(line: str) -> dict[str, object]:
            given.write(line.encode() + b"\n")
            given.flush()
            answer: dict[str, object] = json.loads(answered.readline())
            return answer

        query = json.dumps({"id": 1, "query": QUESTION})
        first = ask(query)
        assert [first[name] for name in ("id", "query_type", "confidence", "degraded")] == [1, "entity", "medium", True]
        assert ask("no query") == {"id": None, "error": 'standard input line 2: expected {"id", "query", "project"?}'}
        assert ask(query) == first
        assert ask('{"id": 2, "query": "zyqqx"}')["results"] == []
        assert machine.run("remember", "The zyqqx is greased in spring.").code == 0
        assert "zyqqx" in str(ask('{"id": 2, "query": "zyqqx"}')["results"])  # what was stored since is found
        given.close()
        assert process.wait() == 0
