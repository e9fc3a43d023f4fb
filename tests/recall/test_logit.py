"""Probabilities as sums of logits: the effect of a sure channel on a memory's probability."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import hits, logit
from subcog_hooks.recall.relevance import NAMES

names = st.lists(st.sampled_from(sorted(logit.CHANNELS)), unique=True)
logits = st.floats(-200.0, 200.0)


def before(adds: float) -> tuple[tuple[str, float, float], ...]:
    return (("intercept", 1.0, adds),)


@given(logits, names)
def test_a_channel_raises_a_probability_within_bounds(adds: float, channels: list[str]) -> None:
    usual = logit.probability(before(adds))
    assert usual <= logit.probability(logit.with_channels(before(adds), channels)) + 1e-4 <= 1.0 + 1e-4


@given(st.floats(-15.0, 5.0), st.sampled_from(sorted(logit.CHANNELS)))
def test_a_channel_takes_its_share_of_the_doubt(adds: float, name: str) -> None:
    doubt = 1.0 - logit.probability(before(adds))
    left = 1.0 - logit.probability(logit.with_channels(before(adds), [name]))
    assert left == pytest.approx(doubt * (1.0 - logit.CHANNELS[name]), abs=2e-4)


@given(names, st.randoms(use_true_random=False))
def test_the_order_of_the_channels_does_not_show(channels: list[str], chance: random.Random) -> None:
    turned = list(channels)
    chance.shuffle(turned)
    assert logit.terms_of_channels(turned) == logit.terms_of_channels(channels)


def test_channels_that_are_only_likely_add_nothing() -> None:
    assert logit.with_channels(before(0.0), ["exact", "relaxed", "semantic", "labels"]) == before(0.0)


def test_each_sure_channel_has_a_term_with_a_meaning() -> None:
    terms = logit.terms_of_channels(sorted(hits.EXACT_CHANNELS))
    assert [name for name, _, _ in terms] == ["intercept", *sorted(hits.EXACT_CHANNELS)]
    assert hits.EXACT_CHANNELS == logit.CHANNELS.keys() <= NAMES.keys()


@given(st.sampled_from(sorted(logit.CHANNELS)))
def test_of_nothing_else_known_the_share_is_the_probability(name: str) -> None:
    assert logit.probability(logit.terms_of_channels([name])) == logit.CHANNELS[name]
    assert logit.probability(logit.terms_of_channels([])) == 0.0


@given(st.lists(st.tuples(st.just("x"), st.just(1.0), st.floats(-1e6, 1e6)), max_size=5))
def test_a_probability_is_one_whatever_it_is_made_of(terms: list[tuple[str, float, float]]) -> None:
    assert 0.0 <= logit.probability(tuple(terms)) <= 1.0
