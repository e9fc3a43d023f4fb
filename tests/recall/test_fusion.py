"""Fusion of lists: weighted scores, reciprocal ranks, further lists; its invariants; and memories that repeat others."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.results import confidence_of
from subcog_hooks.cli.verdicts.verdict_view import MEANINGS
from subcog_hooks.recall import fusion, hits, logit
from subcog_hooks.recall.fusion import distinct_positions, reciprocal_ranks, similarity, weighted_sum, words_and_pairs
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
from tests.recall.shelf import memory

Scores = dict[int, float]
Ranks = dict[int, int]

seqs = st.integers(1, 12)
words = st.dictionaries(seqs, st.floats(0.01, 40.0), max_size=12)
cosines = st.dictionaries(seqs, st.floats(-1.0, 1.0), max_size=12)
alphas = st.floats(0.0, 1.0)
fulls = st.floats(0.0, 80.0)
ranks = st.dictionaries(seqs, st.integers(1, 100), max_size=12)
weights = st.floats(0.01, 1.0)


def in_order(scores: Scores) -> list[int]:
    return sorted(scores, key=lambda seq: (-scores[seq], seq))


@given(words, cosines, alphas, fulls)
def test_a_score_is_the_weighted_mean_of_both_sides(words: Scores, cosines: Scores, alpha: float, full: float) -> None:
    """Only words in relation to the best memory's, or to the full score where no memory reaches it, count."""
    most = max([full, *words.values()])
    fused = weighted_sum(words, cosines, alpha, full)
    assert fused.keys() == words.keys() | cosines.keys()
    for seq, score in fused.items():
        of_words = words.get(seq, 0.0) / most if most else 0.0
        assert score == pytest.approx((1.0 - alpha) * of_words + alpha * max(0.0, cosines.get(seq, 0.0)))
        assert 0.0 <= score <= 1.0 + 1e-9


def test_a_chance_word_does_not_outrank_a_memory_that_is_meant() -> None:
    words, cosines = {1: 3.0}, {1: 0.2, 2: 0.6}  # 1 has one word of six, 2 none, and lies nearest
    assert in_order(weighted_sum(words, cosines, 0.7, full=18.0)) == [2, 1]
    assert in_order(weighted_sum(words, cosines, 0.7)) == [1, 2]  # as if that word were the whole question


@given(st.lists(st.tuples(weights, ranks), max_size=4), st.integers(1, 100))
def test_a_score_is_the_sum_over_the_lists_that_have_the_memory(lists: list[tuple[float, Ranks]], k: int) -> None:
    fused = reciprocal_ranks(lists, k)
    assert fused.keys() == {seq for _, of_one in lists for seq in of_one}
    for seq, score in fused.items():
        assert score == pytest.approx(sum(weight / (k + of_one[seq]) for weight, of_one in lists if seq in of_one))


@given(st.lists(st.sampled_from([0.5, 1.0, 2.5, 4.0]), max_size=20))
def test_a_rank_counts_those_that_score_better(scores: list[float]) -> None:
    ranked = [(score, seq) for seq, score in enumerate(sorted(scores, reverse=True))]
    assert fusion.ranks_by_row(ranked) == {seq: 1 + sum(other > score for other in scores) for score, seq in ranked}


texts = st.lists(st.lists(st.sampled_from("red green blue black white".split()), max_size=4).map(" ".join), max_size=12)


def test_a_copy_is_left_out_and_another_number_is_no_copy() -> None:
    cases = [
        ("Retry after 30s.", "Retry after 30s.", False),
        ("Retry after 30s.", "RETRY, after 30s!", False),
        ("Retry after 30s.", "Retry after 60s.", True),
        ("The port is 8080 on every host in the pool.", "The port is 8081 on every host in the pool.", True),
        ("Pin the driver to v2.1.3 for now.", "Pin the driver to v2.1.4 for now.", True),
        ("See src/app/db.py first.", "See src/app/cache.py first.", True),
        ("The café kiosk restarts at night.", "The cafe kiosk restarts at night.", False),
        ("Deploy A before B.", "Deploy B before A.", True),
        ("Retry after 30s, not after 60s.", "Retry after 60s, not after 30s.", True),
    ]
    failures = [
        (a, b, actual)
        for a, b, are_distinct in cases
        if (actual := list(distinct_positions([a, b], 0.95))) != ([0, 1] if are_distinct else [0])
    ]
    assert failures == []


