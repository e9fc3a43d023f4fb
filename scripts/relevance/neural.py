"""Fit the weights of the second look's relevance, and print them for subcog_hooks/recall/neural_relevance.py.

The second look sees the evidence that the hook sees, with the cosines of the model's own vectors. So the weights of what a
vector changes are fitted anew, and drawn towards the hook's; the others stay the hook's. Fitted to every candidate that the
second look finds for the prompts of one part of a set (`part` in its rows), whether or not the hook had answered them.

The sets are folders with `prompts.jsonl`; all ask the memories of the first. Takes a minute, and as long as these are embedded.

Example: python -m scripts.relevance.neural --sets ../shared/eval/gate ../shared/eval/real --part A
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import prompt, recall_sources, second_look, second_look_start
from subcog_hooks.hook.call import close_left_open, open_call
from subcog_hooks.hook.prompt_reading import PromptReading
from subcog_hooks.recall import relevance
from subcog_hooks.recall.neural_relevance import WITH_NEURAL_QUERY
from tests.eval import homes
from tests.eval.collection import rows

FITTED = ("intercept", "closeness", "lead", "above_tenth", "margin", "word_rank", "meaning_rank")
PULL = 30.0  # towards the hook's weight, for a deviation of one; with 3 and 300 the other part is answered no better
INTERCEPT_SPREAD = 0.2  # the intercept's evidence has none
ROUNDS = 60
DIGITS = 3
PATIENCE_MS = 60_000.0

Floats = NDArray[np.float64]


def cases(folder: Path, part: str, home: Home, kept: Path) -> Iterator[tuple[list[float], float, bool]]:
    """Yield each candidate of a set: the evidence that has weights, what else adds to its logit, and whether it answers."""
    queries = homes.NeuralQueries(kept)
    for row in rows(folder / "prompts.jsonl"):
        if row["part"] != part:
            continue
        payload = {"prompt": row["prompt"], "session_id": "", "cwd": "", "hook_event_name": "UserPromptSubmit"}
        call = open_call(payload, home, Deadline(PATIENCE_MS))
        assert call is not None
        turn = PromptReading(call)
        verdict = prompt.decide_prompt(turn)
        if verdict.offer is not None:
            _, judgements = second_look.look_again(second_look_start.task_of(turn, verdict), call, queries)
            for one in judgements:
                known = {name: value for name, value, _ in one.hit.terms}
                others = sum(adds for name, _, adds in one.hit.terms if name not in WITH_NEURAL_QUERY)
                yield [known.get(name, 0.0) for name in WITH_NEURAL_QUERY], others, one.hit.memory.id in row["relevant"]
        close_left_open()
        recall_sources.close_left_open()
    queries.save()


def fitted(evidence: Floats, others: Floats, answers: Floats, spread: Floats, towards: Floats) -> Floats:
    """Return the weights of most probable, each drawn towards another; by Newton's method."""
    weights = towards.copy()
    pull: Floats = PULL * spread * spread
    for _ in range(ROUNDS):
        likely = 1.0 / (1.0 + np.exp(-(evidence @ weights + others)))
        slope = evidence.T @ (likely - answers) + pull * (weights - towards)
        bend = (evidence * (likely * (1.0 - likely))[:, None]).T @ evidence + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        weights = (weights - step).astype(np.float64)
        if np.abs(step).max() < 1e-6:
            break
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.relevance.neural", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, metavar="DIR", help="sets of prompts")
    parser.add_argument("--part", default="A", help="of the projects (A)")
    parser.add_argument("--homes", type=Path, default=homes.DEFAULT, help="where imported sets are kept (.cache/eval)")
    options = parser.parse_args()
    home = homes.home_of(options.sets[0] / "memories.jsonl", options.homes)
    found = [case for folder in options.sets for case in cases(folder, options.part, home, options.homes)]
    evidence = np.array([case[0] for case in found], np.float64)
    answers = np.array([case[2] for case in found], np.float64)
    names = list(WITH_NEURAL_QUERY)
    free = [names.index(name) for name in FITTED]
    kept = [place for place in range(len(names)) if place not in free]
    towards = np.array([relevance.WITH_MEANING[name] for name in names], np.float64)
    others = np.array([case[1] for case in found], np.float64) + evidence[:, kept] @ towards[kept]
    spread = evidence.std(axis=0)
    spread[names.index("intercept")] = INTERCEPT_SPREAD
    weights = towards.copy()
    weights[free] = fitted(evidence[:, free], others, answers, spread[free], towards[free])
    print(f"# {len(found)} candidates, {int(answers.sum())} of which answer")
    for name, weight in zip(names, weights, strict=True):
        if name in FITTED:
            print(f'    "{name}": {round(float(weight), DIGITS)},')


if __name__ == "__main__":
    main()
