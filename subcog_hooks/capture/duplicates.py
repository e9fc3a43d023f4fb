"""Memories that say nearly the same, or the opposite: found by their words, compared by the words that they share."""

from typing import NamedTuple

from subcog_hooks.capture import contradictions
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Filter, Store, audience_of
from subcog_hooks.recall import lexical, query

SIMILAR = 0.5  # share of words in common (Jaccard, stems): from here on a person should look
CANDIDATES = 10
MAX_COMPARED = 4_000  # characters compared


class Near(NamedTuple):
    """A memory that a person should look at before a new one is stored.

    share: of the words that both have together, 0.0 to 1.0; contradiction: how it contradicts the new one, None where it does
    not.
    """

    memory: Memory
    share: float
    contradiction: str | None

    @property
    def likeness(self) -> str:
        """The likeness in words, for a person."""
        return f"contradicts it: {self.contradiction}" if self.contradiction else f"{self.share:.0%} alike"


def near_duplicates(memory: Memory, index: LexicalIndex, store: Store) -> list[Near]:
    """Return the active memories of the same audience that share at least half of their words with `memory`, or contradict it.

    What contradicts it comes first, then the most similar.
    """
    asked = query.analyse(memory.content[:MAX_COMPARED], index)
    audience = Filter(audiences=(audience_of(memory.scope, memory.project),))
    found = lexical.search(index, lexical.any_of(index, asked), audience, CANDIDATES)
    rows = store.by_seqs([seq for _, seq in found[:CANDIDATES]])
    mine, stems = _words(memory, index), index.analysers.body_terms
    compared = [
        Near(other, _jaccard(mine, _words(other, index)), contradictions.contradiction(memory.content, other.content, stems))
        for other in rows.values()
        if other.id != memory.id
    ]
    near = [one for one in compared if one.share >= SIMILAR or one.contradiction]
    return sorted(near, key=lambda one: (one.contradiction is None, -one.share, one.memory.id))


def word_share(one: str, other: str, index: LexicalIndex) -> float:
    """Return the share of their words that two texts have in common, 0.0 to 1.0."""
    return _jaccard(*[set(index.analysers.body_terms(text[:MAX_COMPARED])) for text in (one, other)])


def _words(memory: Memory, index: LexicalIndex) -> set[str]:
    return set(index.analysers.body_terms(memory.content[:MAX_COMPARED]))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0
