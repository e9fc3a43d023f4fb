"""Fusion of the channels into one score: weights, reciprocal ranks, recency and the intent's prior."""

from __future__ import annotations

from math import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LABELS_IN_RRF = 0.5  # what the list of labels weighs there, as a share of the words' weight, where it has its usual
LABELS_IN_WEIGHTED = 0.1  # weight in the weighted sum
PATTERN_IN_WEIGHTED, STATE_IN_WEIGHTED = 0.3, 0.3  # starting values; the sweep did not move them
PATTERN_IN_RRF, STATE_IN_RRF = 0.8, 1.0  # S3's
# The most that agreement adds, as a share of the score. A larger bonus, up to S1's 0.2, gains on locomo and loses on devmem
# with the neural query (tests/eval/results/12f8346.md).
AGREEMENT_BONUS = 0.05


def weighted(words: Mapping[int, float], cosines: Mapping[int, float], alpha: float, full: float = 0.0) -> dict[int, float]:
    """Return the fused score of every memory that either side knows: `(1 - alpha) * bm25 / full bm25 + alpha * cosine`.

    words: BM25 scores by row number; cosines: by row number, looked up for the hits by words too. What one side does not know
    of a memory counts as nothing. full: the score of a memory that has all of the query, where none reaches it: a chance word
    must not count as if it were the whole question (Bruch et al. 2023, theoretical maximum scaling). Dividing by the
    best score is usual; with `full` as many queries are answered and twice as many of those that share no word.

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
    """Return the share of the strategies that ran which found a memory.

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


SMALL_SHARE, MIDDLE_SHARE, LARGE_SHARE = 0.5, 0.7, 0.8  # S2: words tell few memories apart, meaning many
UNKNOWN_SHARE = 0.5  # of a corpus whose size nobody knows


def adaptive_alpha(query_type: str, by_type: float, corpus: int | None, small: int, large: int) -> tuple[float, str]:
    """Return the share of meaning that the query's type and the corpus ask for, their mean, and the reason in words.

    by_type: the share that its type asks for. corpus: how many memories are searched, None when that is not known; below
    `small` and from `large` on it counts as such.

    >>> adaptive_alpha("conceptual", 0.8, 800, 500, 5000)
    (0.75, 'conceptual asks for 0.8, a corpus of 800 for 0.7')
    """
    if corpus is None:
        by_corpus, size = UNKNOWN_SHARE, "unknown size"
    else:
        by_corpus = SMALL_SHARE if corpus < small else MIDDLE_SHARE if corpus < large else LARGE_SHARE
        size = f"{corpus}"
    share = (by_type + by_corpus) / 2.0  # .25 to .9, within the .1 to .9 that S2 allows
    return round(share, 4), f"{query_type} asks for {by_type}, a corpus of {size} for {by_corpus}"


DAY_MS = 86_400_000


def recency_factor(created_at: int, now: int, decay: float, floor: float) -> float:
    """Return `floor + (1 - floor) * exp(-decay * days)`, of whole days; 1.0 with decay 0, and for the future.

    created_at, now: milliseconds since 1970. Whole days, so that a query has the same answer all day long.

    >>> recency_factor(0, 70 * DAY_MS, 0.01, 0.7), recency_factor(5, 0, 0.01, 0.7)
    (0.848975591137, 1.0)
    """
    days = max(0, (now - created_at) // DAY_MS)
    return round(floor + (1.0 - floor) * exp(-decay * days), 12) if decay and days else 1.0


# The namespace decides between memories that fit about alike. In the sweep no answer is lost up to 1.5, and precision falls at
# 1.9 (tests/eval/results/12f8346.md).
FAVOURED_FACTOR = 1.1
FAVOURED = {  # namespaces by type of intent
    "howto": ("patterns", "learnings"),
    "troubleshoot": ("blockers", "learnings"),
    "location": ("config", "context"),
    "explanation": ("decisions", "patterns"),
    "comparison": ("decisions", "patterns"),
}


def prior_of(namespace: str, intent: str, factor: float) -> float:
    """Return the factor on the relevance of a memory in `namespace` for a prompt of this intent: `factor`, or 1.0.

    factor: below 2.0, so that no memory passes one with twice its relevance.

    >>> prior_of("patterns", "howto", 1.5), prior_of("config", "howto", 1.5)
    (1.5, 1.0)
    """
    return factor if namespace in FAVOURED.get(intent, ()) else 1.0
