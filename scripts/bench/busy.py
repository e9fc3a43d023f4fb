"""Count how many prompts and tool calls the hook answers while test runs and builds keep the machine busy. Linux.

Beside loops that never rest, the hook runs with less priority and at most a share of a core, as in a small container: 20
prompts and 20 edits of a file, each of which should bring one known memory. A run that brings nothing has to leave a trace.
The hook is the command that `subcog init` registers; of the store it reads 10,000 memories.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

from scripts.bench.figures import align, parse_positive, quantile
from scripts.bench.hook import Case, hook_cases, hook_payload, import_store, keep_busy
from scripts.bench.machine import Failed, describe_environment, describe_machine, find_subcog, registered_command, show_progress
from scripts.bench.memories import TARGET_ID

PERIOD_S = 0.1  # The share of a core is counted over this time, as the kernel's CPU quota is.
LOOK_S = 0.002  # between two looks at the processor time of the hook


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="subcog-bench-") as folder:
        try:
            subcog = find_subcog(options.subcog)
            hook = registered_command(subcog, folder)
            home, project, environment, _ = import_store(subcog, options.size, folder, options.stores)
            cases = [case for case in hook_cases(project) if case.key in ("hook", "tool")]
            rows = [["", "spoke", "traced", "neither", "ms: median", "p95"]]
            with keep_busy(options.load, subcog.python):
                rows += [_count(case, options, hook, project, environment, home) for case in cases]
        except (Failed, OSError, subprocess.SubprocessError) as error:
            sys.exit(f"scripts.bench.busy: {error}")
        show_progress("")
        print(align(rows))
        print(
            f"{options.load} loops, nice {options.nice}, at most {options.cpu:g} cores, {options.size:,} memories; "
            f"{describe_machine(describe_environment(subcog))}"
        )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.busy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subcog", default="", metavar="PATH", help="measure this executable")
    parser.add_argument("--runs", type=parse_positive, default=20, help="prompts, and tool calls (default 20)")
    parser.add_argument("--size", type=parse_positive, default=10_000, help="memories (default 10,000)")
    parser.add_argument("--load", type=int, default=8, help="loops that never rest (default 8)")
    parser.add_argument("--nice", type=int, default=5, help="how much less priority the hook has (default 5)")
    parser.add_argument("--cpu", type=float, default=0.5, help="the share of a core that the hook may use (default .5)")
    parser.add_argument("--stores", default="", metavar="DIR", help="keep the store in this folder, and use one that is there")
    return parser.parse_args()


def _count(
    case: Case, options: argparse.Namespace, hook: list[str], project: str, environment: dict[str, str], home: str
) -> list[str]:
    """Return a row: how many runs of this case spoke, left a trace, or did neither, and how long they took."""
    outcomes: Counter[str] = Counter()
    times = []
    for number in range(options.runs):
        payload = hook_payload(case, f"busy-{number}", project)
        before = _traces(home)
        started = time.perf_counter()
        output = _run_slowed(hook, payload, project, environment, options.nice, options.cpu)
        times.append((time.perf_counter() - started) * 1000)
        if output and TARGET_ID.encode() not in output:
            raise Failed(f"run {number} of {case.title!r} brought another memory: {output[:300]!r}")
        outcomes["spoke" if output else "traced" if _traces(home) > before else "neither"] += 1
        show_progress(f"{case.title}: run {number + 1} of {options.runs}")
    counts = [str(outcomes[outcome]) for outcome in ("spoke", "traced", "neither")]
    return [case.title, *counts, f"{quantile(times, 0.5):.0f}", f"{quantile(times, 0.95):.0f}"]


def _traces(home: str) -> int:
    path = os.path.join(home, "cut-offs")
    return os.path.getsize(path) if os.path.exists(path) else 0


def _run_slowed(command: list[str], payload: bytes, folder: str, environment: dict[str, str], nice: int, cpu: float) -> bytes:
    """Return the output of a process with less priority that is stopped whenever it has used its share of a period."""
    process = subprocess.Popen(
        ["nice", "-n", str(nice), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
    )
    limiter = threading.Thread(target=_limit, args=(process, cpu))
    limiter.start()
    try:
        output, _ = process.communicate(payload)
    finally:
        process.kill()
        limiter.join()
    return output


def _limit(process: "subprocess.Popen[bytes]", cpu: float) -> None:
    """Stop a process for the rest of each period in which it has used its share of a core."""
    clock = (~process.pid << 3) | 2  # Linux's number of the clock of a process's processor time
    try:
        while process.poll() is None:
            begun, used = time.monotonic(), time.clock_gettime(clock)
            while (left := begun + PERIOD_S - time.monotonic()) > 0:
                if time.clock_gettime(clock) - used >= cpu * PERIOD_S:
                    process.send_signal(signal.SIGSTOP)
                    time.sleep(left)
                    break
                time.sleep(LOOK_S)
            process.send_signal(signal.SIGCONT)
    except OSError:
        pass  # The process has ended.


if __name__ == "__main__":
    main()
