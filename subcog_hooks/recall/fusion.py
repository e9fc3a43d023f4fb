"""Fusion of the channels into one score: its numbers, weights, reciprocal ranks, recency, the intent's prior; and the memories
that repeat a better one.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp

from subcog_hooks.settings.defaults import ADAPTIVE, DEFAULTS, TYPE_SHARES
from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from subcog_hooks.settings.defaults import Settings, Value

    WordSet = frozenset[str]

# The usual weight of the labels' list in the weighted sum, and its weight in reciprocal ranks as a share of the words'.
LABELS_IN_WEIGHTED = 0.1
LABELS_IN_RRF = 0.5
MANY_LABELS, MANY_LABELS_FACTOR = 3, 1.5  # So many labels in one query count half as much again.
PATTERN_IN_WEIGHTED, STATE_IN_WEIGHTED = 0.3, 0.3  # starting values; measuring did not move them
PATTERN_IN_RRF, STATE_IN_RRF = 0.8, 1.0  # of S3
# The largest bonus for agreement, as a share of the score. A larger bonus, up to S1's 0.2, gains on locomo and loses on devmem
# with the neural query.
AGREEMENT_BONUS = 0.05
# The namespace decides between memories of similar relevance. No answer is lost up to 1.5, and precision falls at 1.9.
FAVOURED_FACTOR = 1.1
# A text with this similarity repeats another. Long texts may differ in a word. Two short texts that differ in one word,
# such as a port, both stay. From 0.85 to 1.0 no figure differs.
NEAR_DUPLICATE = 0.95
DEPTH = 100  # memories of a channel's list

_SETTINGS = (  # Their last parts are the fields of `Tuning`.
    *("fusion.mode", "fusion.alpha", "fusion.small", "fusion.large", "fusion.rrf_k", "fusion.tags", "fusion.pattern"),
    *("fusion.state", *(f"fusion.{kind}" for kind in TYPE_SHARES), "recency.decay", "recency.floor"),
    "search.min_similarity",
)
_NUMBERS: dict[str, Value] = {  # the usual value of each field
    **{name.partition(".")[2]: DEFAULTS[name] for name in _SETTINGS},
    "agreement": AGREEMENT_BONUS,
    "near_duplicate": NEAR_DUPLICATE,
    "lexical_depth": DEPTH,
    "semantic_depth": DEPTH,
}


class Tuning:
    """The numbers by which lists become one ranking: from the settings, or from an experiment.

    alpha: the share of meaning, None for a share by query (`alpha.adaptive`). In that case the field of a query type holds its
    share. Only tests vary agreement, near_duplicate and the depths.
    """

    mode: str
    alpha: float | None
    small: int
    large: int
    rrf_k: int
    tags: float
    pattern: float
    state: float
    decay: float
    floor: float
    min_similarity: float
    agreement: float
    near_duplicate: float
    lexical_depth: int
    semantic_depth: int

    def __init__(self, **numbers: Value) -> None:
        """Keep the numbers. numbers: fields by name; missing fields have their usual values. Raises TypeError."""
        if unknown := numbers.keys() - _NUMBERS.keys():
            raise TypeError(f"no such number: {', '.join(sorted(unknown))}")
        for name, usual in _NUMBERS.items():
            value = numbers.get(name, usual)
            setattr(self, name, None if value == ADAPTIVE else type(usual)(value))


def tuning_from_settings(settings: Settings) -> Tuning:
    """Return the tuning of the settings."""
    return Tuning(**{name.partition(".")[2]: settings[name] for name in _SETTINGS})


def weighted_sum(words: Mapping[int, float], cosines: Mapping[int, float], alpha: float, full: float = 0.0) -> dict[int, float]:
    """Return the fused score of every memory: `(1 - alpha) * bm25 / full bm25 + alpha * cosine`.

    words: BM25 scores by row number; cosines: by row number, also of memories found by words. A missing score counts as 0.
    full: the score of a memory with the whole query, where no memory reaches it. It keeps a chance word from counting like the
    whole question (Bruch et al. 2023, theoretical maximum scaling). Dividing by the best score is usual. With `full` as many
    queries are answered, and twice as many of the queries that share no word.

    >>> weighted_sum({1: 8.0, 2: 4.0}, {1: 0.5, 3: 0.9}, 0.5)
    {1: 0.75, 2: 0.25, 3: 0.45}
    >>> weighted_sum({1: 8.0, 2: 4.0}, {1: 0.5, 3: 0.9}, 0.5, full=16.0)
    {1: 0.5, 2: 0.125, 3: 0.45}
    """
    best = max(full, max(words.values(), default=0.0)) or 1.0
    both = dict.fromkeys((*words, *cosines))
    return {seq: (1.0 - alpha) * words.get(seq, 0.0) / best + alpha * max(0.0, cosines.get(seq, 0.0)) for seq in both}


def reciprocal_ranks(lists: Iterable[tuple[float, Mapping[int, int]]], k: int) -> dict[int, float]:
    """Return the reciprocal rank fusion of lists: the sum of `weight / (k + rank)`, by row number.

    Cormack et al. 2009. lists: (weight, ranks from 1). A list of weight 0 adds neither scores nor memories.

    >>> {seq: round(score, 4) for seq, score in reciprocal_ranks([(0.5, {7: 1, 8: 2}), (0.5, {8: 1})], 60).items()}
    {7: 0.0082, 8: 0.0163}
    """
    fused: dict[int, float] = {}
    for weight, ranks in lists:
        if weight > 0.0:
            for seq, rank in ranks.items():
                fused[seq] = fused.get(seq, 0.0) + weight / (k + rank)
    return fused


TOP_POSITIONS = 3  # The only memory with a rare identifier of the query comes among them.
LIFT = 1e-6  # the lead of a lifted score


def lift_scores(holders: Collection[int], scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores that lift these memories among the TOP_POSITIONS, by row number; only raised scores.

    >>> lift_scores([7, 1], {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 7: 0.2})
    {7: 0.700001}
    """
    others = sorted((score for seq, score in scores.items() if seq not in holders), reverse=True)
    position = TOP_POSITIONS - min(TOP_POSITIONS, len(holders))
    if len(others) <= position:
        return {}
    min_score = others[position] + LIFT
    return {seq: min_score for seq in holders if seq in scores and scores[seq] < min_score}


