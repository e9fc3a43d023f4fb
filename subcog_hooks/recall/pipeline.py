"""From a text to hits: analysis, the lexical channel, the store's rows, relevance, order. What the hook and `search` share."""

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import Memory, now_ms
from subcog_hooks.memory.store import Filter, Store, audience_of
from subcog_hooks.recall import lexical, query, relevance

LEXICAL = "lexical"
STRONG_RELEVANCE = 0.5  # one strategy alone gives the label `medium` from here on (DESIGN 7.6)
PROMPT_CANDIDATES = 6  # whose relevance the hook looks at; past them it was never above the bar (measured on 675 prompts)
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


def for_prompt(text: str, index: LexicalIndex, store: Store, audiences: tuple[str, ...]) -> list[Hit]:
    """The hook's recall: the best candidates of this project, the user and the organisation, most relevant first.

    Memories that were stored after the index's last commit are looked through one by one, so that a crash or a busy writer
    hides nothing.
    """
    asked = query.analyse(text, index)
    found = lexical.candidates(index, asked, audiences, PROMPT_CANDIDATES)[: PROMPT_CANDIDATES + SPARE_CANDIDATES]
    now = now_ms()
    rows = store.by_seqs([seq for _, seq in found])
    hits: list[Hit] = []
    for score, seq in found:
        memory = rows.get(seq)
        if memory and memory.is_live(now) and audience_of(memory.scope, memory.project) in audiences:
            hits.append(_judged(asked, memory, score, len(hits) + 1, index))
            if len(hits) == PROMPT_CANDIDATES:
                break
    hits += _lagging(asked, index, store, audiences, {hit.memory.seq for hit in hits})
    return sorted(hits, key=lambda hit: (-hit.relevance, -hit.score, -hit.memory.created_at, hit.memory.id))


def _lagging(asked: query.Query, index: LexicalIndex, store: Store, audiences: tuple[str, ...], known: set[int]) -> list[Hit]:
    watermark = index.watermark()
    if watermark >= store.revision():
        return []
    now = now_ms()
    return [
        _judged(asked, memory, 0.0, lexical.DEPTH, index)
        for memory in store.changed_after(watermark, LAGGING)
        if memory.seq not in known and memory.is_live(now) and audience_of(memory.scope, memory.project) in audiences
    ]


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
    page = ordered[offset : offset + limit]
    return [_judged(asked, memory, score, offset + i, index) for i, (score, memory) in enumerate(page, 1)]


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


def _judged(asked: query.Query, memory: Memory, score: float, rank: int, index: LexicalIndex) -> Hit:
    found = relevance.evidence(asked, memory, index.analysers)
    return Hit(memory, score, round(relevance.probability(found), 4), rank)
