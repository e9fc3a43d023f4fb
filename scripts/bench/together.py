"""Measure writers and readers at work together: what fails, and how long a reader waits for anything but a processor.

Half of the processes are `subcog remember`, one after another, each of another text. The others read as the hook does: each
opens store, index and vectors, answers one prompt and closes them again. A reader's wait is the time in which it neither runs
nor stands in line for a processor, which Linux tells: locks, and the disk. In the end every memory that `remember` has
acknowledged has to be there.

Run it in this checkout, with the Python of an environment that subcog is installed in. Linux.

Example: python -m scripts.bench.together --processes 16 --minutes 10
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from scripts.bench.figures import align, parse_positive, quantile
from scripts.bench.machine import Failed, Subcog, child_environment, describe_environment, describe_machine, find_subcog
from scripts.bench.memories import import_memories, write_memories
from scripts.bench.queries import make_queries
from scripts.bench.recall import for_prompt, opened, wanted_in_first

BEFORE = 10_000  # memories that are there from the beginning
MOST_SHOWN = 5  # errors


class Done(NamedTuple):
    """What one process did. ids: acknowledged memories; took_ms, waited_ms: of each reader's round."""

    errors: list[str]
    ids: list[str]
    took_ms: list[float]
    waited_ms: list[float]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="subcog-bench-") as folder:
        try:
            subcog = find_subcog("")
            home = os.path.join(folder, "home")
            memories = os.path.join(folder, "memories.jsonl")
            write_memories(memories, options.memories)
            import_memories(subcog, memories, folder, child_environment(SUBCOG_HOME=home))
            done = _work(subcog, home, options.processes, options.minutes * 60.0)
            lost = _lost(subcog, home, [one for process in done for one in process.ids])
        except (Failed, OSError, subprocess.SubprocessError) as error:
            sys.exit(f"scripts.bench.together: {error}")
    errors = [failure for process in done for failure in process.errors]
    print(_table(done, len(errors), len(lost)))
    print(f"{options.processes} processes for {options.minutes:g} minutes, {options.memories:,} memories at the beginning;")
    print(describe_machine(describe_environment(subcog)))
    for failure in errors[:MOST_SHOWN]:
        print(f"  {failure}")
    sys.exit(1 if errors or lost else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.together", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=parse_positive, default=16, help="half of them write (default 16)")
    parser.add_argument("--minutes", type=float, default=10.0, help="default 10")
    parser.add_argument("--memories", type=parse_positive, default=BEFORE, help="at the beginning (default 10000)")
    return parser.parse_args()


def _work(subcog: Subcog, home: str, processes: int, seconds: float) -> list[Done]:
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        until = time.time() + seconds
        working: list[Future[Done]] = []
        for number in range(processes):
            task = _write if number % 2 == 0 else _read
            working.append(pool.submit(task, subcog, home, number, until))
        return [one.result() for one in working]


def _write(subcog: Subcog, home: str, number: int, until: float) -> Done:
    done = Done([], [], [], [])
    environment = child_environment(SUBCOG_HOME=home)
    count = 0
    while time.time() < until:
        count += 1
        text = f"Writer {number} notes for the {count}th time that batch {number * 100_000 + count} is shipped by rail."
        ran = subprocess.run(
            [subcog.command, "--quiet", "remember", text],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            done.errors.append(f"remember: exit code {ran.returncode}: {ran.stderr.strip()[-300:]}")
        else:
            done.ids.append(text)
    return done


def _read(_: Subcog, home: str, number: int, until: float) -> Done:
    from subcog_hooks.core.errors import SubcogError

    done = Done([], [], [], [])
    queries = make_queries(200)
    wanted = wanted_in_first()
    count = number
    while time.time() < until:
        count += 1
        began, at_work = time.perf_counter_ns(), _at_work_ns()
        try:
            with opened(home) as sources:
                answer = for_prompt(queries[count % len(queries)].text, sources, wanted)
        except SubcogError as error:
            done.errors.append(f"reading: {error.message}")
            continue
        took, worked = time.perf_counter_ns() - began, _at_work_ns() - at_work
        done.took_ms.append(took / 1e6)
        done.waited_ms.append(max(0, took - worked) / 1e6)
        if answer.is_degraded:
            done.errors.append(f"reading: {answer.note}")
    return done


def _at_work_ns() -> int:
    """Return how long this thread has run, or stood in line for a processor, in nanoseconds."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        running, in_line, _ = file.read().split()
    return int(running) + int(in_line)


def _lost(subcog: Subcog, home: str, texts: Sequence[str]) -> set[str]:
    """Return those of the texts that no memory has."""
    environment = child_environment(SUBCOG_HOME=home)
    listed = subprocess.run([subcog.command, "export"], cwd=home, env=environment, capture_output=True, text=True, check=True)
    return {text for text in texts if f'"{text}"' not in listed.stdout}


def _table(done: Sequence[Done], errors: int, lost: int) -> str:
    took = [ms for process in done for ms in process.took_ms]
    waited = [ms for process in done for ms in process.waited_ms]
    written = sum(len(process.ids) for process in done)
    numbers = [f"{quantile(waited, share):.1f}" for share in (0.5, 0.99)]
    row = [
        f"{written:,}",
        f"{len(took):,}",
        str(errors),
        str(lost),
        f"{quantile(took, 0.5):.1f}",
        *numbers,
        f"{max(waited):.1f}",
    ]
    return align([["written", "read", "errors", "lost", "read ms", "wait ms", "p99", "longest"], row])


if __name__ == "__main__":
    main()
