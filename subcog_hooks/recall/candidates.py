"""What the channels bring for one query, joined: every memory in either list, scored by both sides.

The cosine of a memory found by words is looked up. The BM25 score of one found by meaning alone, behind the first hundred by
words, counts as none: looking it up changed no measure by more than .003 and took 2 ms among 100,000 memories.
"""

from subcog_hooks.config import ALPHA
from subcog_hooks.errors import SubcogError
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Filter, Store
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall import fusion, lexical, query, relevance, semantic
from subcog_hooks.recall.hits import LEXICAL, SEMANTIC, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HYBRID = "hybrid"
MODES = (HYBRID, LEXICAL, SEMANTIC)
LEAST_COSINE = (
    0.25  # below it a memory without one of the words is only the nearest there is; up to .4 no measure of hybrid changes
)


class Sources:
    """What recall reads. space: where meaning is compared, None for words alone; note: why there is none; alpha: its share."""

    __slots__ = ("alpha", "index", "note", "space", "store")

    def __init__(
        self,
        index: LexicalIndex,
        store: Store,
        space: semantic.Channel | None = None,
        alpha: float = ALPHA,
        note: str | None = None,
    ) -> None:
        self.index = index
        self.store = store
        self.space = space
        self.alpha = alpha
        self.note = note


class Candidates:
    """The union of the channels' lists. fused: each memory's score, by row number; note: the channel that failed, and why."""

    __slots__ = (
        "_best_cosines",
        "_best_words",
        "_index",
        "_meaning",
        "_query",
        "_ranks",
        "_words",
        "fused",
        "note",
        "strategies",
    )

    def __init__(
        self,
        asked: query.Query,
        index: LexicalIndex,
        words: "list[tuple[float, int]] | None",
        meaning: "_Meaning | None",
        alpha: float,
        note: str | None,
    ) -> None:
        """words, meaning: what the channels brought, None of one that did not run."""
        cosines = meaning.cosines if meaning else {}
        self.note = note
        self.strategies = tuple(name for name, ran in ((LEXICAL, words is not None), (SEMANTIC, meaning is not None)) if ran)
        self._query = asked
        self._index = index
        self._meaning = meaning
        self._words = {seq: score for score, seq in words or ()}
        self._best_words = sorted(self._words.values(), reverse=True)[:2]
        self._best_cosines = sorted(cosines.values(), reverse=True)[:2]
        self._ranks = {
            LEXICAL: {seq: rank for rank, (_, seq) in enumerate(words or (), 1)},
            SEMANTIC: {seq: rank for rank, (_, seq) in enumerate(meaning.near if meaning else (), 1)},
        }
        self.fused = fusion.weighted(self._words, cosines, alpha)

    @property
    def longest(self) -> int:
        """The length of the longest list: less than was asked for means that there are no more."""
        return max(map(len, self._ranks.values()))

    def hit(self, memory: Memory) -> Hit:
        """The hit that one of the candidates is, with its relevance."""
        words = self._words.get(memory.seq, 0.0)
        lead = relevance.lead(words, _others(self._best_words, words))
        cosine = self._meaning.cosines.get(memory.seq) if self._meaning else None
        return self._judged(memory, words, lead, cosine)

    def unindexed(self, memories: "Sequence[Memory]") -> list[Hit]:
        """The hits that memories are which the index has not reached: their lead is not known, their cosines are looked up."""
        seqs = [memory.seq for memory in memories]
        cosines = self._meaning.look_up(seqs) if self._meaning else {}
        return [self._judged(memory, 0.0, relevance.NO_LEAD, cosines.get(memory.seq)) for memory in memories]

    def _judged(self, memory: Memory, words: float, lead: float, cosine: float | None) -> Hit:
        found = relevance.evidence(self._query, memory, self._index.analysers)
        if cosine is None:
            probability = relevance.by_words(found, lead)
        else:
            margin = relevance.margin(cosine, _others(self._best_cosines, cosine))
            probability = relevance.by_words_and_meaning(found, lead, cosine, margin)
        seq = memory.seq
        ranks = {name: ranks[seq] for name, ranks in self._ranks.items() if seq in ranks}
        scores = {LEXICAL: round(words, 4)} if words else {}
        if cosine is not None:
            scores[SEMANTIC] = round(cosine, 4)
        return Hit(memory, round(self.fused.get(seq, 0.0), 4), round(probability, 4), ranks, scores)


class _Meaning:
    """What the semantic channel brought: its list, and the cosines of all that were looked up, by row number."""

    __slots__ = ("_vector", "_vectors", "cosines", "near")

    def __init__(self, near: "list[tuple[float, int]]", vector: bytes | None, vectors: VectorStore) -> None:
        self.near = near
        self.cosines = {seq: cosine for cosine, seq in near}
        self._vector = vector
        self._vectors = vectors

    def look_up(self, seqs: "Sequence[int]") -> dict[int, float]:
        """The cosines of these memories, of those that have any. Raises StoreError."""
        if self._vector:
            self.cosines.update(self._vectors.cosines(self._vector, [seq for seq in seqs if seq not in self.cosines]))
        return self.cosines


def gather(text: str, sources: Sources, wanted: Filter, depth: int = lexical.DEPTH, mode: str = HYBRID) -> Candidates:
    """Run the channels that `mode` names and join their lists. Raises IndexUnusable; a failing semantic channel is noted.

    depth: how long each list may be.
    """
    asked = query.analyse(text, sources.index)
    words = None if mode == SEMANTIC else lexical.search_with_ties(sources.index, asked, wanted, depth)
    note = None if mode == LEXICAL else sources.note
    meaning = None
    if mode != LEXICAL and sources.space is not None:
        try:
            meaning = _meaning(text, sources.space, sources.store, wanted, depth)
            meaning.look_up([seq for _, seq in words or ()])
        except SubcogError as error:
            meaning, note = None, f"found by words alone: {error.message}"
    if words is None and meaning is None:  # words are better than nothing
        words = lexical.search_with_ties(sources.index, asked, wanted, depth)
    alpha = 0.0 if meaning is None else 1.0 if words is None else sources.alpha
    return Candidates(asked, sources.index, words, meaning, alpha, note)


def _meaning(text: str, space: semantic.Channel, store: Store, wanted: Filter, depth: int) -> _Meaning:
    vector = space.encode(text)
    if not vector:  # there is nothing to embed
        return _Meaning([], None, space.vectors)
    near = semantic.search(space.vectors, vector, store, wanted, depth)
    return _Meaning([hit for hit in near if hit[0] >= LEAST_COSINE], vector, space.vectors)


def _others(best: list[float], score: float) -> list[float]:
    """The best of the other memories' scores, given the two best of all."""
    return best[1:] if best and score >= best[0] else best[:1]
