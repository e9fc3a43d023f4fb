"""From a text to hits: the channels' candidates, the store's rows, relevance, order. What the hook and `search` share."""

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import Memory, now_ms
from subcog_hooks.memory.store import Filter, Store, audience_of
from subcog_hooks.recall import lexical
from subcog_hooks.recall.candidates import HYBRID, Candidates, Sources, gather
from subcog_hooks.recall.hits import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

PROMPT_CANDIDATES = 15  # whose relevance the hook looks at (DESIGN section 7)
SPARE_CANDIDATES = 3  # for those of them that have expired
LAGGING = 64  # memories newer than the index that the hook looks through by itself


def for_prompt(text: str, sources: Sources, audiences: tuple[str, ...], given: "AbstractSet[str]" = frozenset()) -> Answer:
    """The hook's recall: the best candidates of this project, the user and the organisation, most relevant first.

    given: ids that the session has had; they are left out, but the others' lead is measured against them too. Memories that
    were stored after the index's last commit are looked through one by one, so that a crash or a busy writer hides nothing.
    """
    store = sources.store
    found = gather(text, sources, Filter(audiences=audiences))
    now = now_ms()

    def may_be_given(memory: Memory | None) -> bool:
        return memory is not None and memory.is_live(now) and audience_of(memory.scope, memory.project) in audiences

    left_out = set(store.seqs_of(given)) if given else set()
    best = sorted(found.fused.items(), key=lambda item: (-item[1], item[0]))
    chosen = [seq for seq, _ in best if seq not in left_out][: PROMPT_CANDIDATES + SPARE_CANDIDATES]
    newer = [memory for memory in _behind(sources.index, store) if memory.id not in given and may_be_given(memory)]
    unindexed = {memory.seq for memory in newer}
    rows = store.by_seqs(chosen)
    hits = [found.hit(memory) for seq in chosen if seq not in unindexed and (memory := rows.get(seq)) and may_be_given(memory)]
    hits = hits[:PROMPT_CANDIDATES] + found.unindexed(newer)
    hits.sort(key=lambda hit: (-hit.relevance, -hit.score, -hit.memory.created_at, hit.memory.id))
    return Answer(hits, found.strategies, found.note)


def _behind(index: LexicalIndex, store: Store) -> list[Memory]:
    """The newest memories that the index has not reached."""
    watermark = index.watermark()
    return store.changed_after(watermark, LAGGING) if watermark < store.revision() else []


def search(text: str, sources: Sources, wanted: Filter, limit: int, offset: int = 0, mode: str = HYBRID) -> Answer:
    """The hits from `offset`, best first: by score, then newest, then id. Pages of one query never overlap.

    mode: one of MODES. The lists are made longer when expired memories took the places, or a page is far behind; what only the
    longer lists have stands behind the rest, so that an earlier page stays as it was.
    """
    depth = lexical.DEPTH
    ordered: list[Memory] = []
    while True:
        found = gather(text, sources, wanted, depth, mode)
        placed = {memory.seq for memory in ordered}
        rows = [row for row in _rows(found, sources.store, wanted) if row[1].seq not in placed]
        ordered += [memory for _, memory in sorted(rows, key=lambda row: (-row[0], -row[1].created_at, row[1].id))]
        if len(ordered) >= offset + limit or found.longest < depth:
            break
        depth *= 4
    return Answer([found.hit(memory) for memory in ordered[offset : offset + limit]], found.strategies, found.note)


def _rows(found: Candidates, store: Store, wanted: Filter) -> list[tuple[float, Memory]]:
    """The rows behind the candidates that are still what the index took them for. The store has the last word."""
    memories = store.by_seqs(list(found.fused))
    now = now_ms()
    on_path = set(store.matching_seqs(Filter(paths=wanted.paths, statuses=()))) if wanted.paths else None
    kept = []
    for seq, score in found.fused.items():
        memory = memories.get(seq)
        if memory is None or (wanted.statuses and memory.status not in wanted.statuses):
            continue
        if not wanted.include_expired and memory.expires_at is not None and memory.expires_at <= now:
            continue
        if on_path is None or seq in on_path:
            kept.append((round(score, 4), memory))
    return kept
