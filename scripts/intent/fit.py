"""Fit the weights of the intent signals and judge them.

The weights in subcog_hooks/intent/signals.tsv and cues.tsv are those of a softmax over the seven types, with a quadratic pull
towards each signal's strength, and not below 0. They are fitted to the project's own prompts (tests/data/intent/prompts.jsonl,
written for it) and, with --real, to labelled prompts of real users: JSON lines with `prompt`, `label`, `stratum` (natural or
enriched), and `repo_hash`, whose rows stay together.

Judged by cross-validation over the owners of the real prompts: every prompt by weights that no prompt of its owner had a part
in. With --write the weights of all rows go into the tables. Needs the extra `eval` (scipy).
"""

import argparse
import json
import math
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from scripts.tables import write_rows
from subcog_hooks.core.files import read_rows
from subcog_hooks.intent import keywords
from subcog_hooks.intent.keywords import MAX_CONFIDENCE, NAMES, NONE, RECENT, SEEKING, TYPES, find_cues, split_prompt
from subcog_hooks.text.typed_prompt import prepare_prompt

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN = os.path.join(ROOT, "tests", "data", "intent", "prompts.jsonl")
SIGNALS = read_rows(keywords.__file__, "signals.tsv")  # pattern, family, strength, weight

OWN_WEIGHT = 0.7  # of a row of our own against a real one: what somebody makes up is cleaner than what people type
ENRICHED_WEIGHT = 0.7  # rare types were looked for: they stand for fewer prompts
SIGNAL_PULL = 12.0  # of a signal towards its strength; at 6 the recall of people who were not seen was .853 instead of .859
CUE_PULL = 8.0  # of a cue towards 0
FOLDS = 10
SPECIFICITY = 0.765  # at which recall is told; the threshold in use is keywords.MIN_TYPE_CONFIDENCE

Floats = NDArray[np.float64]


class Rows:
    """Prompts as the model sees them: fired (rows, signals), cues (rows, cues), labels, weights, owners, strata."""

    def __init__(self, prompts: Sequence[dict[str, str]], strata: Sequence[str], owners: Sequence[str]) -> None:
        self.fired = np.zeros((len(prompts), len(SIGNALS)))
        self.cues = np.zeros((len(prompts), len(NAMES)))
        for row, prompt in enumerate(prompts):
            prepared = prepare_prompt(prompt["prompt"])
            words = split_prompt(prepared.text.lower())
            for place in keywords.MATCHER.find(words):
                self.fired[row, place] = 1.0
            for name in find_cues(prepared, words):
                self.cues[row, NAMES.index(name)] = 1.0
        self.labels = np.array([TYPES.index(prompt["label"]) for prompt in prompts])
        self.strata = np.array(strata)
        self.owners = np.array(owners)
        self.weights = np.select([self.strata == "natural", self.strata == "enriched"], [1.0, ENRICHED_WEIGHT], OWN_WEIGHT)


class Model:
    """Fitted weights: signals (signals,), cues (cues, types), bias (types,)."""

    def __init__(self, for_signals: Floats, for_cues: Floats, bias: Floats) -> None:
        self.for_signals = for_signals
        self.for_cues = for_cues
        self.bias = bias

    def probabilities(self, fired: Floats, cues_: Floats) -> Floats:
        return softmax((fired * self.for_signals) @ FAMILIES + cues_ @ self.for_cues + self.bias)


FAMILIES = np.zeros((len(SIGNALS), len(TYPES)))
for place, row in enumerate(SIGNALS):
    if row[1] in (SEEKING, RECENT):
        FAMILIES[place, TYPES.index(NONE)] = -1.0 if float(row[2]) else 0.0  # Without a strength it gets no weight.
    else:
        FAMILIES[place, TYPES.index(row[1])] = 1.0
STRENGTHS = np.array([float(row[2]) for row in SIGNALS])


def softmax(logits: Floats) -> Floats:
    powers: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


def fit(rows: Rows, chosen: NDArray[np.bool_]) -> Model:
    """Return the weights at the minimum of the chosen rows' weighted cross entropy, with the pulls. Deterministic."""
    fired, cues_, weights = rows.fired[chosen], rows.cues[chosen], rows.weights[chosen]
    truth = np.eye(len(TYPES))[rows.labels[chosen]]
    n, m, k = fired.shape[1], cues_.shape[1], len(TYPES)

    def loss(x: Floats) -> tuple[float, Floats]:
        model = Model(x[:n], x[n : n + m * k].reshape(m, k), x[-k:])
        found = model.probabilities(fired, cues_)
        off = model.for_signals - STRENGTHS
        value = -(weights * np.log((found * truth).sum(axis=1) + 1e-12)).sum()
        value += SIGNAL_PULL / 2 * (off**2).sum() + CUE_PULL / 2 * (model.for_cues**2).sum() + 0.01 * (model.bias**2).sum()
        slope = (found - truth) * weights[:, None]
        by_signal = ((fired.T @ slope) * FAMILIES).sum(axis=1) + SIGNAL_PULL * off
        by_cue = cues_.T @ slope + CUE_PULL * model.for_cues
        return float(value), np.concatenate([by_signal, by_cue.ravel(), slope.sum(axis=0) + 0.02 * model.bias])

    start = np.concatenate([STRENGTHS, np.zeros(m * k + k)])
    bounds = [(0.0, None)] * n + [(None, None)] * (m * k + k)
    x = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 1000}).x
    return Model(x[:n], x[n : n + m * k].reshape(m, k), x[-k:])


