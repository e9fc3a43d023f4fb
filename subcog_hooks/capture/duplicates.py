"""Memories that say nearly the same: found by their words, compared by the words that they share."""

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Filter, Store, audience_of
from subcog_hooks.recall import lexical, query

SIMILAR = 0.5  # share of words in common (Jaccard, stems): from here on a person should look
CANDIDATES = 10
MAX_READ = 4_000  # characters compared


def near_duplicates(memory: Memory, index: LexicalIndex, store: Store) -> list[tuple[Memory, float]]:
    """Active memories of the same audience that share at least half of their words with `memory`, most similar first.

    Each comes with its similarity, 0.0 to 1.0.
    """
    asked = query.analyse(memory.content[:MAX_READ], index)
    audience = Filter(audiences=(audience_of(memory.scope, memory.project),))
    found = lexical.search(index, lexical.any_of(index, asked), audience, CANDIDATES)
    rows = store.by_seqs([seq for _, seq in found[:CANDIDATES]])
    mine = _words(memory, index)
    compared = [(other, _jaccard(mine, _words(other, index))) for other in rows.values() if other.id != memory.id]
    return sorted(((other, share) for other, share in compared if share >= SIMILAR), key=lambda pair: (-pair[1], pair[0].id))


def _words(memory: Memory, index: LexicalIndex) -> set[str]:
    return set(index.analysers.body_terms(memory.content[:MAX_READ]))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0
