"""From candidates to an order: fusion of the lists, agreement and recency. No searching here."""

from __future__ import annotations

from subcog_hooks.recall import fusion
from subcog_hooks.recall.hits import LABELS, LEXICAL, PATTERN, SEMANTIC, STATE
from subcog_hooks.recall.labels import MANY_LABELS, MANY_LABELS_FACTOR
from subcog_hooks.recall.relevance import LONGEST_NOTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.recall.candidates import Candidates
    from subcog_hooks.recall.tuning import Tuning
    from subcog_hooks.store.memory import Memory

REORDERED = 20  # memories from the top of a search, which relevance may order
DIGITS = 9  # of a score: far reciprocal ranks differ in the seventh


def choose_alpha(candidates: Candidates, tuning: Tuning, corpus: Callable[[], int | None]) -> tuple[float, str]:
    """Return the share of meaning for this query, and the reason.

    corpus: counts the searched memories, called only where needed.
    """
    if SEMANTIC not in candidates.strategies:
        return 0.0, "words alone ran"
    if LEXICAL not in candidates.strategies:
        return 1.0, "meaning alone ran"
    if tuning.alpha is not None:
        return tuning.alpha, "fusion.alpha"
    from subcog_hooks.recall.fusion import adaptive_alpha  # .4 ms with the types of queries

    by_type = float(getattr(tuning, candidates.query.type))
    return adaptive_alpha(candidates.query.type, by_type, corpus(), tuning.small, tuning.large)


def fused_scores(candidates: Candidates, tuning: Tuning, alpha: float) -> dict[int, float]:
    """Return the score of every candidate, by row number: its fused lists, raised by the channels' agreement."""
    scores: dict[int, float] = {}
    for amounts in channel_contributions(candidates, tuning, alpha).values():
        for seq, amount in amounts.items():
            scores[seq] = scores.get(seq, 0.0) + amount
    if tuning.agreement:
        scores = {seq: score * agreement_factor(seq, candidates, tuning) for seq, score in scores.items()}
    return scores


def channel_contributions(candidates: Candidates, tuning: Tuning, alpha: float) -> dict[str, dict[int, float]]:
    """Return each channel's addition to the scores of memories, by row number. Exact and relaxed words are one channel.

    The list of labels weighs as much as its rarest label is rare. A tag of every other memory says nothing: with it, devmem's
    nDCG@10 fell by .007.
    """
    by_labels = candidates.lists.get(LABELS, {})
    by_pattern, by_state = candidates.lists.get(PATTERN, {}), candidates.lists.get(STATE, {})
    weight = (
        tuning.tags
        * max(candidates.named.values(), default=0.0)
        * (MANY_LABELS_FACTOR if len(candidates.named) >= MANY_LABELS else 1.0)
    )
    if tuning.is_weighted:
        return {
            LEXICAL: fusion.weighted_sum(candidates.words, {}, alpha, candidates.full_words),
            SEMANTIC: fusion.weighted_sum({}, candidates.cosines, alpha),
            LABELS: fusion.add_list({}, weight, by_labels),
            PATTERN: fusion.add_list({}, tuning.pattern * fusion.PATTERN_IN_WEIGHTED, by_pattern),
            STATE: fusion.add_list({}, tuning.state * fusion.STATE_IN_WEIGHTED, by_state),
        }
    by_words = fusion.ranks_by_row(
        sorted(((score, seq) for seq, score in candidates.words.items()), key=lambda hit: (-hit[0], hit[1]))
    )
    weight *= fusion.LABELS_IN_RRF * (1.0 - alpha) / fusion.LABELS_IN_WEIGHTED
    lists = {
        SEMANTIC: (alpha, candidates.lists.get(SEMANTIC, {})),
        LEXICAL: (1.0 - alpha, by_words),
        PATTERN: (tuning.pattern * fusion.PATTERN_IN_RRF, by_pattern),
        STATE: (tuning.state * fusion.STATE_IN_RRF, by_state),
        LABELS: (weight, by_labels),
    }
    return {name: fusion.reciprocal_ranks([weighted_ranks], tuning.rrf_k) for name, weighted_ranks in lists.items()}


def agreement_factor(seq: int, candidates: Candidates, tuning: Tuning) -> float:
    """Return the factor of the strategies' agreement on a memory's score; 1.0 where none agree."""
    return 1.0 + tuning.agreement * candidates.agreement(seq)


def apply_recency(score: float, created_at: int, now_ms: int, tuning: Tuning) -> tuple[float, float]:
    """Return a score times the factor for the memory's age, and this factor.

    Rounding makes the score equal on every machine.
    """
    factor = fusion.recency_factor(created_at, now_ms, tuning.decay, tuning.floor)
    return round(score * factor, DIGITS), factor


def are_long(memories: Sequence[Memory]) -> bool:
    """Return whether relevance orders these better than the score: most of them are longer than a note.

    Relevance is fitted on sections of documentation. Its order has an nDCG@10 of .771 on devmem (score: .757), .870 and .764 on
    part A of gate and real (.857, .746), .732 and .595 on part B (.717, .584). Among short notes it is worse: .853 on the
    project's own (.863).
    """
    long = sum(len(memory.content.split()) > LONGEST_NOTE for memory in memories)
    return long > len(memories) / 2
