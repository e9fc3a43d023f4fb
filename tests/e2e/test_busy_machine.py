"""A machine that is busy with something else: a typed note is answered, and a run that is cut off is known."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.machine import QUESTION, Machine, linux, posix

NOTES, NOTE_LOOPS = 5, 16  # loops among which no note was answered, before its end was put off first
OUTCOMES = ("remembered as", "not stored, because", "while the note was being stored")
NOTE_STOPPED_S = 3.3  # longer than a note has
STOPPED_S = 1.3  # longer than the second that the hook has
TRIES = 5


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that never rest."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def cut_offs(machine: Machine) -> int:
    return int(json.loads(machine.run("report", "--json").stdout)["cut_off"])


@posix
def test_a_typed_note_is_stored_or_its_author_told_so(bare: Machine) -> None:
    bare.environment |= {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDECODE": "1"}
    assert bare.run("remember", "Ropes are replaced every spring.").code == 0
    with busy(NOTE_LOOPS):
        answers = [json.loads(bare.prompt(f"remember: crane {number} is green").stdout) for number in range(NOTES)]
    assert {answer["decision"] for answer in answers} == {"block"}
    reasons = [answer["reason"] for answer in answers]
    kept, lost, unsure = (sum(words in reason for reason in reasons) for words in OUTCOMES)
    assert kept + lost + unsure == NOTES
    assert kept <= bare.run("list", "--jsonl").stdout.count(b"crane") <= kept + unsure


@linux
def test_a_note_whose_process_was_stopped_for_long_is_answered(bare: Machine) -> None:
    bare.environment |= {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDECODE": "1"}
    assert bare.run("remember", "Ropes are replaced every spring.").code == 0
    printed = stopped(bare, bare.asking("remember: the crane is green"), "memories.db", NOTE_STOPPED_S)
    assert json.loads(printed)["decision"] == "block"
    if OUTCOMES[2].encode() not in printed:
        assert (b"remembered as" in printed) == (b"crane" in bare.run("list", "--jsonl").stdout)


def stopped_in_between(machine: Machine) -> bytes:
    """What a hook prints that is stopped while it is at work, for longer than it has."""
    return stopped(machine, machine.asking(QUESTION), "state.db", STOPPED_S)


def stopped(machine: Machine, payload: bytes, file: str, seconds: float) -> bytes:
    """What a hook prints that is stopped as soon as it has opened a file."""
    with machine.begin("hook") as hook:
        assert hook.stdin is not None
        hook.stdin.write(payload)
        hook.stdin.close()
        hook.stdin = None
        while hook.poll() is None and not has_opened(hook.pid, file):
            pass
        if hook.poll() is None:
            hook.send_signal(signal.SIGSTOP)
            threading.Event().wait(seconds)
            hook.send_signal(signal.SIGCONT)
        return hook.communicate(timeout=60)[0]


def has_opened(process: int, name: str) -> bool:
    folder = f"/proc/{process}/fd"
    try:
        return any(os.readlink(f"{folder}/{number}").endswith(name) for number in os.listdir(folder))
    except OSError:  # it has just been closed, or all of it is over
        return False


@linux
def test_a_run_that_is_cut_off_is_counted_listed_and_named(machine: Machine) -> None:
    assert (cut_offs(machine), b"cut off" in machine.run("doctor").stdout) == (0, False)
    (machine.home / "cut-offs").unlink(missing_ok=True)  # of the hook that doctor has tried
    for _ in range(TRIES):  # it may have been done before it could be stopped
        stopped_in_between(machine)
        if cut_offs(machine):
            break
    assert cut_offs(machine) == 1
    assert b"1 run cut off: this machine was busy" in machine.run("report", "--details").stderr
    assert b"cut off        0  UserPromptSubmit: this machine was too busy" in machine.run("why", "list").stdout
    listed = json.loads(machine.run("why", "list", "--json").stdout)
    assert [one["event"] for one in listed if one["outcome"] == "cut_off"] == ["UserPromptSubmit"]
    assert b" runs of the hook was cut off: this machine was busy" in machine.run("doctor").stdout
    os.unlink(machine.home / "cut-offs")
    assert cut_offs(machine) == 0
