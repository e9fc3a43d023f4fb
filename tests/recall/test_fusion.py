"""Fusion of lists: weighted scores, reciprocal ranks and further lists; and its invariants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import fusion
from subcog_hooks.recall.fusion import add_list, reciprocal_ranks, weighted_sum

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


# ---- by weighted scores ----------------------------------------------------------------------------------------------


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


def test_without_any_score_there_is_nothing_to_fuse() -> None:
    assert weighted_sum({}, {}, 0.6) == {}
    assert weighted_sum({1: 0.0}, {}, 0.6) == {1: 0.0}


def test_ranks_below_one_are_refused() -> None:
    for rank in (0, -3):
        with pytest.raises(ValueError, match=f"row 7 has the rank {rank}, expected 1 or more"):
            reciprocal_ranks([(1.0, {7: rank})], 60)


# ---- by reciprocal ranks -----------------------------------------------------------------------------------------


def test_rank_one_is_worth_what_s2_says() -> None:
    assert round(reciprocal_ranks([(1.0, {7: 1})], 60)[7], 4) == 0.0164


@given(st.lists(st.tuples(weights, ranks), max_size=4), st.integers(1, 100))
def test_a_score_is_the_sum_over_the_lists_that_have_the_memory(lists: list[tuple[float, Ranks]], k: int) -> None:
    fused = reciprocal_ranks(lists, k)
    assert fused.keys() == {seq for _, of_one in lists for seq in of_one}
    for seq, score in fused.items():
        assert score == pytest.approx(sum(weight / (k + of_one[seq]) for weight, of_one in lists if seq in of_one))


def test_a_list_without_weight_adds_nothing_and_nobody() -> None:
    assert reciprocal_ranks([(1.0, {1: 1}), (0.0, {1: 1, 2: 2})], 60) == reciprocal_ranks([(1.0, {1: 1})], 60)


def test_rrf_k_decides_between_one_first_and_two_middle_ranks() -> None:
    lists = [(0.5, {1: 1, 2: 4}), (0.5, {3: 1, 2: 4})]
    assert in_order(reciprocal_ranks(lists, 1))[-1] == 2
    assert in_order(reciprocal_ranks(lists, 60))[0] == 2


# ---- a further list, agreement, ranks -------------------------------------------------------------------------------------


@given(cosines, weights, ranks)
def test_a_further_list_adds_its_weight_by_the_rank(fused: Scores, weight: float, of_one: Ranks) -> None:
    raised = add_list(fused, weight, of_one)
    assert raised.keys() == fused.keys() | of_one.keys()
    for seq, score in raised.items():
        gained = weight / of_one[seq] if seq in of_one else 0.0
        assert score == pytest.approx(fused.get(seq, 0.0) + gained)


@pytest.mark.parametrize(
    ("found_by", "ran", "share"), [(1, 1, 0.0), (0, 2, 0.0), (1, 2, 0.5), (2, 2, 1.0), (2, 3, 2 / 3), (3, 3, 1.0), (0, 0, 0.0)]
)
def test_agreement_is_the_share_of_the_strategies_that_ran(found_by: int, ran: int, share: float) -> None:
    assert fusion.agreement_share(found_by, ran) == share


@given(st.lists(st.sampled_from([0.5, 1.0, 2.5, 4.0]), max_size=20))
def test_a_rank_counts_those_that_score_better(scores: list[float]) -> None:
    ranked = [(score, seq) for seq, score in enumerate(sorted(scores, reverse=True))]
    assert fusion.ranks_by_row(ranked) == {seq: 1 + sum(other > score for other in scores) for score, seq in ranked}
