"""What was acknowledged stays: writers that are killed, many writers at once, hooks beside them."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, assert_harmless, posix, wait_until

ROUNDS = 3
WRITERS = 5
NOTES = 3

pytestmark = posix  # kill -9 and process groups

LOOP = """
import subprocess, sys, itertools
for i in itertools.count():
    text = f"{sys.argv[2]} fact number {i} zq{sys.argv[2]}x{i}"
    done = subprocess.run([sys.argv[1], "remember", text], capture_output=True, text=True)
    if done.returncode == 0:
        print(done.stdout.strip(), f"zq{sys.argv[2]}x{i}", flush=True)
    elif i > 3:
        sys.exit(done.stderr)
"""


def is_written(log: Path) -> bool:
    return log.stat().st_size > 0


def write_rows(machine: Machine, rows: list[dict[str, object]]) -> str:
    """Write a file of memories. Return its path."""
    path = machine.root / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def ids(machine: Machine, *words: str) -> list[str]:
    """The ids that a search by words finds."""
    done = machine.run("search", "--fast", "--ids", "-n", "1000", *words)
    assert done.code == 0, done.stderr
    return done.stdout.decode().split()


def test_acknowledged_memories_survive_killed_writers(bare: Machine) -> None:
    acknowledged: list[tuple[str, str]] = []
    dice = random.Random(20)
    for number in range(ROUNDS):
        log = bare.root / f"acknowledged-{number}"
        with log.open("w") as out:
            command = [sys.executable, "-c", LOOP, bare.command, f"w{number}"]
            writer = subprocess.Popen(
                command, env=bare.environment, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True
            )
            wait_until(partial(is_written, log), 30)
            time.sleep(dice.uniform(0, 1))
            os.killpg(writer.pid, signal.SIGKILL)
            writer.wait()
        acknowledged += [(line.split()[0], line.split()[1]) for line in log.read_text().splitlines() if len(line.split()) == 2]
    assert len(acknowledged) >= ROUNDS
    assert {id_ for id_, _ in acknowledged} <= {row["id"] for row in bare.rows("export")}
    queries = "".join(json.dumps({"id": id_, "query": word}) + "\n" for id_, word in acknowledged)
    answers = bare.run("search", "--batch", "-", "-n", "1", stdin=queries.encode()).stdout.splitlines()
    found = {row["id"]: [hit["id"] for hit in row["results"]] for row in map(json.loads, answers)}
    assert found == {id_: [id_] for id_, _ in acknowledged}
    doctor = bare.run("doctor")
    assert (doctor.code, b"BAD" in doctor.stdout) == (0, False), doctor.stdout


def test_a_killed_import_leaves_whole_chunks(bare: Machine) -> None:
    source = write_rows(bare, [{"id": f"row-{i}", "content": f"imported fact {i} about harbours"} for i in range(4_000)])
    importing = bare.begin("import", source, stdout=subprocess.DEVNULL)
    database = bare.home / "memories.db-wal"
    while importing.poll() is None and not (database.exists() and database.stat().st_size > 1_000_000):
        time.sleep(0.01)
    importing.kill()
    importing.communicate()
    assert bare.run("doctor").code == 0
    again = bare.run("import", source)
    assert again.code == 0, again.stderr
    assert len(bare.run("export").stdout.splitlines()) == 4_000
    assert ids(bare, "imported", "3999")[0] == "row-3999"


def test_many_writers_and_a_hook_do_not_get_into_each_others_way(bare: Machine) -> None:
    bare.run("remember", "The harbour gate opens with the tide table of Cuxhaven")
    rows = write_rows(bare, [{"content": f"bulk fact {i} about moorings"} for i in range(2_000)])
    asked = "When does the harbour gate open, which tide table of Cuxhaven do we use?"
    script = f'for n in $(seq {NOTES}); do "$0" remember "writer $1 note $n about lanterns" --quiet || exit 1; done'
    commands = [["/bin/sh", "-c", script, bare.command, str(number)] for number in range(WRITERS)]
    writers = [
        subprocess.Popen(command, cwd=bare.folder, env=bare.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in (*commands, [bare.command, "import", rows])
    ]
    while any(writer.poll() is None for writer in writers):
        assert_harmless(bare.run("hook", stdin=bare.asking(asked)))  # it may run into its deadline: then it is silent
    for writer in writers:
        out, err = writer.communicate()
        assert writer.returncode == 0, out + err
    assert "Cuxhaven" in bare.answer(bare.asking(asked))
    assert len(bare.run("export").stdout.splitlines()) == 1 + WRITERS * NOTES + 2_000
    assert len(ids(bare, "lanterns")) == WRITERS * NOTES
    assert bare.run("doctor").code == 0


def test_a_reader_that_has_seen_enough_is_no_failure(bare: Machine) -> None:
    bare.run("import", write_rows(bare, [{"content": f"bulk fact {i} about moorings " * 20} for i in range(700)]))
    for arguments in (["list", "-n", "700"], ["export"], ["search", "moorings", "-n", "1000"]):
        writer = bare.begin(*arguments)
        assert writer.stdout is not None
        assert writer.stdout.readline()
        writer.stdout.close()
        writer.stdout = None
        _, errors = writer.communicate()
        assert (writer.returncode, b"ReaderGone" in errors or b"Traceback" in errors) == (0, False), errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_can_not_be_written_is_one_line(bare: Machine) -> None:
    bare.run("remember", "moorings")
    with open("/dev/full", "w") as full:
        process = bare.begin("export", stdout=full.fileno())
        _, errors = process.communicate()
    assert (process.returncode, errors.count(b"\n")) == (3, 1)
    assert b"the output cannot be written: No space left on device; what the command changes is stored" in errors


def test_commands_that_change_settings_at_once_lose_none(bare: Machine) -> None:
    names = ("surfacing.log_prompts", "surfacing.learn", "search_intent.enabled", "capture.remind", "share.at_rest")
    processes = [bare.begin("config", "set", name, "false") for name in names]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * len(names)
    assert [bare.run("config", "get", name).stdout for name in names] == [b"false\n"] * len(names)