def ranks_by_row(ranked: Sequence[tuple[float, int]]) -> dict[int, int]:
    """Return ranks from 1 by row number; equal scores have equal ranks.

    The order of insertion must not show.

    >>> ranks_by_row([(9.0, 5), (4.0, 8), (4.0, 2), (1.0, 3)])
    {5: 1, 8: 2, 2: 2, 3: 4}
    """
    ranks: dict[int, int] = {}
    last, rank = None, 0
    for position, (score, seq) in enumerate(ranked, 1):
        if score != last:
            last, rank = score, position
        ranks[seq] = rank
    return ranks


SMALL_SHARE, MIDDLE_SHARE, LARGE_SHARE = 0.5, 0.7, 0.8  # S2: words suffice for few memories, many need meaning


def adaptive_alpha(query_type: str, by_type: float, corpus: int, small: int, large: int) -> tuple[float, str]:
    """Return the mean of the shares of meaning for the query's type and for the corpus, and the reason.

    by_type: the share for the query's type. corpus: the number of searched memories, which is small below `small`, large from
    `large` on.

    >>> adaptive_alpha("conceptual", 0.8, 800, 500, 5000)
    (0.75, 'conceptual asks for 0.8, a corpus of 800 for 0.7')
    """
    by_corpus = SMALL_SHARE if corpus < small else MIDDLE_SHARE if corpus < large else LARGE_SHARE
    share = (by_type + by_corpus) / 2.0  # .25 to .9, within the .1 to .9 that S2 allows
    return round(share, 4), f"{query_type} asks for {by_type}, a corpus of {corpus} for {by_corpus}"


DAY_MS = 86_400_000


