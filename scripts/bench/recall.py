"""Measure recall inside one process: the hook's and `subcog search`'s, by the number of memories.

For each store size the memories of scripts.bench.memories are imported into a home of its own; a fresh process opens it once,
as the hook does, and answers different queries (three words, a question, an identifier, a prompt of 60 words) in the first of
the projects, each with both functions in turn. What starting, opening and printing cost is measured by scripts.bench.hook.

Run it in this checkout, with the Python of an environment that subcog is installed in. Linux and macOS.

Example: python -m scripts.bench.recall --stores ~/bench-stores --sizes 10000,30000,100000 --plot recall.svg
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

from scripts.bench.figures import align, mib, mib_on_disk, parse_positive, parse_sizes, quantile
from scripts.bench.machine import (
    Failed,
    Subcog,
    child_environment,
    describe_environment,
    describe_machine,
    end_by_signal,
    show_progress,
)
from scripts.bench.memories import SEARCH, TARGET_ID, import_memories, likeness, project_name, write_memories
from scripts.bench.plot import draw_plot
from scripts.bench.queries import KINDS, Query, make_queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from subcog_hooks.recall.candidates import Sources
    from subcog_hooks.recall.hits import Answer
    from subcog_hooks.store.store_reader import Filter

LIMITS_MS = {10_000: 15.0, 100_000: 40.0}  # memories: the p95 that neither of the two may exceed, with --assert

PATIENCE_MS = 60_000.0  # nothing is broken off: the whole tail is measured
HITS = 10  # of a search
QUERIES = 200
WARM_UP = 8  # queries before the measured ones, two of each kind
LEAST_ANSWERED = 0.9  # of the queries; a store that answers fewer is not the one meant
BYTES_EACH = 3_000  # of a memory, on disk while it is imported; 2,000 were measured, 1,400 of them stay


class Timed(NamedTuple):
    """Measurements of one process. Milliseconds of each query in the order of the queries, peak memory in MiB."""

    hook_ms: list[float]
    search_ms: list[float]
    idle_mib: float
    peak_mib: float
    answered: float


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, end_by_signal)  # so that the temporary folder goes away then, too
    with ExitStack() as stack:
        folder = options.stores or stack.enter_context(tempfile.TemporaryDirectory(prefix="subcog-bench-"))
        try:
            subcog = installed_subcog()
            environment = describe_environment(subcog)
            queries = make_queries(options.queries + WARM_UP)
            sizes = [_measure(subcog, size, queries, folder, keep=bool(options.stores)) for size in options.sizes]
        except (Failed, BrokenExecutor, OSError, subprocess.SubprocessError) as error:
            sys.exit(f"scripts.bench.recall: {error}")
    show_progress("")
    missed = _missed(sizes)
    print(_table(sizes))
    print(_described(environment, options.queries))
    print("\n".join(missed), end="\n" if missed else "")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"environment": environment, "queries": options.queries, "sizes": sizes}, file, indent=1)
            file.write("\n")
    if options.plot:
        with open(options.plot, "w", encoding="utf-8") as file:
            file.write(draw_plot(sizes, environment))
    if options.strict and missed:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.recall", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=parse_sizes, default=[10_000, 100_000], help="default 10000,100000")
    parser.add_argument("--queries", type=parse_positive, default=QUERIES, help=f"different ones (default {QUERIES})")
    parser.add_argument("--stores", metavar="DIR", help="keep the stores in this folder, and use those that are there")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file")
    parser.add_argument("--plot", type=_svg, metavar="FILE.svg", help="draw median and p95 against the number of memories")
    parser.add_argument("--assert", dest="strict", action="store_true", help=f"exit code 1 when a p95 is over {_limits()}")
    return parser.parse_args()


def _svg(path: str) -> str:
    if not path.endswith(".svg"):
        raise argparse.ArgumentTypeError(f"{path!r} does not end in .svg, the only form there is")
    return path


def _limits() -> str:
    return ", ".join(f"{limit:g} ms for {size:,} memories" for size, limit in LIMITS_MS.items())


# ---- stores ----------------------------------------------------------------------------------------------------------


def installed_subcog() -> Subcog:
    """Return the executable of the environment that runs this script."""
    command = os.path.join(os.path.dirname(sys.executable), "subcog")
    if not os.access(command, os.X_OK):
        raise Failed(f"subcog is not installed for {sys.executable}; install it there, or run this with another Python")
    return Subcog(command, sys.executable)


def _home(subcog: Subcog, size: int, folder: str) -> str:
    """Return a home with `size` memories: the one kept in `folder` when it is of the same memories, else a new one.

    It gets its name when all of it is there, so that an import that was broken off is not taken for a store.
    """
    home = os.path.join(folder, f"recall-{size}-{likeness()}")
    if os.path.exists(home):
        _follow(subcog, home)
        return home
    os.makedirs(folder, exist_ok=True)
    free, needed = shutil.disk_usage(folder).free, size * BYTES_EACH
    if free < needed:
        raise Failed(f"{size:,} memories need {needed / 1e9:.1f} GB in {folder} for a time, {free / 1e9:.1f} are free")
    with tempfile.TemporaryDirectory(prefix="import-", dir=folder) as place:
        memories, new = os.path.join(place, "memories.jsonl"), os.path.join(place, "home")
        show_progress(f"{size:,} memories: writing")
        write_memories(memories, size)
        show_progress(f"{size:,} memories: importing")
        import_memories(subcog, memories, place, child_environment(SUBCOG_HOME=new))
        os.rename(new, home)
    return home


def _follow(subcog: Subcog, home: str) -> None:
    """Bring the index and the vectors of a kept store to the present code's form, which any search does first."""
    show_progress(f"{home}: following")
    command = [subcog.command, "search", "--fast", "--all-projects", "--ids", *SEARCH]
    environment = child_environment(SUBCOG_HOME=home)
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or TARGET_ID not in done.stdout:
        raise Failed(f"{home} does not hold the memories meant; remove the folder: {done.stderr.strip()[-500:]}")


