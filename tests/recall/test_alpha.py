"""The share of meaning when it is left to the query: S2's corpus sizes, S1's query types, bounds, the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.intent.query_type import CONCEPTUAL, ENTITY, EXACT_QUOTE, EXPLORATORY, FACTUAL
from subcog_hooks.recall import fusion
from subcog_hooks.settings.defaults import TYPE_SHARES
from subcog_hooks.settings.keys import KEYS

SMALL, LARGE = 500, 5_000  # S2's
OF_S1 = {EXACT_QUOTE: 0.1, ENTITY: 0.4, CONCEPTUAL: 0.8, FACTUAL: 0.5, EXPLORATORY: 0.7}


def test_the_share_is_the_mean_of_what_type_and_corpus_ask_for(subtests: pytest.Subtests) -> None:
    unknown = None, SMALL, LARGE
    cases = [
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.5) for corpus in (0, 499)),
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.7) for corpus in (500, 4_999)),
        *((FACTUAL, 0.5, (corpus, SMALL, LARGE), 0.8) for corpus in (5_000, 1_000_000)),
        *((FACTUAL, 0.5, (100, *bounds), 0.8) for bounds in ((50, 90), (0, 0))),
        (FACTUAL, 0.5, (100, 50, LARGE), 0.7),
        (FACTUAL, 0.5, (100, 101, 101), 0.5),
        *((kind, share, unknown, 0.5) for kind, share in OF_S1.items()),
    ]
    for kind, share, corpus, of_corpus in cases:
        with subtests.test(kind=kind, corpus=corpus):
            assert fusion.adaptive_alpha(kind, share, *corpus)[0] == pytest.approx((share + of_corpus) / 2)


def test_every_type_asks_for_what_s1_says() -> None:
    assert set(TYPE_SHARES) == set(OF_S1)
    assert {kind: KEYS[f"fusion.{kind}"].default for kind in OF_S1} == OF_S1


@given(
    *(st.sampled_from([*OF_S1]), st.floats(0.0, 1.0), st.none() | st.integers(0, 10_000_000)),
    *(st.integers(0, 10_000), st.integers(0, 100_000)),
)
def test_a_share_lies_within_s2s_bounds(query_type: str, share: float, corpus: int | None, small: int, large: int) -> None:
    assert 0.1 <= fusion.adaptive_alpha(query_type, share, corpus, small, large)[0] <= 0.9


def test_the_reason_names_both() -> None:
    assert fusion.adaptive_alpha(ENTITY, 0.4, 800, SMALL, LARGE)[1] == "entity asks for 0.4, a corpus of 800 for 0.7"
    assert "unknown size" in fusion.adaptive_alpha(ENTITY, 0.4, None, SMALL, LARGE)[1]
