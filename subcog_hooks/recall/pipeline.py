"""From a text to hits: analysis, the lexical channel, the store's rows, relevance, order. What the hook and `search` share."""

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import Memory, now_ms
from subcog_hooks.memory.store import Filter, Store, audience_of
from subcog_hooks.recall import lexical, query, relevance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

LEXICAL = "lexical"
STRONG_RELEVANCE = 0.5  # one strategy alone gives the label `medium` from here on (DESIGN 7.6)
PROMPT_CANDIDATES = 6  # whose relevance the hook looks at; past them it was never above the bar (measured on 675 prompts)
MOST_GIVEN = 60  # ids of the session's ledger that are made room for
SPARE_CANDIDATES = 3  # for those of them that have expired
LAGGING = 64  # memories newer than the index that the hook looks through by itself


class Hit:
    """A memory that was found. score: BM25, comparable within one answer; relevance: a probability; rank: from 1, by score."""

    __slots__ = ("memory", "rank", "relevance", "score")

    def __init__(self, memory: Memory, score: float, relevance_: float, rank: int) -> None:
        self.memory = memory
        self.score = score
        self.relevance = relevance_
        self.rank = rank

    @property
    def confidence(self) -> str:
        """DESIGN 7.6, for the one strategy there is."""
        return "medium" if self.relevance >= STRONG_RELEVANCE else "low"


def for_prompt(
    text: str, index: LexicalIndex, store: Store, audiences: tuple[str, ...], given: "AbstractSet[str]" = frozenset()
) -> list[Hit]:
    """The hook's recall: the best candidates of this project, the user and the organisation, most relevant first.

    given: ids that the session has had; they are left out, but the others' lead is measured against them too. Memories that
    were stored after the index's last commit are looked through one by one, so that a crash or a busy writer hides nothing.
    """
    asked = query.analyse(text, index)
    wanted = PROMPT_CANDIDATES + min(len(given), MOST_GIVEN)
    found = lexical.candidates(index, asked, audiences, wanted)[: wanted + SPARE_CANDIDATES]
    rows = store.by_seqs([seq for _, seq in found])
    now = now_ms()

    def may_be_given(memory: Memory | None) -> bool:
        return memory is not None and memory.is_live(now) and audience_of(memory.scope, memory.project) in audiences

    scored = [(score, rows[seq]) for score, seq in found if may_be_given(rows.get(seq))]
    best = [score for score, _ in scored[:2]]
    fresh = [(rank, score, memory) for rank, (score, memory) in enumerate(scored, 1) if memory.id not in given]
    hits = [_judged(asked, memory, score, rank, best, index) for rank, score, memory in fresh[:PROMPT_CANDIDATES]]
    seen = {memory.seq for _, memory in scored}
    newer = [memory for memory in _behind(index, store) if memory.seq not in seen and memory.id not in given]
    hits += [_judged(asked, memory, 0.0, len(scored) + 1, [], index) for memory in newer if may_be_given(memory)]
    return sorted(hits, key=lambda hit: (-hit.relevance, -hit.score, -hit.memory.created_at, hit.memory.id))


def _behind(index: LexicalIndex, store: Store) -> list[Memory]:
    """The newest memories that the index has not reached."""
    watermark = index.watermark()
    return store.changed_after(watermark, LAGGING) if watermark < store.revision() else []


def search(text: str, index: LexicalIndex, store: Store, wanted: Filter, limit: int, offset: int = 0) -> list[Hit]:
    """The hits from `offset`, best first: by score, then newest, then id. Pages of one query never overlap."""
    asked = query.analyse(text, index)
    depth = max(lexical.DEPTH, offset + limit)
    while True:
        found = lexical.search_with_ties(index, asked, wanted, depth)
        rows = _rows(found, store, wanted)
        if len(rows) >= offset + limit or len(found) < depth:
            break
        depth *= 4  # expired memories and other paths took the places
    ordered = sorted(rows, key=lambda row: (-row[0], -row[1].created_at, row[1].id))
    best = [score for score, _ in ordered[:2]]
    page = enumerate(ordered[offset : offset + limit], offset + 1)
    return [_judged(asked, memory, score, rank, best, index) for rank, (score, memory) in page]


def _rows(found: list[tuple[float, int]], store: Store, wanted: Filter) -> list[tuple[float, Memory]]:
    """The rows behind the hits that are still what the index took them for. The store has the last word."""
    memories = store.by_seqs([seq for _, seq in found])
    now = now_ms()
    on_path = set(store.matching_seqs(Filter(paths=wanted.paths, statuses=()))) if wanted.paths else None
    kept = []
    for score, seq in found:
        memory = memories.get(seq)
        if memory is None or (wanted.statuses and memory.status not in wanted.statuses):
            continue
        if not wanted.include_expired and memory.expires_at is not None and memory.expires_at <= now:
            continue
        if on_path is None or seq in on_path:
            kept.append((round(score, 4), memory))
    return kept


def _judged(asked: query.Query, memory: Memory, score: float, rank: int, best: list[float], index: LexicalIndex) -> Hit:
    """A hit with its relevance. best: the scores of the answer's first two hits, against which its lead is measured."""
    others = best[1:] if rank == 1 else best[:1]
    found = relevance.evidence(asked, memory, index.analysers)
    return Hit(memory, score, round(relevance.probability(found, relevance.lead(score, others)), 4), rank)
