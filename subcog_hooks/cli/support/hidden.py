"""Memories that a search would find if they still held: superseded, archived, pending or expired ones."""

from collections.abc import Sequence

from subcog_hooks.deadline import Deadline
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import STATUSES, Memory, now_ms
from subcog_hooks.memory.store import Filter, Store
from subcog_hooks.recall import pipeline
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.hits import LEXICAL, Hit

HIDDEN = tuple(status for status in STATUSES if status not in ("active", "deleted"))
LEAST_COVERED = 0.6  # of the query's words, the rarer the more: fewer have every other memory in common
LOOKED_AT = 20  # memories of a list
MAX_NAMED_HIDDEN = 3
HIDDEN_SEARCH_MS = 200.0  # words alone: some 2 ms among 10,000 memories


def matching(text: str, scope: Filter, store: Store, index: LexicalIndex) -> list[Memory]:
    """Return the memories that have most of the text's words and are not handed over any more, best first.

    scope: where to look; of its statuses nothing is taken. Raises IndexUnusable, StoreError.
    """
    found: list[Memory] = []
    now = now_ms()
    counts = store.counts()
    for statuses in ((HIDDEN,) if any(map(counts.get, HIDDEN)) else ()) + (("active",),):
        wide = Filter(
            audiences=scope.audiences,
            statuses=statuses,
            namespaces=scope.namespaces,
            tags=scope.tags,
            paths=scope.paths,
            since=scope.since,
            include_expired=True,
        )
        request = Request(text, wide, mode=LEXICAL, is_typed=True)
        hits = pipeline.search(request, Sources(index, store), Deadline(HIDDEN_SEARCH_MS), LOOKED_AT).hits
        found += [hit.memory for hit in hits if not hit.memory.is_live(now) and _covers(hit)]
    return found


def _covers(hit: Hit) -> bool:
    evidence = {name: value for name, value, _ in hit.terms}
    return evidence.get("covered", 0.0) >= LEAST_COVERED * evidence.get("asked", 1.0) > 0.0


def told(memories: Sequence[Memory]) -> str:
    """Return one sentence about hidden memories, and how to see them.

    >>> told([Memory(id="a", content="x", status="superseded")])
    '1 more matches but is superseded: `subcog show a`'
    """
    states = " or ".join(dict.fromkeys("expired" if memory.status == "active" else memory.status for memory in memories))
    count = len(memories)
    verb = "more matches but is" if count == 1 else "more match but are"
    shown = ", ".join(f"`subcog show {memory.id}`" for memory in memories[:MAX_NAMED_HIDDEN])
    return f"{count} {verb} {states}: {shown}{', …' if count > MAX_NAMED_HIDDEN else ''}"
