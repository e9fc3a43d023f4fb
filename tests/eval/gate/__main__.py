"""Measure the prompt hook's gate: how often it answers, is silent and is right, and how far its relevance can be believed.

A set is a folder with `memories.jsonl`, as `subcog import` reads it, and `prompts.jsonl`, rows of id, prompt, kind (answerable,
unanswerable, unrelated) and relevant (ids of memories). Its prompts are halved by the md5 of their texts: half 0 is for
tuning, 1 for reporting. Brackets hold 95 % bootstrap intervals over prompts. Ages are those of a fixed day and resamples are
seeded: two runs write the same bytes.

Example: python -m tests.eval.gate
Example: python -m tests.eval.gate --set FOLDER --half 1 --out gate.json
"""

import argparse
import json
import sys
from pathlib import Path

from tests.eval import homes
from tests.eval.collection import OWN, REPORTING, TUNING, gate_set, rows
from tests.eval.gate import results
from tests.eval.gate.trials import DEFAULT_THRESHOLD, Hook

HALVES = {"0": TUNING, "1": REPORTING, "all": None}


def main() -> None:
    asked = _arguments()
    try:
        memories, prompts = gate_set(asked.set)
    except FileNotFoundError as error:
        sys.exit(f"gate: there is no {error.filename}")
    half = HALVES[asked.half]
    prompts = [prompt for prompt in prompts if half in (None, prompt.half)]
    found: results.Row = {"set": asked.set.resolve().name, "memories": len(rows(memories)), "half": half or "both"}
    with Hook(homes.home_of(memories, asked.homes)) as hook:
        found |= results.measured(hook.trials(prompts, asked.threshold), asked.threshold)
    print(results.table(found))
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.eval.gate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", type=Path, default=OWN, metavar="DIR", help="a set (the project's own)")
    parser.add_argument("--half", choices=HALVES, default="all", help="of the prompts (all)")
    parser.add_argument(
        "--threshold", type=float, default=DEFAULT_THRESHOLD, help=f"the least relevance that is given ({DEFAULT_THRESHOLD})"
    )
    parser.add_argument("--homes", type=Path, default=homes.DEFAULT, help="where imported sets are kept (.cache/eval)")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="all figures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
