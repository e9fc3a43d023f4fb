"""Prints an answer for programs: as JSON, JSON lines or ids."""

from __future__ import annotations

from collections.abc import Sequence

from subcog_hooks.capture.jsonl import format_time
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.core.control_characters import to_json
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import UsageError
from subcog_hooks.recall import pipeline
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.hits import LEXICAL, LOW, SEMANTIC, VERY_HIGH, Hit
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import STATUSES, Memory, now_ms
from subcog_hooks.store.store import Filter, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.cli.support.model_rank import ModelRanking
    from subcog_hooks.recall.hits import Answer, Hit
    from subcog_hooks.store.memory import Memory

HIDDEN = tuple(status for status in STATUSES if status not in ("active", "deleted"))
MIN_COVERED = 0.6  # share of the query's words, weighted by rarity; a lower share would match every other memory
MAX_SEARCHED = 20  # hits
MAX_NAMED_HIDDEN = 3
HIDDEN_SEARCH_MS = 200.0  # Without vectors: about 2 ms among 10,000 memories.


def find_hidden(text: str, scope: Filter, store: Store, index: LexicalIndex) -> list[Memory]:
    """Return the memories that have most of the text's words but are inactive or expired, best first.

    scope: the filter of the search; its statuses are replaced. Raises IndexUnusable, StoreError.
    """
    hidden: list[Memory] = []
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
        hits = pipeline.search_page(request, Sources(index, store), Deadline(HIDDEN_SEARCH_MS), MAX_SEARCHED).hits
        hidden += [hit.memory for hit in hits if not hit.memory.is_live(now) and _covers(hit)]
    return hidden


def _covers(hit: Hit) -> bool:
    evidence = {name: value for name, value, _ in hit.terms}
    return evidence.get("covered", 0.0) >= MIN_COVERED * evidence.get("asked", 1.0) > 0.0


def hidden_remark(memories: Sequence[Memory]) -> str:
    """Say in one sentence which memories are hidden, and how to see them.

    >>> hidden_remark([Memory(id="a", content="x", status="superseded")])
    '1 more matches but is superseded: `subcog show a`'
    """
    states = " or ".join(dict.fromkeys("expired" if memory.status == "active" else memory.status for memory in memories))
    count = len(memories)
    verb = "more matches but is" if count == 1 else "more match but are"
    commands = ", ".join(f"`subcog show {memory.id}`" for memory in memories[:MAX_NAMED_HIDDEN])
    return f"{count} {verb} {states}: {commands}{', …' if count > MAX_NAMED_HIDDEN else ''}"


EXACT_DIGITS = 12  # of the parts of a score, so that its nine digits can be computed again
PRELIMINARY, FINAL = "preliminary", "final"  # the stages of `--progressive`
TABLE, JSON, JSONL, IDS = "table", "json", "jsonl", "ids"


class ResultPage:
    """One page of an answer.

    elapsed: ms; page: its number, from 1, with `offset` results before it; is_empty: the store has no memory; hidden: matches
    that are inactive or expired; ranked: the ranking by a model, None where nobody asked for it.
    """

    __slots__ = ("answer", "elapsed", "hidden", "is_empty", "offset", "page", "ranked", "text")

    def __init__(
        self,
        text: str,
        answer: Answer,
        elapsed: float,
        page: int,
        offset: int,
        is_empty: bool,
        hidden: Sequence[Memory],
        ranked: ModelRanking | None = None,
    ) -> None:
        self.text = text
        self.answer = answer
        self.elapsed = elapsed
        self.page = page
        self.offset = offset
        self.is_empty = is_empty
        self.hidden = hidden
        self.ranked = ranked


def output_format(*, as_json: bool, jsonl: bool, ids: bool) -> str:
    """Return the output format that the options ask for. Raises UsageError for several."""
    formats = [name for name, is_set in ((JSON, as_json), (JSONL, jsonl), (IDS, ids)) if is_set]
    if len(formats) > 1:
        raise UsageError("--json, --jsonl and --ids exclude each other", "give one of them")
    return formats[0] if formats else TABLE


def print_results(page: ResultPage, shape: str, *, is_explained: bool) -> None:
    """Print one page of an answer for a program. shape: JSON, JSONL or IDS."""
    answer = page.answer
    if shape == JSON:
        terminal.json(_answer_fields(page, remarks_on_page(page)), indent=1)
        return
    print_remarks(page)
    if shape == JSONL:
        rows = [result_row(answer, hit, explain=is_explained) | _rank_by_model(page.ranked, hit) for hit in answer.hits]
        terminal.raw("".join(to_json(row) + "\n" for row in rows))
    else:
        terminal.raw("".join(hit.memory.id + "\n" for hit in answer.hits))


