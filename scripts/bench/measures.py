"""Measure rankings: is a relevant id among the first k, how many of them are, and how high do they stand."""

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

Measure = Callable[[Sequence[str], AbstractSet[str]], float]

DEPTH = 10  # ids that MRR and nDCG look at


def hit_at(k: int) -> Measure:
    """Return a measure: 1 when a relevant id is among the first k.

    >>> hit_at(1)(["a", "b"], {"b"}), hit_at(2)(["a", "b"], {"b"})
    (0.0, 1.0)
    """
    return lambda ranked, relevant: float(not relevant.isdisjoint(ranked[:k]))


def recall_at(k: int) -> Measure:
    """Return a measure: the share of the relevant ids that is among the first k.

    >>> recall_at(2)(["a", "b", "c"], {"b", "c"})
    0.5
    """
    return lambda ranked, relevant: len(relevant & set(ranked[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], relevant: AbstractSet[str]) -> float:
    """Return 1 / the rank of the first relevant id, 0 when none is among the first ten.

    >>> reciprocal_rank(["a", "b"], {"b"})
    0.5
    """
    return next((1 / rank for rank, name in enumerate(ranked[:DEPTH], 1) if name in relevant), 0.0)


def ndcg(ranked: Sequence[str], relevant: AbstractSet[str]) -> float:
    """Return the normalised discounted cumulative gain of the first ten ids.

    >>> ndcg(["b", "a"], {"b"})
    1.0
    """
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), DEPTH) + 1))
    gain = sum(1 / math.log2(rank + 1) for rank, name in enumerate(ranked[:DEPTH], 1) if name in relevant)
    return gain / best if relevant else 0.0


MEASURES: dict[str, Measure] = {
    "hit@1": hit_at(1),
    "hit@5": hit_at(5),
    "hit@10": hit_at(10),
    "R@5": recall_at(5),
    "R@10": recall_at(10),
    "MRR": reciprocal_rank,
    "nDCG": ndcg,
}


def mean_measures(pairs: Sequence[tuple[Sequence[str], AbstractSet[str]]]) -> dict[str, float]:
    """Return the mean of each measure over rankings and their relevant ids; a question without any is a miss."""
    return {name: sum(measure(*pair) for pair in pairs) / max(1, len(pairs)) for name, measure in MEASURES.items()}