# ---- what is called of subcog: only the process that is measured loads the package ----------------------------------


@contextmanager
def opened(root: str) -> Iterator[Sources]:
    """Open what the hook opens."""
    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed import static_encoder
    from subcog_hooks.recall import vectors as recall_vectors
    from subcog_hooks.recall.candidates import Sources
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import VectorStore

    home = Home(root)
    index = LexicalIndex.open(home)
    encoder = static_encoder.StaticEncoder.open()
    with Store.reader(home) as store, VectorStore.reader(home, static_encoder.SPACE, encoder.dimension) as vectors:
        yield Sources(index, store, recall_vectors.SearchSpace(vectors, encoder.encode))


def for_prompt(text: str, sources: Sources, wanted: Filter) -> Answer:
    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall import pipeline
    from subcog_hooks.recall.hits import Eligibility
    from subcog_hooks.store.memory import now_ms

    return pipeline.recall_for_prompt(text, sources, Eligibility(wanted.audiences or (), now_ms()), Deadline(PATIENCE_MS))


def _search(text: str, sources: Sources, wanted: Filter) -> Answer:
    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall import search as recall_search
    from subcog_hooks.recall.candidates import Request

    return recall_search.search_page(Request(text, wanted, is_typed=True), sources, Deadline(PATIENCE_MS), HITS)


def wanted_in_first() -> Filter:
    """Filter for the first project's memories and the user's: both the hook and `search` look through these there."""
    from subcog_hooks.store.store_reader import Filter, audiences_of

    return Filter(audiences=audiences_of(project_name(0)))


def _is_whole(answer: Answer) -> bool:
    """Tell whether words and meaning were both compared."""
    return not answer.is_degraded and len(answer.strategies) >= 2


# ---- measuring -------------------------------------------------------------------------------------------------------


def _measure(subcog: Subcog, size: int, queries: list[Query], folder: str, *, keep: bool) -> dict[str, object]:
    """Return all figures of one store size. The process that is measured has no other in its memory."""
    home = _home(subcog, size, folder)
    show_progress(f"{size:,} memories: measuring")
    with ProcessPoolExecutor(1, get_context("spawn")) as one:
        timed = one.submit(_timed, home, queries).result()
    figures = _figures(size, timed, queries[WARM_UP:], mib_on_disk(home))
    if not keep:
        shutil.rmtree(home)
    return figures


