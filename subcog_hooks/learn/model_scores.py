"""The score of a model's proposal: the probability that it is worth keeping, by the rank of the model's certainty. Pure.

Models use the same scale differently. So a certainty counts by the share of this model's answers that are less certain.
"""

from collections.abc import Mapping
from math import exp

# A strong model's 511 certainties on twelve people's sessions, by twentieth; they count as USUAL_ANSWERS of another model's.
_USUAL = {6: 13, 7: 5, 8: 49, 9: 17, 10: 72, 11: 14, 12: 96, 13: 27, 14: 88, 15: 29, 16: 63, 17: 20, 18: 15, 19: 3}
USUAL_ANSWERS = 100
MIN_ANSWERS = 30  # proposals of a model until its own scale is known
# Fitted on the labels of these sessions: with each person left out, the mean error of ten equal bins is .09.
_SLOPE, _SHIFT = 5.68, -3.47
ACTS_FROM = 0.4  # a score; of six people's proposals from it on .79 were worth keeping, of six others' .72
UNKNOWN_ACTS_FROM = 0.85  # a certainty, until the model's scale is known


def bucket_of(certainty: float) -> int:
    """Return the twentieth to which a certainty is rounded.

    >>> bucket_of(0.7), bucket_of(1.0)
    (14, 20)
    """
    return round(certainty * 20)


def score_of(certainty: float, counts: Mapping[int, int]) -> float:
    """Return the probability that a proposal is worth keeping. counts: of the model's proposals so far, by twentieth.

    >>> score_of(0.9, {}), score_of(0.5, {}), score_of(0.5, {4: 90, 10: 10})
    (0.89, 0.11, 0.47)
    """
    usual = USUAL_ANSWERS / sum(_USUAL.values())
    weights = {bucket: _USUAL.get(bucket, 0) * usual + counts.get(bucket, 0) for bucket in {*_USUAL, *counts}}
    own = bucket_of(certainty)
    below = sum(weight for bucket, weight in weights.items() if bucket < own) + weights.get(own, 0.0) / 2
    return round(1.0 / (1.0 + exp(-(_SLOPE * below / sum(weights.values()) + _SHIFT))), 2)


def is_sure(certainty: float, score: float, counts: Mapping[int, int]) -> bool:
    """Return whether a proposal is sure enough to act at once."""
    return score >= ACTS_FROM if sum(counts.values()) >= MIN_ANSWERS else certainty >= UNKNOWN_ACTS_FROM
