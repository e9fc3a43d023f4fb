"""The weighted sum of words and meaning: its bounds, its ends, and what must not change it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall.fusion import weighted

Scores = dict[int, float]

seqs = st.integers(1, 12)
words = st.dictionaries(seqs, st.floats(0.01, 40.0), max_size=12)
cosines = st.dictionaries(seqs, st.floats(-1.0, 1.0), max_size=12)
alphas = st.floats(0.0, 1.0)


def in_order(scores: Scores) -> list[int]:
    return sorted(scores, key=lambda seq: (-scores[seq], seq))


@given(words, cosines, alphas)
def test_every_memory_of_either_side_has_one_score_between_nothing_and_one(
    words: Scores, cosines: Scores, alpha: float
) -> None:
    fused = weighted(words, cosines, alpha)
    assert fused.keys() == words.keys() | cosines.keys()
    assert all(0.0 <= score <= 1.0 + 1e-9 for score in fused.values())


@given(words, cosines)
def test_without_a_share_for_meaning_the_order_is_that_of_the_words(words: Scores, cosines: Scores) -> None:
    fused = weighted(words, cosines, 0.0)
    ranked = [fused[seq] for seq in in_order(words)]
    assert ranked == sorted(ranked, reverse=True)  # scores one bit apart may come out equal
    assert all(fused[seq] == 0.0 for seq in cosines.keys() - words.keys())


@given(words, cosines)
def test_without_a_share_for_words_a_score_is_the_cosine(words: Scores, cosines: Scores) -> None:
    assert weighted(words, cosines, 1.0) == {seq: max(0.0, cosines.get(seq, 0.0)) for seq in words.keys() | cosines.keys()}


@given(words, cosines, alphas, st.integers(-20, 20))
def test_only_the_relation_of_the_words_scores_counts(words: Scores, cosines: Scores, alpha: float, power: int) -> None:
    larger = {seq: score * 2.0**power for seq, score in words.items()}
    assert weighted(larger, cosines, alpha) == weighted(words, cosines, alpha)


@given(words, cosines, alphas, st.randoms(use_true_random=False))
def test_the_order_of_the_lists_does_not_show(words: Scores, cosines: Scores, alpha: float, chance: object) -> None:
    def turned(scores: Scores) -> Scores:
        items = list(scores.items())
        chance.shuffle(items)  # type: ignore[attr-defined]  # hypothesis' own kind of random.Random
        return dict(items)

    assert weighted(turned(words), turned(cosines), alpha) == weighted(words, cosines, alpha)


@given(words, cosines, alphas, seqs, st.floats(0.0, 1.0))
def test_a_higher_cosine_never_lowers_a_score(words: Scores, cosines: Scores, alpha: float, seq: int, rise: float) -> None:
    before = {**cosines, seq: cosines.get(seq, 0.0)}
    after = {**before, seq: before[seq] + rise}
    assert weighted(words, after, alpha)[seq] >= weighted(words, before, alpha)[seq]


def test_what_only_one_side_knows_is_worth_that_sides_share() -> None:
    fused = weighted({1: 8.0, 2: 4.0}, {3: 0.9}, 0.25)
    assert fused == pytest.approx({1: 0.75, 2: 0.375, 3: 0.225})


def test_without_any_score_there_is_nothing_to_fuse() -> None:
    assert weighted({}, {}, 0.6) == {}
    assert weighted({1: 0.0}, {}, 0.6) == {1: 0.0}
