"""The measures agree with their formulas, and our reciprocal rank fusion with ranx's."""

import importlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog_hooks.recall import fusion
from tests.eval.measures import per_query

RANKED = st.lists(st.integers(0, 30), unique=True, min_size=1, max_size=12)


def test_measures_are_what_their_formulas_say() -> None:
    found = per_query({"two": {"a", "b"}, "none": {"a"}}, {"two": ["b", "x", "y", "z", "u", "a"], "none": ["x"]})
    ndcg = (1 + 1 / math.log2(7)) / (1 + 1 / math.log2(3))
    expected = {"success@5": 1.0, "recall@10": 1.0, "mrr@10": 1.0, "ndcg@10": ndcg}
    assert {name: found[name]["two"] for name in expected} == pytest.approx(expected)
    assert {name: found[name]["none"] for name in expected} == dict.fromkeys(expected, 0.0)


@settings(deadline=None)
@given(st.lists(RANKED, min_size=2, max_size=4), st.integers(1, 100))
def test_reciprocal_ranks_are_those_of_ranx(lists: list[list[int]], k: int) -> None:
    ranx = importlib.import_module("ranx")
    runs = [ranx.Run({"q": {str(one): 1.0 / place for place, one in enumerate(ranked, 1)}}) for ranked in lists]
    theirs = ranx.fuse(runs=runs, method="rrf", params={"k": k}).to_dict()["q"]
    ranks = [(0.5, {one: place for place, one in enumerate(ranked, 1)}) for ranked in lists]
    ours = fusion.reciprocal_ranks(ranks, k)
    assert {str(one): 2 * score for one, score in ours.items()} == pytest.approx(theirs)
