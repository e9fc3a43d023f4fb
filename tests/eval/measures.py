"""What a ranking is worth: the field's measures by ranx, with bootstrap intervals. No searching here.

A run is the ids that were found for each query, best first; judgements are the ids that answer it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ranx

Judgements = Mapping[str, AbstractSet[str]]
Rankings = Mapping[str, Sequence[str]]
PerQuery = dict[str, float]

MEASURES = {  # as ranx calls them. Success@k: something that answers is among the first k
    "success@5": "hit_rate@5",
    "recall@10": "recall@10",
    "mrr@10": "mrr@10",
    "ndcg@10": "ndcg@10",
}
SEED = 20260101  # of every bootstrap: the same run has the same interval
RESAMPLES = 2_000
LEVEL = 0.95


class Estimate(NamedTuple):
    """A mean over `queries` queries and its bootstrap interval."""

    mean: float
    low: float
    high: float
    queries: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def per_query(judgements: Judgements, rankings: Rankings, measures: Iterable[str] = MEASURES) -> dict[str, PerQuery]:
    """The value of each measure for each judged query, a query without a ranking counting as nothing found."""
    names = list(measures)
    if not any(rankings.get(query) for query in judgements):  # ranx can not type a run of nothing
        return {name: dict.fromkeys(judgements, 0.0) for name in names}
    ranx = _ranx()
    qrels = ranx.Qrels({query: dict.fromkeys(relevant, 1) for query, relevant in judgements.items()})
    run = _run(rankings)
    ranx.evaluate(qrels, run, [MEASURES[name] for name in names], return_mean=False, make_comparable=True)
    return {name: {query: float(run.scores[MEASURES[name]][query]) for query in judgements} for name in names}


def _ranx() -> ModuleType:
    """The library: 5 s to load, which the process of the tests that measures nothing does without.

    It compiles its sums for 25 s of processor time where they then take .03 s; as plain Python they take .08 s, and are the
    same.
    """
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    return importlib.import_module("ranx")


def _run(rankings: Rankings) -> ranx.Run:
    """Places as scores, so that ranx, whose sort is not stable, keeps an order among equals."""
    scores = {query: {one: 1.0 / place for place, one in enumerate(ids, 1)} for query, ids in rankings.items() if ids}
    return _ranx().Run(scores)


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of values, one a query, and the percentile interval of its bootstrap (Efron 1979)."""
    found = np.asarray(values, np.float64)
    if not found.size:
        return Estimate(0.0, 0.0, 0.0, 0)
    drawn = np.random.default_rng(SEED).integers(0, found.size, (RESAMPLES, found.size))
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.percentile(found[drawn].mean(axis=1), [tail, 100.0 - tail])
    return Estimate(float(found.mean()), float(low), float(high), int(found.size))


def ratio(parts: Iterable[float], wholes: Iterable[float]) -> Estimate:
    """The sum of `parts` in that of `wholes`, a pair a query, and the percentile interval of its bootstrap over queries.

    A query whose whole is 0 is not counted among the estimate's.
    """
    above, below = np.array([*parts], np.float64), np.array([*wholes], np.float64)
    if not below.sum():
        return Estimate(0.0, 0.0, 0.0, 0)
    weights = resampled(below.size)
    sums = weights @ below
    drawn = (weights @ above)[sums > 0.0] / sums[sums > 0.0]
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.percentile(drawn, [tail, 100.0 - tail])
    return Estimate(float(above.sum() / below.sum()), float(low), float(high), int((below > 0.0).sum()))


@cache
def resampled(size: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """How often each of `size` queries is in each of the bootstrap's resamples, a row a resample."""
    counts = np.random.default_rng(SEED).multinomial(size, np.full(size, 1.0 / size), RESAMPLES)
    return counts.astype(np.float64)
