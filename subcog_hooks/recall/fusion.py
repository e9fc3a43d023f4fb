"""One ranking out of the channels' lists: by weighted scores (S4) or by reciprocal ranks (S2, S3). Pure (DESIGN 7.3)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LABELS_IN_RRF = 0.5  # what the list of labels weighs there, as a share of the words' weight, where it has its usual
LABELS_IN_WEIGHTED = 0.1  # weight in the weighted sum
PATTERN_IN_WEIGHTED, STATE_IN_WEIGHTED = 0.3, 0.3  # what DESIGN 7.3 starts with
PATTERN_IN_RRF, STATE_IN_RRF = 0.8, 1.0  # S3's
# The most that agreement adds, as a share of the score. A larger bonus, up to S1's 0.2, gains on locomo and loses on devmem
# with the neural query (tests/eval/results/12f8346.md).
AGREEMENT_BONUS = 0.05


def weighted(words: Mapping[int, float], cosines: Mapping[int, float], alpha: float, full: float = 0.0) -> dict[int, float]:
    """Return the fused score of every memory that either side knows: `(1 - alpha) * bm25 / full bm25 + alpha * cosine`.

    words: BM25 scores by row number; cosines: by row number, looked up for the hits by words too. What one side does not know
    of a memory counts as nothing. full: the score of a memory that has all of the query, where none reaches it: a chance word
    must not count as if it were the whole question (Bruch et al. 2023, theoretical maximum scaling). DESIGN 7.3 divides by the
    best score there is; with `full` as many queries are answered and twice as many of those that share no word.

    >>> weighted({1: 8.0, 2: 4.0}, {1: 0.5, 3: 0.9}, 0.5)
    {1: 0.75, 2: 0.25, 3: 0.45}
    >>> weighted({1: 8.0, 2: 4.0}, {1: 0.5, 3: 0.9}, 0.5, full=16.0)
    {1: 0.5, 2: 0.125, 3: 0.45}
    """
    best = max(full, max(words.values(), default=0.0)) or 1.0
    both = dict.fromkeys((*words, *cosines))
    return {seq: (1.0 - alpha) * words.get(seq, 0.0) / best + alpha * max(0.0, cosines.get(seq, 0.0)) for seq in both}


def reciprocal_ranks(lists: Iterable[tuple[float, Mapping[int, int]]], k: int) -> dict[int, float]:
    """Return the reciprocal rank fusion of lists: the sum of `weight / (k + rank)`, by row number (Cormack et al. 2009).

    lists: (weight, ranks from 1).

    A list of weight 0 adds nothing, and nobody.

    >>> {seq: round(score, 4) for seq, score in reciprocal_ranks([(0.5, {7: 1, 8: 2}), (0.5, {8: 1})], 60).items()}
    {7: 0.0082, 8: 0.0163}
    """
    fused: dict[int, float] = {}
    for weight, ranks in lists:
        if weight > 0.0:
            for seq, rank in ranks.items():
                fused[seq] = fused.get(seq, 0.0) + weight / (k + rank)
    return fused


def with_list(fused: Mapping[int, float], weight: float, ranks: Mapping[int, int]) -> dict[int, float]:
    """Return the scores raised by a further list: each of its memories gains `weight / rank`.

    Such lists come from labels, patterns, states.

    >>> with_list({1: 0.5, 2: 0.4}, 0.1, {2: 1, 3: 2})
    {1: 0.5, 2: 0.5, 3: 0.05}
    """
    seqs = dict.fromkeys((*fused, *ranks))
    return {seq: fused.get(seq, 0.0) + (weight / ranks[seq] if seq in ranks else 0.0) for seq in seqs}


def agreement(found_by: int, ran: int) -> float:
    """Return the share of the strategies that ran which found a memory (S1 section 4).

    It is 0.0 where one ran, with none to agree with.

    >>> agreement(1, 2), agreement(3, 3), agreement(1, 1)
    (0.5, 1.0, 0.0)
    """
    return found_by / ran if ran > 1 else 0.0


def ranks_of(ranked: Sequence[tuple[float, int]]) -> dict[int, int]:
    """Return ranks from 1 by row number; equal scores have equal ranks, so that the order of insertion does not show.

    >>> ranks_of([(9.0, 5), (4.0, 8), (4.0, 2), (1.0, 3)])
    {5: 1, 8: 2, 2: 2, 3: 4}
    """
    ranks: dict[int, int] = {}
    last, rank = None, 0
    for place, (score, seq) in enumerate(ranked, 1):
        if score != last:
            last, rank = score, place
        ranks[seq] = rank
    return ranks