def print_stage(stage: str, answer: Answer, *, is_explained: bool) -> None:
    """Print a stage of an answer as one line of JSON and flush it. stage: PRELIMINARY or FINAL."""
    rows = [result_row(answer, hit, explain=is_explained) for hit in answer.hits]
    line = {
        "type": stage,
        "confidence": answer.confidence,
        "degraded": answer.is_degraded,
        "note": answer.note,
        "results": rows,
    }
    terminal.json(line)
    terminal.flush()


def print_remarks(page: ResultPage) -> None:
    """Print the remarks on an answer."""
    answer = page.answer
    for remark in remarks_on_page(page):
        terminal.say(remark)
    if answer.confidence == LOW and answer.stage == VERY_HIGH and answer.hits[0].found_by == (SEMANTIC,):
        terminal.say("low confidence: nothing else speaks for the first of these but that it is the nearest")


def result_row(answer: Answer, hit: Hit, *, explain: bool = False) -> dict[str, object]:
    """Return a hit as the object that scripts read. explain: add the parts of its score."""
    row: dict[str, object] = {
        **memory_fields(hit.memory),
        "score": hit.score,
        "relevance": hit.relevance,
        "confidence": answer.confidence_of(hit),
        "found_by": list(hit.found_by),
        "ranks": hit.ranks,
        "scores": hit.scores,
    }
    if explain:
        row["explain"] = {
            "read_as": answer.read_as,
            "alpha": answer.alpha,
            "alpha_reason": answer.alpha_reason,
            "agreement": round(hit.agreement, 4),
            "tag_matches": list(hit.labels),
            **({"asked_like": hit.asked_like} if hit.asked_like else {}),
            "recency_factor": round(hit.recency, 4),
            "contributions": {name: round(amount, EXACT_DIGITS) for name, amount in hit.contributions.items()},
            "factors": {"agreement": round(hit.agreement_factor, EXACT_DIGITS), "recency": round(hit.recency, EXACT_DIGITS)},
        }
    return row


def memory_fields(memory: Memory) -> dict[str, object]:
    """Return the fields of a memory in a result."""
    return {
        "id": memory.id,
        "urn": memory.urn,
        "namespace": memory.namespace,
        "content": memory.content,
        "tags": list(memory.tags),
        "project": memory.project,
        "created_at": format_time(memory.created_at),
    }


def _answer_fields(page: ResultPage, remarks: Sequence[str]) -> dict[str, object]:
    answer = page.answer
    hits = answer.hits
    return {
        "query": page.text,
        "query_type": answer.query_type,
        "confidence": answer.confidence,
        "degraded": answer.is_degraded,
        "note": "; ".join(remarks) or None,
        "suggestions": answer.suggestions,
        "strategies_matched": sorted({name for hit in hits for name in hit.found_by}),
        "agreement_scores": {hit.memory.id: round(hit.agreement, 4) for hit in hits},
        "elapsed_ms": round(page.elapsed, 1),
        "total": answer.total,
        "page": page.page,
        "has_more": answer.has_more,
        **({"ranked_by": page.ranked.by or None} if page.ranked else {}),
        "results": [result_row(answer, hit, explain=True) | _rank_by_model(page.ranked, hit) for hit in hits],
    }


def _rank_by_model(ranked: ModelRanking | None, hit: Hit) -> dict[str, object]:
    return {"rank_by_model": ranked.places.get(hit.memory.id)} if ranked else {}


def remarks_on_page(page: ResultPage) -> list[str]:
    """Return the remarks on an answer: notes, corrections, suggestions and hidden memories."""
    answer = page.answer
    remarks = [answer.note] if answer.note else []
    if page.ranked and (page.ranked.by or page.ranked.note):
        first = f"{page.ranked.by} has named {len(page.ranked.places) or 'none'} of the first results; they come first"
        remarks.append(safe(page.ranked.note or first))
    if answer.corrections:
        remarks.append("taken as: " + ", ".join(f"{meant} for {typed}" for typed, meant in sorted(answer.corrections.items())))
    if page.is_empty:
        remarks.append('nothing has been remembered yet; remember something first: subcog remember "the text"')
    elif not answer.hits and page.offset:
        remarks.append("there are no results that far")
    elif not answer.hits:
        remarks.append("nothing found; try fewer or other words, --all-projects, or --status all")
    if answer.suggestions:
        remarks.append("the memories here know: " + ", ".join(map(safe, answer.suggestions)))
    if page.hidden:
        remarks.append(hidden_remark(page.hidden))
    return remarks