def test_of_very_long_texts_the_beginnings_are_compared() -> None:
    start = "word " * 800  # 4,000 characters
    assert list(distinct_positions([start + "one two three", start + "four five six"], 0.95)) == [0]
    assert list(distinct_positions([start[:-40] + "one two three", start[:-40] + "four five six"], 0.95)) == [0, 1]


def test_a_copy_of_a_copy_is_compared_with_the_kept_hit() -> None:
    chain = ["a b c d e", "b c d e f", "c d e f g"]  # neighbours share 7 of 11 words and pairs, the first and last 5 of 13
    assert list(distinct_positions(chain, 0.6)) == [0, 2]


@given(texts, st.floats(0.5, 0.99))
def test_kept_hits_differ_and_left_out_hits_copy_a_better_hit(of: list[str], max_similarity: float) -> None:
    kept = list(distinct_positions(of, max_similarity))
    words = [words_and_pairs(text) for text in of]
    for position in range(len(of)):
        is_like_a_better_one = any(
            similarity(words[position], words[better]) >= max_similarity for better in kept if better < position
        )
        assert (position in kept) != is_like_a_better_one


@given(texts.filter(lambda of: len(of) > 1))
def test_similarity_is_mutual_and_whole_with_oneself(of: list[str]) -> None:
    a, b = words_and_pairs(of[0]), words_and_pairs(of[1])
    assert similarity(a, b) == similarity(b, a)
    assert 0.0 <= similarity(a, b) <= similarity(a, a) == 1.0


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
            assert confidence_of(Answer([of], strategies), of) == label


def test_a_degraded_answer_has_medium_at_most() -> None:
    cases = [(2, STRONG, MEDIUM), (2, WEAK, MEDIUM), (1, STRONG, MEDIUM), (1, WEAK, LOW), (0, WEAK, LOW)]
    hits = [hit(relevance, agreed / 2) for agreed, relevance, _ in cases]
    answers = [Answer([of], BOTH, "semantic: out of time", is_degraded=True) for of in hits]
    assert [confidence_of(answer, of) for answer, of in zip(answers, hits, strict=True)] == [label for _, _, label in cases]


def test_hits_of_looser_matching_are_labelled_so() -> None:
    for stage, relevance in product((LOW, SPECULATIVE), (STRONG, WEAK)):
        of = hit(relevance, 1.0)
        answer = Answer([of], BOTH)
        answer.stage = stage
        assert (confidence_of(answer, of), confidence_of(answer)) == (stage, stage)


def test_the_label_of_an_answer_is_that_of_its_best_hit() -> None:
    assert confidence_of(Answer([hit(STRONG, 1.0), hit(WEAK)], BOTH)) == VERY_HIGH
    assert confidence_of(Answer([hit(WEAK), hit(STRONG, 1.0)], BOTH)) == LOW
    assert confidence_of(Answer([], BOTH)) == NO_RESULTS


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


def test_each_sure_channel_has_a_term_with_a_meaning() -> None:
    terms = logit.terms_of_channels(sorted(hits.EXACT_CHANNELS))
    assert [name for name, _, _ in terms] == ["intercept", *sorted(hits.EXACT_CHANNELS)]
    assert hits.EXACT_CHANNELS == logit.CHANNELS.keys() <= MEANINGS.keys()


@given(st.lists(st.tuples(st.just("x"), st.just(1.0), st.floats(-1e6, 1e6)), max_size=5))
def test_a_probability_is_one_whatever_it_is_made_of(terms: list[tuple[str, float, float]]) -> None:
    assert 0.0 <= logit.probability(tuple(terms)) <= 1.0
