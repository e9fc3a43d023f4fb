"""`subcog block` and `brief`: what the hook would hand over, printed for scripts, with nothing recorded of it."""

import json
import subprocess
import sys

from subcog_hooks.core.paths import Home
from subcog_hooks.store import past_runs
from subcog_hooks.store.state import State
from tests.e2e.machine import ANSWER, QUESTION, Machine, ids_in

NONSENSE = "zzyzx qwfpg"


def kept(machine: Machine) -> tuple[object, ...]:
    """What state.db knows of prompts: decisions, sessions, what was given."""
    with State.open(Home(str(machine.home)), 1_000) as state:
        tables = [state.run(f"SELECT count(*) FROM {table}") for table in ("sessions", "ledger")]
        return len(past_runs.find_latest(state, 100)), *tables


def test_it_prints_what_the_hook_gives_and_leaves_no_trace(machine: Machine) -> None:
    by_hook = machine.answer(machine.asking(QUESTION))
    before = kept(machine)
    for _ in range(2):
        done = machine.run("block", QUESTION)
        assert (done.code, done.stderr, done.stdout.decode()) == (0, b"", by_hook + "\n")
    assert kept(machine) == before


def test_json_has_the_block_and_each_memory_with_its_relevance(machine: Machine) -> None:
    text = machine.run("block", "-", stdin=b"\xef\xbb\xbf" + QUESTION.encode() + b"\n").stdout.decode().rstrip("\n")
    told = json.loads(machine.run("--quiet", "block", QUESTION, "--json").stdout)
    assert (told["text"], told["characters"]) == (text, len(text))
    assert [memory["id"] for memory in told["memories"]] == ids_in(text) == [ANSWER]
    assert f"relevance {told['memories'][0]['relevance']:.2f}" in text


def test_where_the_hook_is_silent_it_prints_nothing(machine: Machine) -> None:
    for prompt in (NONSENSE, "ok", f"{QUESTION} [nomem]", ""):
        assert machine.run("block", prompt)[:3] == (1, b"", b""), prompt
    machine.run("pause")
    assert machine.run("block", QUESTION)[:3] == (1, b"", b"subcog: the hook is paused; `subcog resume` ends it\n")
    assert machine.run("--quiet", "block", QUESTION)[:3] == (1, b"", b"")


def test_without_memories_it_prints_nothing_and_makes_nothing(bare: Machine) -> None:
    assert bare.run("block", QUESTION)[:3] == (1, b"", b"")
    assert not bare.home.exists()


def test_a_damaged_store_or_a_wrong_line_is_explained(machine: Machine) -> None:
    for words in ((), ("a", "b"), ("--nope", "x")):
        done = machine.run("block", *words)
        assert (done.code, done.stdout, b"subcog block --help" in done.stderr) == (2, b"", True)
    (machine.home / "memories.db").write_bytes(b"no database" * 1_000)
    done = machine.run("block", QUESTION)
    assert (done.code, done.stdout, done.stderr.count(b"\n"), b"memories.db" in done.stderr) == (3, b"", 1, True)


def test_neither_the_terminal_nor_its_libraries_are_loaded(machine: Machine) -> None:
    code = (
        "import os, sys\n"
        "def leave(code): print(code, *sorted(sys.modules), file=sys.stderr); sys.stderr.flush(); leave_now(code)\n"
        "leave_now, os._exit = os._exit, leave\n"
        f"sys.argv = ['subcog', 'block', {QUESTION!r}]\n"
        "from subcog_hooks.__main__ import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, env=machine.environment, cwd=machine.folder, capture_output=True)
    exit_code, *modules = done.stderr.decode().split()
    assert exit_code == "0"
    assert not {name for name in modules if name.split(".")[0] in ("typer", "rich", "json", "re2", "pathlib")}
    assert not {name for name in modules if f"{name}.".startswith("subcog_hooks.cli.")}
