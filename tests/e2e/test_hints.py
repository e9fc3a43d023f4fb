"""The installed executable where it helps along: an interrupted import, the hook's help, no LLM."""

import json
import os
import signal

from tests.e2e.machine import LONGEST_S, Machine, posix, wait_until
from tests.e2e.screen import OnTerminal

CHUNK = 1_000  # memories that an import writes at a time


@posix
def test_an_interrupted_import_keeps_what_is_stored(bare: Machine) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
    process = bare.begin("import", "-")
    signal.signal(signal.SIGINT, before)
    assert process.stdin is not None
    rows = [json.dumps({"content": f"Berth {number} is {number * 7 % 31} metres long."}) for number in range(2 * CHUNK + 1)]
    process.stdin.write("".join(f"{row}\n" for row in rows).encode())
    process.stdin.flush()
    wait_until(lambda: count(bare) >= 2 * CHUNK, LONGEST_S)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told.endswith(b"interrupted\n")) == (130, True)
    assert count(bare) == 2 * CHUNK


def count(machine: Machine) -> int:
    is_made = os.path.exists(machine.home / "memories.db")
    return len(machine.run("list", "--ids", "-n", "5000").stdout.splitlines()) if is_made else 0


@posix
def test_the_hooks_help_is_on_a_terminal_and_goes_to_stderr(bare: Machine) -> None:
    for arguments in (("hook", "--help"), ("hook", "-h"), ("--help", "hook")):
        done = bare.run(*arguments)
        assert (done.code, done.stdout, done.stderr.startswith(b"Usage: subcog hook\n")) == (0, b"", True)
    assert OnTerminal.shown([bare.command, "hook", "--help"], bare.folder, bare.environment)[1][0] == "Usage: subcog hook"
