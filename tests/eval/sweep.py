"""Try recall's numbers one by one around the defaults, and confirm the defaults on queries that chose nothing.

Every setting is measured on the tuning half of each collection, the defaults and the ablation on the other half too. Ages are
those of a fixed day (systems.FROZEN_MS); the defaults are also measured with those of today. Results go to
tests/eval/results/<commit>.json, with tables (.md) and a plot (.svg) of them.

Example: python tests/eval/sweep.py --homes ~/eval-homes
Example: python tests/eval/sweep.py --homes ~/eval-homes --sets devmem,locomo --grid alpha GLUE_BOOST
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib import metadata
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the package beside these tests

from subcog_hooks.embed import documents
from subcog_hooks.store.memory import now_ms
from tests.eval import collection, grid, homes, report
from tests.eval.bench import Bench, Row
from tests.eval.collection import REPORTING, ROOT, TUNING, Collection, Prompt
from tests.eval.gate import results
from tests.eval.gate.trials import Hook
from tests.eval.homes import NEURAL, STATIC
from tests.eval.systems import FROZEN_MS, Engine
from tests.eval.textbook import Textbook

OPTIONAL = ", ".join(grid.ELSEWHERE)
RESULTS = Path(__file__).parent / "results"
SETS = (*collection.DEVELOPMENT, collection.GROUND_TRUTH)
PACKAGES = ("subcog", "tantivy", "sqlite-vec", "apsw", "onnxruntime", "numpy", "ranx")


def main() -> None:
    asked = _arguments()
    out = asked.out or RESULTS / f"{commit()}.json"
    known = grid.dimensions()
    if unknown := [name for name in asked.grid or () if name not in known]:
        sys.exit(f"sweep: no dimension is called {', '.join(unknown)}; there are: {', '.join(known)}")
    dimensions = tuple((name for name in known if name not in grid.ELSEWHERE) if asked.grid is None else asked.grid)
    found: dict[str, object] = about()
    names = [one.name for one in collection.named(asked.sets.split(","))]
    places = [(name, query) for name in names for query in (STATIC, NEURAL)]
    for name in names:
        one, encode, engine = _opened(name, NEURAL, asked.homes)  # made once, not by two processes
        engine.close()
        Textbook(one, encode, asked.homes)
    gate = None if asked.no_gate else collection.gate()
    if gate:
        homes.home_of(gate[0], asked.homes)
    with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
        measuring = pool.map(_measure, *zip(*places, strict=True), repeat(asked.homes), repeat(dimensions))
        gating = pool.submit(_gate, asked.homes) if gate else None
        measured = list(measuring)
        if gating:
            found["gate"] = gating.result()
    found["prior"] = _by_prior(*collection.gate_set(collection.OWN), asked.homes)
    found |= {part: [row for rows in measured for row in rows[part]] for part in measured[0]}
    found["latency"] = [_latency(name, query, asked.homes) for name, query in places]  # with nothing beside them
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{out}, {', '.join(path.name for path in report.write(out))}")


def _opened(name: str, query: str, kept: Path) -> tuple[Collection, homes.Encode, Engine]:
    (one,) = collection.named([name])
    encode = homes.encoder(query, kept)
    return one, encode, Engine(homes.home_of(one.memories, kept), encode)


def _measure(name: str, query: str, kept: Path, dimensions: Sequence[str]) -> dict[str, list[Row]]:
    """Everything about one collection with one kind of query vector, but time."""
    started = time.monotonic()
    one, encode, engine = _opened(name, query, kept)
    textbook = Textbook(one, encode, kept)
    with engine:
        at = Bench(one, query, engine)
        rows: dict[str, list[Row]] = {
            "defaults": [at.defaults(half) for half in (None, TUNING, REPORTING)],
            "split": at.promised(),
            "gains": [gain for half in (TUNING, REPORTING) for gain in at.gains(half, textbook)],
            "ablation": [at.row(setting, half) for setting in grid.ablation() for half in (TUNING, REPORTING)],
            "sweep": [],
        }
        with Engine(homes.home_of(one.memories, kept), encode, now_ms) as today:
            rows["today"] = [at.defaults(None, today)]
        known = grid.dimensions()
        for dimension in dimensions:
            rows["sweep"] += [at.row(setting, TUNING) for setting in known[dimension]]
            print(f"{name}, {query} query: {dimension}, {time.monotonic() - started:.0f} s", flush=True)
    if isinstance(encode, homes.NeuralQueries):
        encode.save()
    return rows


def _latency(name: str, query: str, kept: Path) -> Row:
    one, _, engine = _opened(name, query, kept)
    with engine:
        return Bench(one, query, engine).latency()


def _gate(kept: Path) -> list[Row]:
    """The hook on the gate's prompts, for each prior; nothing where they are not at hand."""
    at_hand = collection.gate()
    return _by_prior(*at_hand, kept) if at_hand else []


def _by_prior(memories: Path, prompts: Sequence[Prompt], kept: Path) -> list[Row]:
    with Hook(homes.home_of(memories, kept)) as hook:
        return [{"prior": prior, **results.shares(hook.trials(prompts, prior=prior))} for prior in grid.PRIORS]


def about() -> dict[str, object]:
    """What the figures depend on besides the data."""
    return {
        "commit": commit(),
        "machine": f"{platform.machine()}, {documents.count_cores()} cores, {platform.system()}",
        "python": platform.python_version(),
        "clock": datetime.fromtimestamp(FROZEN_MS / 1e3, UTC).date().isoformat(),
        "day": datetime.now(UTC).date().isoformat(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "default": grid.defaults(),
    }


def commit() -> str:
    """The short hash of what is checked out, with `-dirty` when files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "subcog_hooks", "tests/eval/*.py")
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path, default=homes.DEFAULT, help="where imported collections are kept (.cache/eval)")
    parser.add_argument("--sets", default=",".join(SETS), help="collections, by comma; those that are not at hand are left out")
    parser.add_argument(
        "--grid",
        nargs="*",
        help=f"only these dimensions; none after it: the defaults and the ablation alone; only if named: {OPTIONAL}",
    )
    parser.add_argument("--jobs", type=int, default=documents.count_cores(), help="processes at once (one for each core)")
    parser.add_argument("--no-gate", action="store_true", help="without the gate's prompts")
    parser.add_argument("--out", type=Path, help="the JSON file; tables and plot lie beside it (tests/eval/results)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
