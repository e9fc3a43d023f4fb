"""From candidates to an order: fusion of the lists, agreement, recency. No searching here."""

from __future__ import annotations

from subcog_hooks.recall import fusion
from subcog_hooks.recall.hits import LABELS, LEXICAL, PATTERN, SEMANTIC, STATE
from subcog_hooks.recall.labels import MANY, MANY_FACTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.recall.candidates import Candidates
    from subcog_hooks.recall.tuning import Tuning

DIGITS = 9  # of a score: far reciprocal ranks differ in the seventh


def alpha_of(found: Candidates, tuning: Tuning, corpus: Callable[[], int | None]) -> tuple[float, str]:
    """Return the share of meaning for this query, and why.

    corpus: counts the memories that are searched, when that is asked for.
    """
    if SEMANTIC not in found.strategies:
        return 0.0, "words alone ran"
    if LEXICAL not in found.strategies:
        return 1.0, "meaning alone ran"
    if tuning.alpha is not None:
        return tuning.alpha, "fusion.alpha"
    from subcog_hooks.recall.fusion import adaptive_alpha  # unless it is asked for, .4 ms with the types of queries

    by_type = float(getattr(tuning, found.query.type))
    return adaptive_alpha(found.query.type, by_type, corpus(), tuning.small, tuning.large)


def fused_scores(found: Candidates, tuning: Tuning, alpha: float) -> dict[int, float]:
    """Return the score of every candidate, by row number: its lists fused, raised by as much as its channels agree on it."""
    scores: dict[int, float] = {}
    for amounts in contributions(found, tuning, alpha).values():
        for seq, amount in amounts.items():
            scores[seq] = scores.get(seq, 0.0) + amount
    if tuning.agreement:
        scores = {seq: score * agreement_factor(seq, found, tuning) for seq, score in scores.items()}
    return scores


def contributions(found: Candidates, tuning: Tuning, alpha: float) -> dict[str, dict[int, float]]:
    """Return by channel what it adds to the score of each memory, by row number. Exact and relaxed words are one channel.

    The list of labels weighs as much as its rarest label is rare: a tag that every other memory carries tells nothing (with it,
    devmem's nDCG@10 fell by .007).
    """
    by_labels = found.lists.get(LABELS, {})
    by_pattern, by_state = found.lists.get(PATTERN, {}), found.lists.get(STATE, {})
    weight = tuning.tags * max(found.named.values(), default=0.0) * (MANY_FACTOR if len(found.named) >= MANY else 1.0)
    if tuning.is_weighted:
        return {
            LEXICAL: fusion.weighted(found.words, {}, alpha, found.full_words),
            SEMANTIC: fusion.weighted({}, found.cosines, alpha),
            LABELS: fusion.with_list({}, weight, by_labels),
            PATTERN: fusion.with_list({}, tuning.pattern * fusion.PATTERN_IN_WEIGHTED, by_pattern),
            STATE: fusion.with_list({}, tuning.state * fusion.STATE_IN_WEIGHTED, by_state),
        }
    by_words = fusion.ranks_of(sorted(((score, seq) for seq, score in found.words.items()), key=lambda hit: (-hit[0], hit[1])))
    weight *= fusion.LABELS_IN_RRF * (1.0 - alpha) / fusion.LABELS_IN_WEIGHTED
    lists = {
        SEMANTIC: (alpha, found.lists.get(SEMANTIC, {})),
        LEXICAL: (1.0 - alpha, by_words),
        PATTERN: (tuning.pattern * fusion.PATTERN_IN_RRF, by_pattern),
        STATE: (tuning.state * fusion.STATE_IN_RRF, by_state),
        LABELS: (weight, by_labels),
    }
    return {name: fusion.reciprocal_ranks([one], tuning.rrf_k) for name, one in lists.items()}


def agreement_factor(seq: int, found: Candidates, tuning: Tuning) -> float:
    """Return the factor by which the agreement of the strategies raises a memory's score; 1.0 where none agree."""
    return 1.0 + tuning.agreement * found.agreement(seq)


def aged_score(score: float, created_at: int, now: int, tuning: Tuning) -> tuple[float, float]:
    """Return a score with the memory's age, rounded so that it is the same on every machine, and the factor for the age."""
    factor = fusion.recency_factor(created_at, now, tuning.decay, tuning.floor)
    return round(score * factor, DIGITS), factor
