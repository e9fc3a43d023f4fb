"""Fit a logistic regression that pulls every coefficient to 0, and judge probabilities. Pure functions; numpy alone."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STEPS = 50  # at most; ten are usual
SMALLEST = 1e-6  # a step that changes no coefficient by more is the last
BINS = 10

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Model(NamedTuple):
    """coefficients: of the values as they are; sizes: of the values in standard deviations, which can be compared."""

    intercept: float
    coefficients: Floats
    sizes: Floats

    def probabilities(self, values: Floats) -> Floats:
        """Return the probability of each row of values (rows, names)."""
        return _logistic(values @ self.coefficients + self.intercept)


def _logistic(logits: Floats) -> Floats:
    found: Floats = 1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0)))
    return found


def fit(values: Floats, answers: Flags, weights: Floats, pull: float) -> Model:
    """Minimise the weighted log loss and `pull` / 2 times the squares of the model's sizes, by Newton's steps.

    values: (rows, names); answers, weights: (rows,). The intercept is not pulled. Deterministic.
    """
    mean = values.mean(axis=0)
    deviation = values.std(axis=0)
    deviation[deviation < 1e-9] = np.inf  # what is always the same tells nothing
    x = np.column_stack([np.ones(len(values)), (values - mean) / deviation])
    ridge = np.diag([0.0] + [pull] * values.shape[1])
    found = np.zeros(x.shape[1])
    for _ in range(STEPS):
        probable = _logistic(x @ found)
        slope = x.T @ (weights * (answers - probable)) - ridge @ found
        curvature = (x.T * (weights * probable * (1.0 - probable) + 1e-12)) @ x + ridge
        step = np.linalg.solve(curvature, slope)
        found = found + step
        if np.abs(step).max() < SMALLEST:
            break
    coefficients = found[1:] / deviation
    return Model(float(found[0] - coefficients @ mean), coefficients, found[1:])


def cross_validated(
    values: Floats, answers: Flags, weights: Floats, owners: Sequence[str], pull: float, folds: int = 5
) -> Floats:
    """Return each row's probability by a model that has seen no row of its owner."""
    part = np.array([part_of(owner, folds) for owner in owners])
    found = np.zeros(len(answers))
    for held in range(folds):
        is_held = part == held
        if is_held.any():
            model = fit(values[~is_held], answers[~is_held], weights[~is_held], pull)
            found[is_held] = model.probabilities(values[is_held])
    return found


def by_owner(values: Floats, answers: Flags, weights: Floats, owners: Sequence[str], pull: float) -> Floats:
    """Return each row's probability by a model that has seen all rows but its owner's: for few owners."""
    found = np.zeros(len(answers))
    for owner in sorted(set(owners)):
        is_held = np.array([one == owner for one in owners])
        found[is_held] = fit(values[~is_held], answers[~is_held], weights[~is_held], pull).probabilities(values[is_held])
    return found


def part_of(owner: str, parts: int) -> int:
    """Tell which of the parts an owner belongs to, the same each time."""
    return int(hashlib.sha256(owner.encode()).hexdigest(), 16) % parts


def log_loss(probable: Floats, answers: Flags, weights: Floats) -> float:
    """Return the mean log loss of a row, in nats."""
    probable = np.clip(probable, 1e-9, 1.0 - 1e-9)
    losses = -np.where(answers, np.log(probable), np.log(1.0 - probable))
    return float((weights * losses).sum() / weights.sum())


def calibration_error(probable: Floats, answers: Flags, weights: Floats, bins: int = BINS) -> float:
    """Return the expected calibration error over bins of equal weight."""
    order = np.argsort(probable, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    bin_of = np.minimum(before / weights.sum() * bins, bins - 1).astype(int)
    gaps = np.bincount(bin_of, weights=(weights * (probable - answers))[order])
    return float(np.abs(gaps).sum() / weights.sum())
