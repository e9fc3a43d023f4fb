"""How sure an answer is of its hits: every label, the cap of a degraded answer, the label of a looser stage."""

from itertools import product

import pytest

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
