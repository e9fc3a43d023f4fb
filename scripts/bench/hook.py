"""Measure `subcog hook` as a whole process, against a bare interpreter of the same environment, run by run in turn.

For each store size a synthetic memory set is written and imported into a throw-away home: 19 of 20 memories have a trigger,
each tenth a glob of paths. Every run of a hook is a new session: a prompt has to bring one known memory and another none, an
edit of a file that this memory is about brings it and of another file nothing, a start brings a brief, or the measurement
stops; of runs that a busy machine has ended at their deadline few may be among them. The hook is the command that `subcog init`
registers, or with --console-script the one that the plugin runs. `subcog search` is measured as a process, too, and as a script
calls it (--fast --json). With --load other processes keep the processors busy; then what did not speak is counted, not refused.
The figures are printed and, with --json, written; nothing is judged. Linux and macOS.

Without --subcog the package of this checkout is installed into a fresh virtual environment of its own: an editable
installation, or one without cached bytecode, measures something that no user has.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from scripts.bench.figures import align, mib, parse_positive, parse_sizes, quantile
from scripts.bench.machine import (
    Failed,
    Subcog,
    child_environment,
    describe_environment,
    end_by_signal,
    find_subcog,
    install_subcog,
    registered_command,
    show_progress,
)
from scripts.bench.memories import SEARCH, TARGET_ID, edit_text, import_memories, likeness, project_name, write_memories

PROMPT = "How do we rotate the signing keys of the webhook gateway, and how long does the previous key stay valid?"
ORDER = "commit this"
OF_TARGET, OF_NOTHING = "ops/rotation/keys/next.yaml", "lib/button.css"  # files
SEARCHES: tuple[list[str], ...] = ([], ["--fast"])  # with the neural model, and as a script does
MOST_LATE = 0.1  # runs that a busy machine may end at their deadline, of those that have to bring the memory


class Run(NamedTuple):
    """One process: wall time in milliseconds, peak memory in MiB, its exit code and what it printed."""

    ms: float
    peak_mib: float
    code: int
    output: bytes


class Case(NamedTuple):
    """A question to one process.

    title: in the table; key: of its figures; brings: whether the known memory has to come, None: some memory.
    """

    title: str
    key: str
    event: str
    brings: bool | None
    asked: dict[str, object]


class Plan(NamedTuple):
    """What is measured: hook, the command of the hook; load: how many processes keep the processors busy meanwhile."""

    subcog: Subcog
    hook: list[str]
    runs: int
    search_runs: int
    load: int
    stores: str


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, end_by_signal)  # so that the temporary folder goes away then, too
    with tempfile.TemporaryDirectory(prefix="subcog-bench-") as folder:
        try:
            subcog = find_subcog(options.subcog) if options.subcog is not None else install_subcog(folder)
            environment = describe_environment(subcog)
            hook = [subcog.command, "hook"] if options.console_script else registered_command(subcog, folder)
            plan = Plan(subcog, hook, options.runs, options.search_runs, options.load, options.stores)
            sizes = [_measure(plan, size, folder) for size in options.sizes]
        except (Failed, OSError, subprocess.SubprocessError) as error:
            sys.exit(f"scripts.bench.hook: {error}")
    show_progress("")
    print(_table(sizes))
    print(_described(environment, plan))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            told = {"environment": environment, "runs": options.runs, "load": options.load, "command": hook, "sizes": sizes}
            json.dump(told, file, indent=1)
            file.write("\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.hook", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--subcog",
        nargs="?",
        const="",
        metavar="PATH",
        help="measure this executable; without PATH the one in .venv of the checkout, else the one on the PATH",
    )
    parser.add_argument("--runs", type=parse_positive, default=60, help="of the hook for each size (default 60)")
    parser.add_argument("--search-runs", type=parse_positive, default=20, help="of the search for each size (default 20)")
    parser.add_argument("--sizes", type=parse_sizes, default=[100, 10_000, 100_000], help="default 100,10000,100000")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="processes that do nothing but keep a processor busy")
    parser.add_argument(
        "--stores", default="", metavar="DIR", help="keep the stores in this folder, and use those that are there"
    )
    parser.add_argument("--console-script", action="store_true", help="measure `subcog hook`, as the plugin runs it")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file")
    return parser.parse_args()


# ---- measuring -------------------------------------------------------------------------------------------------------


def _measure(plan: Plan, size: int, folder: str) -> dict[str, object]:
    """Return all figures of one store size."""
    subcog, runs = plan.subcog, plan.runs
    home, project, environment, took = import_store(subcog, size, folder, plan.stores)
    bare = [subcog.python, "-c", "pass"]
    cases = hook_cases(project)
    hooks: dict[str, list[Run]] = {case.key: [] for case in cases}
    bares: list[Run] = []
    with keep_busy(plan.load, subcog.python):
        for number in range(-1, runs):  # the first is the warm-up
            for at in range(len(cases)):
                case = cases[(at + number) % len(cases)]
                done = _hook(plan.hook, case, number, project, environment)
                if number >= 0:
                    hooks[case.key].append(done)
                if at == 0:
                    done = _run(bare, b"", project, environment)
                    if number >= 0:
                        bares.append(done)
            show_progress(f"{size:,} memories: run {number + 1} of {runs}")
        silent = {
            f"{case.key}_late": sum(not run.output for run in hooks[case.key]) for case in cases if case.brings is not False
        }
        late = sum(silent.values())
        if late > MOST_LATE * runs and not plan.load:
            raise Failed(f"{late} runs brought nothing in time")
        searches, fast = (
            [_search(subcog, more, project, environment) for _ in range(plan.search_runs + 1)][1:] for more in SEARCHES
        )
    if not plan.stores:
        shutil.rmtree(home)
    return _figures(size, took, hooks, bares, searches, fast) | silent | {"late": late}


def import_store(subcog: Subcog, size: int, folder: str, stores: str = "") -> tuple[str, str, dict[str, str], float]:
    """Return a home with `size` memories, a project, the environment for both, and the seconds that the import took.

    stores: the folder in which it is kept, and taken from where it is there; the import took no time then.
    """
    home = os.path.join(stores, f"hook-{size}-{likeness()}") if stores else os.path.join(folder, "home")
    project = os.path.join(folder, "project")
    path = os.path.join(folder, "memories.jsonl")
    os.makedirs(os.path.join(project, ".git"), exist_ok=True)
    with open(os.path.join(project, ".git", "config"), "w", encoding="utf-8") as file:
        file.write(f'[remote "origin"]\n\turl = https://{project_name(0)}.git\n')
    environment = child_environment(SUBCOG_HOME=home)
    if stores and os.path.exists(home):
        for name in ("state.db", "state.db-wal", "state.db-shm"):  # what sessions have been given before
            Path(home, name).unlink(missing_ok=True)
        return home, project, environment, 0.0
    show_progress(f"{size:,} memories: writing")
    write_memories(path, size)
    show_progress(f"{size:,} memories: importing")
    return home, project, environment, import_memories(subcog, path, project, environment)


@contextmanager
def keep_busy(processes: int, python: str) -> Iterator[None]:
    """Keep the processors busy meanwhile."""
    started = [subprocess.Popen([python, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def hook_cases(project: str) -> list[Case]:
    def edit(path: str) -> dict[str, object]:
        given = {"file_path": os.path.join(project, path), "old_string": "x", "new_string": edit_text()}
        return {"tool_name": "Edit", "tool_input": given}

    return [
        Case("hook", "hook", "UserPromptSubmit", True, {"prompt": PROMPT}),
        Case("silent", "silent", "UserPromptSubmit", False, {"prompt": ORDER}),
        Case("tool", "tool", "PreToolUse", True, edit(OF_TARGET)),
        Case("tool silent", "tool_silent", "PreToolUse", False, edit(OF_NOTHING)),
        Case("start", "start", "SessionStart", None, {"source": "startup"}),
        Case("stop", "stop", "Stop", False, {"stop_hook_active": False}),
    ]


def hook_payload(case: Case, number: int | str, folder: str) -> bytes:
    """Return the payload of a run of its own session."""
    payload = {
        "session_id": f"bench-{case.key}-{number}",
        "transcript_path": os.path.join(folder, f"bench-{number}.jsonl"),
        "cwd": folder,
        "permission_mode": "default",
        "hook_event_name": case.event,
        **case.asked,
    }
    return json.dumps(payload).encode() + b"\n"


def _hook(command: list[str], case: Case, number: int | str, folder: str, environment: dict[str, str]) -> Run:
    done = _run(command, hook_payload(case, number, folder), folder, environment)
    if done.output and case.brings is not None and (TARGET_ID.encode() in done.output) != case.brings:
        wanted = "bring the memory" if case.brings else "bring nothing"
        raise Failed(f"run {number} of {case.title!r} did not {wanted}; it printed {done.output[:300]!r}")
    return done


def _search(subcog: Subcog, more: list[str], folder: str, environment: dict[str, str]) -> Run:
    done = _run([subcog.command, "search", "--json", "-n", "5", *more, *SEARCH], b"", folder, environment)
    if done.code or TARGET_ID.encode() not in done.output:
        raise Failed(f"the search did not find the memory; it printed {done.output[:300]!r}")
    return done


def _run(command: list[str], stdin: bytes, folder: str, environment: dict[str, str]) -> Run:
    """Run one process from its start until it has been reaped. Its input fits into the buffer of a pipe."""
    stdin_read, stdin_write = os.pipe()
    os.write(stdin_write, stdin)
    os.close(stdin_write)
    output = b""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=stdin_read, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=environment
    )
    try:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.perf_counter()
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        os.close(stdin_read)
        if process.returncode is None:
            process.kill()
        with process:
            pass
    return Run((ended - started) * 1000, mib(usage.ru_maxrss), process.returncode, output)


# ---- figures ---------------------------------------------------------------------------------------------------------


def _figures(
    size: int, import_s: float, hooks: dict[str, list[Run]], bares: list[Run], searches: list[Run], fast: list[Run]
) -> dict[str, object]:
    bare_ms, search_ms, fast_ms = ([run.ms for run in runs] for runs in (bares, searches, fast))
    figures: dict[str, object] = {
        "memories": size,
        "import_s": round(import_s, 2),
        "bare_median_ms": round(quantile(bare_ms, 0.5), 2),
    }
    for key, runs in hooks.items():
        ms = [run.ms for run in runs]
        ratio = "" if key == "hook" else f"{key}_"
        figures |= {
            f"{key}_median_ms": round(quantile(ms, 0.5), 2),
            f"{key}_p95_ms": round(quantile(ms, 0.95), 2),
            f"{ratio}ratio": round(quantile(ms, 0.5) / quantile(bare_ms, 0.5), 3),
            f"{ratio}pairwise_ratio": round(quantile([h / b for h, b in zip(ms, bare_ms, strict=True)], 0.5), 3),
            f"{key}_ms": [round(value, 2) for value in ms],
        }
    return figures | {
        "hook_peak_mib": round(max(run.peak_mib for run in hooks["hook"]), 1),
        # Linux counts what a process was before exec, so no child seems smaller than this script
        "least_peak_mib": round(mib(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss), 1),
        "search_median_ms": round(quantile(search_ms, 0.5), 1),
        "search_p95_ms": round(quantile(search_ms, 0.95), 1),
        "fast_median_ms": round(quantile(fast_ms, 0.5), 1),
        "fast_p95_ms": round(quantile(fast_ms, 0.95), 1),
        "fast_ratio": round(quantile(fast_ms, 0.5) / quantile(bare_ms, 0.5), 3),
        "bare_ms": [round(value, 2) for value in bare_ms],
    }


COLUMNS = (
    ("memories", "memories", ",d"),
    ("import s", "import_s", ".1f"),
    ("bare ms", "bare_median_ms", ".1f"),
    ("hook ms", "hook_median_ms", ".1f"),
    ("hook p95", "hook_p95_ms", ".1f"),
    ("ratio", "ratio", ".2f"),
    ("pairwise", "pairwise_ratio", ".2f"),
    ("silent ms", "silent_median_ms", ".1f"),
    ("ratio", "silent_ratio", ".2f"),
    ("tool ms", "tool_median_ms", ".1f"),
    ("p95", "tool_p95_ms", ".1f"),
    ("ratio", "tool_ratio", ".2f"),
    ("silent tool", "tool_silent_median_ms", ".1f"),
    ("p95", "tool_silent_p95_ms", ".1f"),
    ("ratio", "tool_silent_ratio", ".2f"),
    ("start ms", "start_median_ms", ".1f"),
    ("p95", "start_p95_ms", ".1f"),
    ("ratio", "start_ratio", ".2f"),
    ("stop ms", "stop_median_ms", ".1f"),
    ("ratio", "stop_ratio", ".2f"),
    ("late", "late", "d"),
    ("peak MiB", "hook_peak_mib", ".1f"),
    ("search ms", "search_median_ms", ".0f"),
    ("search p95", "search_p95_ms", ".0f"),
    ("fast ms", "fast_median_ms", ".0f"),
    ("p95", "fast_p95_ms", ".0f"),
    ("ratio", "fast_ratio", ".2f"),
)


def _table(sizes: list[dict[str, object]]) -> str:
    rows = [[title for title, _, _ in COLUMNS]]
    rows += [[format(size[key], form) for _, key, form in COLUMNS] for size in sizes]
    return align(rows)


def _described(environment: dict[str, object], plan: Plan) -> str:
    installed = "an editable installation" if environment["editable"] else "installed"
    return (
        f"{plan.runs} runs of each hook and the bare interpreter in turn, {plan.search_runs} of each search; ms are medians; "
        f"{f'{plan.load} busy processes beside them; ' if plan.load else ''}"
        f"subcog {installed}, run {'isolated' if '-I' in plan.hook else 'by its console script'}, "
        f"commit {environment['commit']}; {environment['implementation']} {environment['python']}, "
        f"{environment['platform']}, {environment['cpu']}, {environment['cores']} cores"
    )


if __name__ == "__main__":
    main()
