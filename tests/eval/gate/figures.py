"""What the gate is worth: shares, precision and calibration of trials, each with its bootstrap interval over prompts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.eval.gate.trials import Trial
from tests.eval.measures import LEVEL, Estimate, ratio, resampled

ANSWERABLE, UNANSWERABLE, UNRELATED = "answerable", "unanswerable", "unrelated"  # kinds of prompts
BINS = 10
TWO_SIDED = 1.96  # standard errors on either side, for LEVEL
assert LEVEL == 0.95

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]


def shares(trials: Sequence[Trial]) -> dict[str, Estimate]:
    """How often the hook answers and is silent, and how much of what it says is right.

    `found` is the most that `answered` could be: a memory that answers is among the candidates. `first precision` is that of
    the first memory of each prompt it speaks at, `false fire` the share of the prompts with no answer that it speaks at.
    """
    of_kind = {kind: [trial for trial in trials if trial.prompt.kind == kind] for kind in (ANSWERABLE, UNANSWERABLE, UNRELATED)}
    without = of_kind[UNANSWERABLE] + of_kind[UNRELATED]
    spoke = [trial.speaks for trial in trials]
    return {
        "answered": _share([trial.right > 0 for trial in of_kind[ANSWERABLE]]),
        "found": _share([any(one.is_relevant for one in trial.candidates) for trial in of_kind[ANSWERABLE]]),
        "answerable: spoke": _share([trial.speaks for trial in of_kind[ANSWERABLE]]),
        "unanswerable: silent": _share([not trial.speaks for trial in of_kind[UNANSWERABLE]]),
        "unrelated: silent": _share([not trial.speaks for trial in of_kind[UNRELATED]]),
        "false fire": _share([trial.speaks for trial in without]),
        "fire": _share(spoke),
        "first precision": ratio([trial.is_first_right for trial in trials], spoke),
        "precision": ratio([trial.right for trial in trials], [len(trial.given) for trial in trials]),
        "memories per speaking prompt": ratio([len(trial.given) for trial in trials], spoke),
    }


def calibration_error(trials: Sequence[Trial], first: int | None = None) -> Estimate:
    """The expected calibration error: how far relevance is from the share that answers, over BINS bins of equal mass.

    Candidates of equal relevance share a bin, so that no order among them matters. first: only so many of each prompt. The
    interval is the error plus and minus 1.96 of its bootstrap deviations: its percentiles lie above it, since resampling adds
    noise to every bin.
    """
    pool = _Pool(trials, first)
    if not pool.size:
        return Estimate(0.0, 0.0, 0.0, 0)
    error = pool.error(np.ones(len(trials)))
    drawn = [pool.error(weights) for weights in resampled(len(trials))]
    reach = TWO_SIDED * float(np.std(drawn))
    return Estimate(error, max(0.0, error - reach), min(1.0, error + reach), len(trials))


def _share(values: Sequence[bool]) -> Estimate:
    return ratio(values, [True] * len(values))


class _Pool:
    """The candidates of all trials by relevance. owner: which trial each is of; group: which of the distinct values it has."""

    def __init__(self, trials: Sequence[Trial], first: int | None = None) -> None:
        rows = sorted(
            (one.relevance, one.is_relevant, owner) for owner, trial in enumerate(trials) for one in trial.candidates[:first]
        )
        self.size = len(rows)
        self.relevance: Numbers = np.array([row[0] for row in rows], np.float64)
        self.is_relevant: Numbers = np.array([row[1] for row in rows], np.float64)
        self.owner = np.array([row[2] for row in rows], np.intp)
        is_new = np.diff(self.relevance, prepend=-1.0) > 0.0
        self.group = np.cumsum(is_new) - 1
        self._starts = np.flatnonzero(is_new)
        self._values = self.relevance[self._starts]

    def bins(self, weights: Numbers) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The bin of each distinct relevance, by where its middle lies in the mass. weights: of the trials."""
        mass = np.add.reduceat(weights[self.owner], self._starts)
        middle = np.cumsum(mass) - mass / 2.0
        places: np.ndarray[tuple[int], np.dtype[np.intp]] = np.minimum(middle / mass.sum() * BINS, BINS - 1).astype(np.intp)
        return places

    def error(self, weights: Numbers) -> float:
        """The calibration error when each trial counts as often as its weight says."""
        each = weights[self.owner]
        mass = np.add.reduceat(each, self._starts)
        if not mass.sum():
            return 0.0
        gap = np.add.reduceat(each * self.is_relevant, self._starts) - mass * self._values
        return float(np.abs(np.bincount(self.bins(weights), gap, BINS)).sum() / mass.sum())