def _timed(home: str, queries: list[Query]) -> Timed:
    """Answer all queries with both functions in turn. Raises Failed.

    One query's turns are half a round apart, so that the second does not find what the first has just read. Garbage is
    collected between the turns: the hook, which ends after one, never does.
    """
    from subcog_hooks.core.errors import SubcogError

    warm_up, measured = queries[:WARM_UP], queries[WARM_UP:]
    half = len(measured) // 2
    turns = [*zip(warm_up, warm_up, strict=True), *zip(measured, measured[half:] + measured[:half], strict=True)]
    times: tuple[list[float], list[float]] = ([], [])
    answered = 0
    idle = _peak_mib()
    try:
        with opened(home) as sources:
            wanted = wanted_in_first()
            gc.freeze()
            gc.disable()
            for turn in turns:
                for ask, query, kept in zip((for_prompt, _search), turn, times, strict=True):
                    started = time.perf_counter()
                    answer = ask(query.text, sources, wanted)
                    kept.append((time.perf_counter() - started) * 1000)
                    if not _is_whole(answer):
                        raise Failed(f"{home} was not searched by words and meaning: {answer.note}")
                    answered += bool(answer.hits)
                    gc.collect()
    except SubcogError as error:
        raise Failed(f"{home} can not be searched: {error.message}; remove the folder") from error
    share = answered / (2 * len(turns))
    if share < LEAST_ANSWERED:
        raise Failed(f"{home} answers {share:.0%} of the queries, expected {LEAST_ANSWERED:.0%} at least")
    hook_ms, search_ms = (kept[WARM_UP:] for kept in times)
    return Timed(hook_ms, search_ms[-half:] + search_ms[:-half], idle, _peak_mib(), share)


def _peak_mib() -> float:
    """Return the peak of this process; Linux's ru_maxrss counts what the process was before exec, too."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / (1 << 10)
    except (OSError, StopIteration):
        return mib(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


# ---- figures ---------------------------------------------------------------------------------------------------------


def _figures(size: int, timed: Timed, queries: Sequence[Query], disk_mib: float) -> dict[str, object]:
    figures: dict[str, object] = {"memories": size}
    for name, times in (("hook", timed.hook_ms), ("search", timed.search_ms)):
        figures |= {
            f"{name}_median_ms": round(quantile(times, 0.5), 2),
            f"{name}_p95_ms": round(quantile(times, 0.95), 2),
            f"{name}_max_ms": round(max(times), 2),
            f"{name}_median_ms_by_kind": {
                kind: round(quantile(of_kind, 0.5), 2)
                for kind in KINDS
                if (of_kind := [ms for ms, query in zip(times, queries, strict=True) if query.kind == kind])
            },
        }
    return figures | {
        "peak_mib": round(timed.peak_mib, 1),
        "idle_mib": round(timed.idle_mib, 1),  # before anything of subcog was opened
        "disk_mib": round(disk_mib, 1),
        "answered": round(timed.answered, 3),
        "hook_ms": [round(value, 2) for value in timed.hook_ms],
        "search_ms": [round(value, 2) for value in timed.search_ms],
    }


COLUMNS = (
    ("memories", "memories", ",d"),
    ("hook ms", "hook_median_ms", ".1f"),
    ("p95", "hook_p95_ms", ".1f"),
    ("max", "hook_max_ms", ".1f"),
    ("search ms", "search_median_ms", ".1f"),
    ("p95", "search_p95_ms", ".1f"),
    ("max", "search_max_ms", ".1f"),
    ("peak MiB", "peak_mib", ".0f"),
    ("disk MiB", "disk_mib", ",.0f"),
)


def _table(sizes: Sequence[dict[str, object]]) -> str:
    rows = [[title for title, _, _ in COLUMNS]]
    rows += [[format(size[key], form) for _, key, form in COLUMNS] for size in sizes]
    return align(rows)


def _described(environment: dict[str, object], queries: int) -> str:
    return (
        f"{queries} different queries, recall alone, in one process with everything open; ms are medians; "
        f"{describe_machine(environment)}, {environment['platform']}"
    )


def _missed(sizes: Sequence[dict[str, object]]) -> list[str]:
    """Name the limits that were not kept."""
    return [
        f"{size['memories']:,} memories: the p95 of {name} is {size[key]} ms, expected {limit:g} at most"
        for size in sizes
        for name, key in (("the hook's recall", "hook_p95_ms"), ("search", "search_p95_ms"))
        if (limit := LIMITS_MS.get(int(str(size["memories"])))) is not None and float(str(size[key])) > limit
    ]


# ---- the plot --------------------------------------------------------------------------------------------------------


if __name__ == "__main__":
    main()
