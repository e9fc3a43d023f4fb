"""Two hundred prompts in a row, many of which are looked at again: no process stays, and each look is cheap.

It takes a minute and more, so only with SUBCOG_EVAL=1; with `-s` the figures are printed.
"""

import ctypes
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, linux
from tests.e2e.test_second_look import LONG_S, WAGES, command_of, looking, paid, payroll

PROMPTS = 200
SESSIONS = 2  # that type in turn
MOST_CPU_S = 0.7  # of a look
PR_SET_CHILD_SUBREAPER = 36  # orphans become ours, and so what they have used is told

__all__ = ["paid", "payroll"]  # the fixtures
pytestmark = [linux, pytest.mark.skipif(os.environ.get("SUBCOG_EVAL") != "1", reason="SUBCOG_EVAL is not 1")]


@pytest.fixture
def reaping() -> Iterator[None]:
    """This process as the parent of whatever its children leave behind."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0


def children() -> list[int]:
    return [int(number) for number in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def reaped(looks: set[int], *, waits: bool = False) -> Iterator[float]:
    """Yield the seconds of processor of each look that has ended. waits: until all have."""
    while children():
        looks.update(number for number in children() if b"--second-look" in command_of(number))
        number, _, used = os.wait4(-1, 0 if waits else os.WNOHANG)
        if not number:
            return
        if number in looks:
            yield used.ru_utime + used.ru_stime


def test_no_process_stays_and_a_look_is_cheap(paid: Machine, reaping: None) -> None:
    looks: set[int] = set()
    used: list[float] = []
    most = 0
    for number in range(PROMPTS):
        command = [paid.command, "hook"]
        payload = paid.asking(f"{WAGES} ({number})", f"s{number % SESSIONS}-{number // SESSIONS}")
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=paid.environment) as hook:
            hook.communicate(payload, timeout=LONG_S)
        most = max(most, len(looking(paid)))
        used += reaped(looks)
    started = time.monotonic()
    used += reaped(looks, waits=True)
    print(f"{len(used)} looks, at most {most} at once, all gone {time.monotonic() - started:.1f} s after the last prompt")
    print(f"processor: median {statistics.median(used):.2f} s, most {max(used):.2f} s")
    assert looking(paid) == []
    assert statistics.median(used) <= MOST_CPU_S
