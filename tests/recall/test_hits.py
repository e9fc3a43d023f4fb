"""How sure an answer is of its hits: labels, the cap of a degraded answer, and the sum behind a relevance."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import hits, logit
from subcog_hooks.recall.hits import (
    HIGH,
    LABELS,
    LEXICAL,
    LOW,
    MEDIUM,
    NO_RESULTS,
    SEMANTIC,
    SPECULATIVE,
    VERY_HIGH,
    Answer,
    Hit,
)
from subcog_hooks.recall.relevance import evidence_meanings
from tests.recall.shelf import memory

BOTH, ALL = (LEXICAL, SEMANTIC), (LEXICAL, SEMANTIC, LABELS)
STRONG, WEAK = 0.5, 0.49


def hit(relevance: float, agreement: float = 0.0) -> Hit:
    return Hit(memory("text"), 1.0, relevance, {}, {}, agreement)


def test_a_label_says_how_many_agree_and_how_relevant_it_is(subtests: pytest.Subtests) -> None:
    cases = [
        (ALL, 3, STRONG, VERY_HIGH),
        (BOTH, 2, STRONG, VERY_HIGH),
        (ALL, 3, WEAK, HIGH),
        (BOTH, 2, WEAK, HIGH),
        (ALL, 2, STRONG, HIGH),
        (ALL, 2, WEAK, HIGH),
        (ALL, 1, STRONG, MEDIUM),
        (BOTH, 1, STRONG, MEDIUM),
        (BOTH, 1, WEAK, LOW),
        (BOTH, 0, STRONG, MEDIUM),
        (BOTH, 0, WEAK, LOW),
        ((LEXICAL,), 0, STRONG, MEDIUM),
        ((LEXICAL,), 0, WEAK, LOW),
    ]
    for strategies, agreed, relevance, label in cases:
        with subtests.test(strategies=strategies):
            of = hit(relevance, agreed / len(strategies) if len(strategies) > 1 else 0.0)
            assert Answer([of], strategies).confidence_of(of) == label


def test_a_degraded_answer_has_medium_at_most() -> None:
    cases = [(2, STRONG, MEDIUM), (2, WEAK, MEDIUM), (1, STRONG, MEDIUM), (1, WEAK, LOW), (0, WEAK, LOW)]
    hits = [hit(relevance, agreed / 2) for agreed, relevance, _ in cases]
    answers = [Answer([of], BOTH, "semantic: out of time", is_degraded=True) for of in hits]
    assert [answer.confidence_of(of) for answer, of in zip(answers, hits, strict=True)] == [label for _, _, label in cases]


def test_hits_of_looser_matching_are_labelled_so() -> None:
    for stage, relevance in product((LOW, SPECULATIVE), (STRONG, WEAK)):
        of = hit(relevance, 1.0)
        answer = Answer([of], BOTH)
        answer.stage = stage
        assert (answer.confidence_of(of), answer.confidence) == (stage, stage)


def test_the_label_of_an_answer_is_that_of_its_best_hit() -> None:
    assert Answer([hit(STRONG, 1.0), hit(WEAK)], BOTH).confidence == VERY_HIGH
    assert Answer([hit(WEAK), hit(STRONG, 1.0)], BOTH).confidence == LOW
    assert Answer([], BOTH).confidence == NO_RESULTS


def test_a_hit_names_the_channels_that_listed_it() -> None:
    of = Hit(memory("text"), 1.0, 0.5, {"semantic": 2, "lexical_exact": 1}, {"semantic": 0.8, "lexical_relaxed": 2.0})
    assert of.found_by == ("lexical_exact", "semantic")


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
    assert hits.EXACT_CHANNELS == logit.CHANNELS.keys() <= evidence_meanings().keys()


@given(st.sampled_from(sorted(logit.CHANNELS)))
def test_of_nothing_else_known_the_share_is_the_probability(name: str) -> None:
    assert logit.probability(logit.terms_of_channels([name])) == logit.CHANNELS[name]
    assert logit.probability(logit.terms_of_channels([])) == 0.0


@given(st.lists(st.tuples(st.just("x"), st.just(1.0), st.floats(-1e6, 1e6)), max_size=5))
def test_a_probability_is_one_whatever_it_is_made_of(terms: list[tuple[str, float, float]]) -> None:
    assert 0.0 <= logit.probability(tuple(terms)) <= 1.0