def folds(rows: Rows) -> list[set[str]]:
    """Share out the owners of real prompts into FOLDS parts of about equal size, the same at every run."""
    real = rows.owners[rows.strata != "own"]
    parts: list[set[str]] = [set() for _ in range(FOLDS)]
    sizes = [0] * FOLDS
    for owner in sorted(set(real), key=lambda owner: (-(real == owner).sum(), owner)):
        part = sizes.index(min(sizes))
        parts[part].add(owner)
        sizes[part] += int((real == owner).sum())
    return parts


def cross_validated(rows: Rows) -> Floats:
    """Return each real prompt's probabilities by a model that has seen no prompt of its owner."""
    found = np.zeros((len(rows.labels), len(TYPES)))
    for part in folds(rows):
        held = np.isin(rows.owners, sorted(part))
        found[held] = fit(rows, ~held).probabilities(rows.fired[held], rows.cues[held])
    return found


def ece(confidence: Floats, truth: NDArray[np.bool_], bins: int = 10) -> float:
    """Return the expected calibration error over bins of equal mass."""
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, bins)
    return float(sum(abs(confidence[part].mean() - truth[part].mean()) * len(part) for part in parts) / len(order))


def judged(found: Floats, rows: Rows, needed: float = keywords.MIN_TYPE_CONFIDENCE) -> dict[str, float]:
    """Measure probabilities: on natural prompts, macro-F1 on enriched ones too."""
    none = TYPES.index(NONE)
    confidence = np.minimum(1.0 - found[:, none], MAX_CONFIDENCE)
    asks = rows.labels != none
    natural, real = rows.strata == "natural", rows.strata != "own"
    kinds = np.where(confidence >= needed, found[:, :none].argmax(axis=1), none)
    silent = np.sort(confidence[natural & ~asks])
    bar = silent[min(len(silent) - 1, math.ceil(SPECIFICITY * len(silent)) - 1)]

    def f1(kind: int) -> float:
        hit = ((kinds == kind) & (rows.labels == kind) & real).sum()
        return float(2 * hit / max(1, ((kinds == kind) & real).sum() + ((rows.labels == kind) & real).sum()))

    return {
        "prompts": float(natural.sum()),
        "recall": float((confidence[natural & asks] >= needed).mean()),
        "specificity": float((confidence[natural & ~asks] < needed).mean()),
        f"recall at specificity {SPECIFICITY}": float((confidence[natural & asks] > bar).mean()),
        "the threshold there": float(bar),
        "accuracy of seven types": float((kinds == rows.labels)[natural].mean()),
        "macro-F1, enriched too": float(np.mean([f1(kind) for kind in range(len(TYPES))])),
        "calibration error": ece(confidence[natural], asks[natural]),
    }


def write(model: Model) -> None:
    """Put the weights into the tables of the package."""
    pairs = zip(SIGNALS, model.for_signals, strict=True)
    write_rows(keywords.__file__, "signals.tsv", [[*row[:3], f"{weight:.2f}"] for row, weight in pairs])
    cue_weights = {"bias": model.bias, **dict(zip(NAMES, model.for_cues, strict=True))}
    rows = [[name, *(f"{weight:.2f}" for weight in weights)] for name, weights in cue_weights.items()]
    write_rows(keywords.__file__, "cues.tsv", rows)


def read(path: str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.intent.fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--real", metavar="FILE", help="labelled prompts of real users, to fit to and to judge by")
    parser.add_argument("--write", action="store_true", help="put the weights into subcog_hooks/intent")
    parser.add_argument("--own-weight", type=float, default=OWN_WEIGHT)
    options = parser.parse_args()
    own = read(OWN)
    real = read(options.real) if options.real else []
    rows = Rows(
        [*real, *own],
        [*(row["stratum"] for row in real), *("own" for _ in own)],
        [*(row["repo_hash"] for row in real), *("own" for _ in own)],
    )
    rows.weights[rows.strata == "own"] = options.own_weight
    if real:
        print("cross-validated over owners")
        for name, value in judged(cross_validated(rows), rows).items():
            print(f"  {name:32} {value:.3f}")
        dead = [SIGNALS[place][0] for place in range(len(SIGNALS)) if not rows.fired[rows.strata != "own", place].any()]
        print(f"signals that no real prompt has: {', '.join(map(repr, dead)) or 'none'}")
    model = fit(rows, np.ones(len(rows.labels), dtype=bool))
    weak = [SIGNALS[place][0] for place in np.argsort(model.for_signals) if model.for_signals[place] < 0.2]
    print(f"signals below .2: {', '.join(map(repr, weak)) or 'none'}")
    if options.write:
        write(model)


if __name__ == "__main__":
    main()
