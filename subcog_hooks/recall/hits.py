"""What recall gives: hits, the answer they stand in, and the labels of how sure it is of them. No searching here."""

from subcog_hooks.memory.model import Memory

LEXICAL, SEMANTIC = "lexical", "semantic"
STRONG_RELEVANCE = 0.5  # one strategy alone gives the label `medium` from here on (DESIGN 7.6)
AGREED = 10  # strategies agree on a memory when each has it among its first so many


class Hit:
    """A memory that was found.

    score: the fused one, comparable within one answer; relevance: a probability. ranks (from 1) and scores (BM25, cosine): the
    channels' own, by the channel's name; a channel that has not found the memory gives no rank, and its score if it knows one.
    """

    __slots__ = ("memory", "ranks", "relevance", "score", "scores")

    def __init__(self, memory: Memory, score: float, relevance: float, ranks: dict[str, int], scores: dict[str, float]) -> None:
        self.memory = memory
        self.score = score
        self.relevance = relevance
        self.ranks = ranks
        self.scores = scores

    @property
    def found_by(self) -> tuple[str, ...]:
        """The channels that found it, by name."""
        return tuple(sorted(self.ranks))


class Answer:
    """One page of hits, best first; strategies: the channels that ran; note: why one that should have run did not."""

    __slots__ = ("hits", "note", "strategies")

    def __init__(self, hits: list[Hit], strategies: tuple[str, ...], note: str | None = None) -> None:
        self.hits = hits
        self.strategies = strategies
        self.note = note

    def confidence(self, hit: Hit) -> str:
        """DESIGN 7.6: how many of the strategies that ran agree on a hit, and how relevant it is."""
        strong = hit.relevance >= STRONG_RELEVANCE
        agreed = sum(rank <= AGREED for rank in hit.ranks.values()) > 1
        if agreed and self.note is None:
            return "very_high" if strong else "high"
        return "medium" if strong or agreed else "low"
