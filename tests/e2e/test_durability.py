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

from tests.e2e.machine import ATTEMPTS, Machine, wait_until

ROUNDS = 5
WRITERS = 8
NOTES = 4

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 and process groups are POSIX")

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


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "SUBCOG_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}


def run(command: list[str], environment: dict[str, str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def is_written(log: Path) -> bool:
    return log.stat().st_size > 0


def test_acknowledged_memories_survive_killed_writers(subcog_command: str, environment: dict[str, str], tmp_path: Path) -> None:
    acknowledged: list[tuple[str, str]] = []
    dice = random.Random(20)
    for number in range(ROUNDS):
        log = tmp_path / f"acknowledged-{number}"
        with log.open("w") as out:
            command = [sys.executable, "-c", LOOP, subcog_command, f"w{number}"]
            writer = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
            wait_until(partial(is_written, log), 30)
            time.sleep(dice.uniform(0, 1))
            os.killpg(writer.pid, signal.SIGKILL)
            writer.wait()
        acknowledged += [(line.split()[0], line.split()[1]) for line in log.read_text().splitlines() if len(line.split()) == 2]
    assert len(acknowledged) >= ROUNDS
    stored = {json.loads(line)["id"] for line in run([subcog_command, "export"], environment).stdout.splitlines()}
    assert {id_ for id_, _ in acknowledged} <= stored
    queries = "".join(json.dumps({"id": id_, "query": word}) + "\n" for id_, word in acknowledged)
    answers = run([subcog_command, "search", "--batch", "-", "-n", "1"], environment, queries).stdout.splitlines()
    found = {row["id"]: [hit["id"] for hit in row["results"]] for row in map(json.loads, answers)}
    assert found == {id_: [id_] for id_, _ in acknowledged}
    doctor = run([subcog_command, "doctor"], environment)
    assert (doctor.returncode, "BAD" in doctor.stdout) == (0, False), doctor.stdout


def test_a_killed_import_leaves_whole_chunks(subcog_command: str, environment: dict[str, str], tmp_path: Path) -> None:
    rows = [json.dumps({"id": f"row-{i}", "content": f"imported fact {i} about harbours and tides"}) for i in range(4_000)]
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(rows))
    importing = subprocess.Popen([subcog_command, "import", str(source)], env=environment, stdout=subprocess.DEVNULL)
    database = tmp_path / "home" / "memories.db-wal"
    while importing.poll() is None and not (database.exists() and database.stat().st_size > 1_000_000):
        time.sleep(0.01)
    importing.kill()
    importing.wait()
    assert run([subcog_command, "doctor"], environment).returncode == 0
    again = run([subcog_command, "import", str(source)], environment)
    assert again.returncode == 0, again.stderr
    assert len(run([subcog_command, "export"], environment).stdout.splitlines()) == 4_000
    assert run([subcog_command, "search", "--ids", "-n", "1", "imported", "3999"], environment).stdout == "row-3999\n"


def test_many_writers_and_a_hook_do_not_get_into_each_others_way(
    subcog_command: str, environment: dict[str, str], tmp_path: Path
) -> None:
    run([subcog_command, "remember", "--user", "The harbour gate opens with the tide table of Cuxhaven"], environment)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({"content": f"bulk fact {i} about moorings"}) for i in range(2_000)))

    def answer(session: str) -> str:
        payload = {"session_id": session, "cwd": str(tmp_path), "hook_event_name": "UserPromptSubmit"}
        payload["prompt"] = "When does the harbour gate open, which tide table of Cuxhaven do we use?"
        hook = run([subcog_command, "hook"], environment, json.dumps(payload))
        assert (hook.returncode, hook.stderr) == (0, "")
        return str(json.loads(hook.stdout)["hookSpecificOutput"]["additionalContext"]) if hook.stdout else ""

    script = f'for n in $(seq {NOTES}); do "$0" remember "writer $1 note $n about lanterns" --quiet || exit 1; done'
    commands = [["/bin/sh", "-c", script, subcog_command, str(number)] for number in range(WRITERS - 1)]
    writers = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in (*commands, [subcog_command, "import", str(rows)])
    ]
    runs = 0
    while any(writer.poll() is None for writer in writers):
        answer(f"session {runs}")  # on a busy machine it may run into its deadline: then it is silent
        runs += 1
    for writer in writers:
        out, err = writer.communicate()
        assert writer.returncode == 0, out + err
    assert runs > 0
    assert any("Cuxhaven" in answer(f"at rest {number}") for number in range(ATTEMPTS))
    exported = run([subcog_command, "export"], environment).stdout.splitlines()
    assert len(exported) == 1 + (WRITERS - 1) * NOTES + 2_000
    lanterns = run([subcog_command, "search", "--fast", "--ids", "-n", "1000", "lanterns"], environment).stdout.split()
    assert len(lanterns) == (WRITERS - 1) * NOTES
    assert run([subcog_command, "doctor"], environment).returncode == 0


def test_a_reader_that_has_seen_enough_is_no_failure(subcog_command: str, environment: dict[str, str], tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({"content": f"bulk fact {i} about moorings " * 20}) for i in range(700)))
    run([subcog_command, "import", str(rows)], environment)
    for arguments in (["list", "-n", "700"], ["export"], ["search", "moorings", "-n", "1000"]):
        writer = subprocess.Popen([subcog_command, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline()
        writer.stdout.close()
        _, errors = writer.communicate()
        assert (writer.returncode, b"ReaderGone" in errors or b"Traceback" in errors) == (0, False), errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_can_not_be_written_is_one_line(subcog_command: str, environment: dict[str, str]) -> None:
    run([subcog_command, "remember", "--user", "moorings"], environment)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [subcog_command, "export"], env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "the output cannot be written: No space left on device; what the command changes is stored" in done.stderr


def test_commands_that_change_settings_at_once_lose_none(bare: Machine) -> None:
    names = ("surfacing.log_prompts", "surfacing.learn", "search_intent.enabled", "capture.remind", "share.at_rest")
    processes = [bare.begin("config", "set", name, "false") for name in names]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * len(names)
    assert [bare.run("config", "get", name).stdout for name in names] == [b"false\n"] * len(names)
