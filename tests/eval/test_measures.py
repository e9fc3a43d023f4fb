"""Measures agree with sums done by hand, intervals behave, and our fusion agrees with ranx's."""

import doctest
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.recall import fusion
from tests.eval import measures
from tests.eval.measures import difference, estimate, per_query, reciprocal_ranks

JUDGED = {"one": {"a"}, "two": {"a", "b"}, "none": {"a"}}
FOUND = {"one": ["x", "a", "y"], "two": ["b", "x", "y", "z", "u", "a"], "none": ["x"]}

RANKED = st.lists(st.integers(0, 30), unique=True, min_size=1, max_size=12)


def test_the_examples_of_the_measures_hold() -> None:
    assert doctest.testmod(measures).failed == 0


def test_a_measure_is_what_its_formula_says() -> None:
    cases = [
        ("success@5", 1.0, 1.0),
        ("recall@10", 1.0, 1.0),
        ("mrr@10", 1 / 2, 1.0),
        ("ndcg@10", 1 / math.log2(3), (1 + 1 / math.log2(7)) / (1 + 1 / math.log2(3))),
    ]
    failures = [
        (measure, one, two, actual)
        for measure, one, two in cases
        if (actual := per_query(JUDGED, FOUND)[measure]) != pytest.approx({"one": one, "two": two, "none": 0.0})
    ]
    assert failures == []


def test_an_interval_is_the_same_each_time_and_holds_the_mean() -> None:
    values = [0.0] * 30 + [1.0] * 70
    found = estimate(values)
    assert found == estimate(values)
    half = 1.96 * math.sqrt(0.7 * 0.3 / 100)  # the normal approximation
    assert (found.mean, found.low, found.high) == pytest.approx((0.7, 0.7 - half, 0.7 + half), abs=0.02)
    ours = {f"q{number}": number % 10 / 10 for number in range(60)}
    gain = difference(ours, {query: value - 0.01 for query, value in ours.items()})  # paired: it is certain
    assert (gain.mean, gain.low, gain.high) == pytest.approx((0.01, 0.01, 0.01))


@settings(deadline=None)
@given(st.lists(RANKED, min_size=2, max_size=4), st.integers(1, 100))
def test_reciprocal_ranks_are_those_of_ranx(lists: list[list[int]], k: int) -> None:
    theirs = reciprocal_ranks([list(map(str, ranked)) for ranked in lists], k)
    ranks = [(0.5, {one: place for place, one in enumerate(ranked, 1)}) for ranked in lists]
    ours = fusion.reciprocal_ranks(ranks, k)
    assert {str(one): 2 * score for one, score in ours.items()} == pytest.approx(theirs)
