"""Measures of rankings, as the field has them, and their means with bootstrap intervals. Pure."""

import random
from collections.abc import Collection, Sequence
from math import log2
from statistics import fmean
from typing import NamedTuple

DRAWS = 1_000  # of a bootstrap
SEED = 20260101  # the same file has the same interval
_TAILS = (0.025, 0.975)


class Mean(NamedTuple):
    """A mean over queries, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def hit_rate(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return 1.0 if one of the first k is relevant, else 0.0.

    >>> hit_rate(["a", "b"], {"b"}, 1), hit_rate(["a", "b"], {"b"}, 2)
    (0.0, 1.0)
    """
    return float(any(id_ in relevant for id_ in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str]) -> float:
    """Return one divided by the rank of the first that is relevant, 0.0 where none is.

    >>> reciprocal_rank(["a", "b"], {"b"}), reciprocal_rank(["a"], {"b"})
    (0.5, 0.0)
    """
    return next((1.0 / rank for rank, id_ in enumerate(ranked, 1) if id_ in relevant), 0.0)


def ndcg(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return the normalised discounted gain of the first k (nDCG, Järvelin and Kekäläinen 2002); each relevant one is 1.

    >>> ndcg(["a", "b"], {"a"}, 10), round(ndcg(["b", "a"], {"a"}, 10), 3), ndcg(["b"], {"a"}, 10)
    (1.0, 0.631, 0.0)
    """
    gain = sum(1.0 / log2(rank + 1) for rank, id_ in enumerate(ranked[:k], 1) if id_ in relevant)
    return gain / sum(1.0 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of values, one a query, and the percentile interval of its bootstrap (Efron 1979).

    >>> mean_of([1.0, 1.0])
    Mean(mean=1.0, low=1.0, high=1.0)
    """
    drawn = random.Random(SEED)  # noqa: S311 - draws a sample, no secret
    means = sorted(fmean(drawn.choices(values, k=len(values))) for _ in range(DRAWS))
    low, high = (means[min(DRAWS - 1, int(tail * DRAWS))] for tail in _TAILS)
    return Mean(fmean(values), low, high)
