"""The share of meaning when it is left to the query: S2's corpus sizes, S1's query types, bounds, the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.intent.query_type import CONCEPTUAL, ENTITY, EXACT_QUOTE, EXPLORATORY, FACTUAL
from subcog_hooks.recall import fusion
from subcog_hooks.settings.defaults import TYPE_SHARES
from subcog_hooks.settings.keys import KEYS

SMALL, LARGE = 500, 5_000  # S2's
TYPES = (EXACT_QUOTE, ENTITY, CONCEPTUAL, FACTUAL, EXPLORATORY)


@pytest.mark.parametrize(
    ("corpus", "share"), [(0, 0.5), (499, 0.5), (500, 0.7), (4_999, 0.7), (5_000, 0.8), (1_000_000, 0.8), (None, 0.5)]
)
def test_the_corpus_asks_for_what_s2_says(corpus: int | None, share: float) -> None:
    of_type = 0.5  # what a factual query asks for
    assert fusion.adaptive_alpha(FACTUAL, 0.5, corpus, SMALL, LARGE)[0] == pytest.approx((of_type + share) / 2)


@pytest.mark.parametrize(
    ("query_type", "share"), [(EXACT_QUOTE, 0.1), (ENTITY, 0.4), (CONCEPTUAL, 0.8), (FACTUAL, 0.5), (EXPLORATORY, 0.7)]
)
def test_the_query_type_asks_for_what_s1_says(query_type: str, share: float) -> None:
    of_corpus = 0.5  # of unknown size
    assert KEYS[f"fusion.{query_type}"].default == share
    assert fusion.adaptive_alpha(query_type, share, None, SMALL, LARGE)[0] == pytest.approx((share + of_corpus) / 2)


def test_every_type_has_a_share() -> None:
    assert set(TYPE_SHARES) == set(TYPES)


@given(
    *(st.sampled_from(TYPES), st.floats(0.0, 1.0), st.none() | st.integers(0, 10_000_000)),
    *(st.integers(0, 10_000), st.integers(0, 100_000)),
)
def test_a_share_lies_within_s2s_bounds(query_type: str, share: float, corpus: int | None, small: int, large: int) -> None:
    assert 0.1 <= fusion.adaptive_alpha(query_type, share, corpus, small, large)[0] <= 0.9


@pytest.mark.parametrize(
    ("small", "large", "share"), [(SMALL, LARGE, 0.5), (50, LARGE, 0.6), (50, 90, 0.65), (101, 101, 0.5), (0, 0, 0.65)]
)
def test_where_a_corpus_is_small_or_large_can_be_set(small: int, large: int, share: float) -> None:
    assert fusion.adaptive_alpha(FACTUAL, 0.5, 100, small, large)[0] == pytest.approx(share)


def test_the_reason_names_both() -> None:
    assert fusion.adaptive_alpha(ENTITY, 0.4, 800, SMALL, LARGE)[1] == "entity asks for 0.4, a corpus of 800 for 0.7"
    assert "unknown size" in fusion.adaptive_alpha(ENTITY, 0.4, None, SMALL, LARGE)[1]