def recency_factor(created_at: int, now: int, decay: float, floor: float) -> float:
    """Return `floor + (1 - floor) * exp(-decay * days)`; 1.0 with decay 0 and for a future date.

    created_at, now: milliseconds since 1970. Days are whole, so that a query has the same answer all day long.

    >>> recency_factor(0, 70 * DAY_MS, 0.01, 0.7), recency_factor(5, 0, 0.01, 0.7)
    (0.848975591137, 1.0)
    """
    days = max(0, (now - created_at) // DAY_MS)
    return round(floor + (1.0 - floor) * exp(-decay * days), 12) if decay and days else 1.0


FAVOURED = {  # namespaces by type of intent
    "howto": ("patterns", "learnings"),
    "troubleshoot": ("blockers", "learnings"),
    "location": ("config", "context"),
    "explanation": ("decisions", "patterns"),
    "comparison": ("decisions", "patterns"),
}


def namespace_prior(namespace: str, intent: str) -> float:
    """Return the factor on the relevance of a memory in `namespace` for a prompt of this intent.

    It is below 2.0, so no memory passes another with twice its relevance.

    >>> namespace_prior("patterns", "howto"), namespace_prior("config", "howto")
    (1.1, 1.0)
    """
    return FAVOURED_FACTOR if namespace in FAVOURED.get(intent, ()) else 1.0


MAX_COMPARED_TEXT = 4_000  # characters of a memory
MAX_COMPARED = 200  # memories from the top
WINDOW = 50  # memories from the top
MIN_BODY = 80  # characters below the title line; a shorter text may mean another thing under another title
ENDING = 40  # characters
SIMILAR_LENGTH = 0.8  # Copies differ less in length, and comparing their words takes .2 ms.


def words_and_pairs(text: str) -> WordSet:
    """Return the words, numbers and identifiers of a text, and each pair of neighbours.

    The pairs tell `30s` from `60s` in equal sentences, and "A before B" from "B before A".

    >>> sorted(words_and_pairs("Retry after 30s. Retry!"))
    ['30s', '30s retry', 'after', 'after 30s', 'retry', 'retry after']
    """
    words = [word.lower() for word in analysis.whole_tokens(analysis.fold(text[:MAX_COMPARED_TEXT]))]
    return frozenset((*words, *map(" ".join, pairwise(words))))


def similarity(a: WordSet, b: WordSet) -> float:
    """Return the share of the words of two texts that both have (Jaccard), 0.0 to 1.0.

    >>> similarity(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    both = len(a & b)
    return both / (len(a) + len(b) - both) if a or b else 1.0


def _can_be_similar(a: int, b: int, min_similarity: float) -> bool:
    """Return whether texts of `a` and `b` words can reach a similarity: they share at most the shorter's words."""
    return a == b or (a / b if a < b else b / a) >= min_similarity


def is_copy(text: str, other: str) -> bool:
    """Return whether a text repeats another, but for its title line, white space, case or a word of a long one."""
    if text == other:
        return True
    if plain_ending(text) == plain_ending(other):
        body, other_body = ("".join(whole.partition("\n")[2].lower().split()) for whole in (text, other))
        if len(body) >= MIN_BODY and body == other_body:
            return True
    return _can_be_similar(len(text), len(other), SIMILAR_LENGTH) and len([*distinct_positions((text, other))]) == 1


def plain_ending(text: str) -> str:
    """Return the end of a text without white space, case and last signs, by which copies are found cheaply.

    >>> plain_ending("Wait.\\nRetry after 30s.") == plain_ending("wait. Retry after 30s")
    True
    """
    return "".join(text[-2 * ENDING :].lower().split()).rstrip(".!?,;:")[-ENDING:]


def distinct_positions(texts: Iterable[str], max_similarity: float = NEAR_DUPLICATE) -> Iterator[int]:
    """Yield the positions of the texts that are less similar than `max_similarity` to every earlier one.

    A `max_similarity` of 1.0 keeps all. Only the first MAX_COMPARED texts are compared, each with all that stayed.

    >>> list(distinct_positions(["Retry after 30s.", "retry after 30s", "Retry after 60s."], 0.95))
    [0, 2]
    """
    earlier: list[WordSet] = []
    for position, text in enumerate(texts):
        if max_similarity < 1.0 and position < MAX_COMPARED:
            words = words_and_pairs(text)
            if any(
                _can_be_similar(len(words), len(other), max_similarity) and similarity(words, other) >= max_similarity
                for other in earlier
            ):
                continue
            earlier.append(words)
        yield position
