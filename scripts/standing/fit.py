"""Fit the weights by which a note is taken for a standing one, and judge them by cross-validation over projects.

The notes (notes.jsonl, written for it) are of thirteen projects: each is judged by weights that no note of its project had
a part in.
With --write the weights of all notes go into subcog_hooks/text/standing_weights.tsv. Needs the extra `eval` (numpy).
"""

import argparse
import json
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scripts.tables import write_rows
from subcog_hooks.text import standing_rules

NOTES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "notes.jsonl")
PULL = 1.0  # of every weight but the intercept towards 0
ROUNDS = 10  # of which piece is the surest by the weights, and the weights by these pieces
STEPS = 50  # of Newton's method; ten are enough

Floats = NDArray[np.float64]


def main() -> None:
    asked = argparse.ArgumentParser(
        prog="python -m scripts.standing.fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--write", action="store_true", help="put the weights into the package")
    given = asked.parse_args()
    with open(NOTES, encoding="utf-8") as file:
        notes = [json.loads(line) for line in file]
    pieces = [standing_rules.signs_of(note["text"]) for note in notes]
    names = [
        standing_rules.INTERCEPT,
        *sorted({name for seen in pieces for signs in seen for name in signs} - {standing_rules.INTERCEPT}),
    ]
    bags = [np.array([[signs.get(name, 0.0) for name in names] for signs in seen]) for seen in pieces]
    labels = np.array([float(note["standing"]) for note in notes])
    projects = np.array([note["project"] for note in notes])
    judged = np.zeros(len(notes))
    for project in sorted(set(projects)):
        left = projects == project
        weights = fitted_to_surest([bag for bag, is_left in zip(bags, left, strict=True) if not is_left], labels[~left])
        judged[left] = [probabilities(bag, weights).max() for bag, is_left in zip(bags, left, strict=True) if is_left]
    report(judged, labels)
    weights = fitted_to_surest(bags, labels)
    for name, weight in sorted(zip(names, weights, strict=True), key=lambda pair: -pair[1]):
        print(f"{weight:7.2f} {int(sum(bag[:, names.index(name)].any() for bag in bags)):4d} {name}")
    if given.write:
        write(dict(zip(names, weights, strict=True)))


def fitted_to_surest(bags: Sequence[Floats], labels: Floats) -> Floats:
    """Return the weights (signs,) by which the surest piece of each note says what the note is.

    bags: of each note the signs (pieces, signs).
    """
    surest = np.array([bag[0] for bag in bags])
    for _ in range(ROUNDS):
        weights = fitted(surest, labels)
        surest = np.array([bag[int((bag @ weights).argmax())] for bag in bags])
    return weights


def fitted(signs: Floats, labels: Floats) -> Floats:
    """Return the weights (signs,) of a logistic model, drawn towards 0."""
    weights = np.zeros(signs.shape[1])
    pull = np.full(signs.shape[1], PULL)
    pull[0] = 0.0
    for _ in range(STEPS):
        likely = probabilities(signs, weights)
        slope = signs.T @ (likely - labels) + pull * weights
        bend = (signs * (likely * (1.0 - likely))[:, None]).T @ signs + np.diag(pull + 1e-9)
        weights -= np.linalg.solve(bend, slope)
    return weights


def probabilities(signs: Floats, weights: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-(signs @ weights))))


def report(judged: Floats, labels: Floats) -> None:
    """Print how well notes of projects that were not seen are told apart, and how far the certainty can be believed."""
    standing_ones, others = judged[labels > 0], judged[labels == 0]
    above = (standing_ones[:, None] > others[None, :]).mean() + 0.5 * (standing_ones[:, None] == others[None, :]).mean()
    print(f"right {((judged > 0.5) == (labels > 0)).mean():.3f}, area under the curve {above:.3f}, of {len(labels)} notes")
    order = np.argsort(judged)
    for part in np.array_split(order, 5):
        print(f"  told {judged[part].mean():.2f}, are {labels[part].mean():.2f}")


def write(weights: dict[str, float]) -> None:
    """Put the weights into the package's table, in the order of their names."""
    rows = [[name, str(round(float(weight), 2))] for name, weight in weights.items()]
    write_rows(standing_rules.__file__, "standing_weights.tsv", rows)


if __name__ == "__main__":
    main()
