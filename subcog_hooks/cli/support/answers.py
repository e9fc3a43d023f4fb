"""The views of an answer of recall: as JSON, as ids, in lines, as a table, with its reasons."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from subcog_hooks.capture.jsonl import written_time
from subcog_hooks.cli.support.hidden import told
from subcog_hooks.cli.support.output import DIM, day, memories_view, safe, terminal
from subcog_hooks.control_characters import to_json
from subcog_hooks.errors import UsageError
from subcog_hooks.memory.model import Memory
from subcog_hooks.recall.hits import LOW, SEMANTIC, SPECULATIVE, VERY_HIGH, Answer, Hit

EXACT_DIGITS = 12  # of what a score is made of, so that the score's nine can be worked out again
PREVIEW = 600  # characters of a memory in the table; `show` has all of it
WEAK = "yellow"
TABLE, JSON, JSONL, IDS = "table", "json", "jsonl", "ids"


def form(*, as_json: bool, jsonl: bool, ids: bool) -> str:
    """Return the form of output that the options ask for. Raises UsageError when they ask for several."""
    asked = [name for name, wanted in ((JSON, as_json), (JSONL, jsonl), (IDS, ids)) if wanted]
    if len(asked) > 1:
        raise UsageError("--json, --jsonl and --ids exclude each other", "give one of them")
    return asked[0] if asked else TABLE


def show(
    text: str,
    answer: Answer,
    elapsed: float,
    shape: str,
    *,
    offset: int = 0,
    page: int = 1,
    explain: bool = False,
    is_empty: bool = False,
    hidden: Sequence[Memory] = (),
) -> None:
    """Print one page of an answer.

    elapsed: milliseconds that it took; page: its number, from 1, with `offset` results before it; is_empty: there are no
    memories at all; hidden: those that match and hold no more.
    """
    remarks = _remarks(answer, offset, is_empty=is_empty, hidden=hidden)
    if shape != JSON:
        for remark in remarks:
            terminal.say(remark)
        if answer.confidence == LOW and answer.stage == VERY_HIGH and answer.hits[0].found_by == (SEMANTIC,):
            terminal.say("low confidence: nothing else speaks for the first of these but that it is the nearest")
    if shape == JSON:
        terminal.json(_described(text, answer, elapsed, page, remarks), indent=1)
    elif shape == JSONL:
        rows = [result(answer, hit, explain=explain) for hit in answer.hits]
        terminal.raw("".join(to_json(row) + "\n" for row in rows))
    elif shape == IDS:
        terminal.raw("".join(hit.memory.id + "\n" for hit in answer.hits))
    elif answer.hits and terminal.out.is_terminal and not explain:
        terminal.out.print(view(answer))
    else:
        for number, hit in enumerate(answer.hits, offset + 1):
            memory = hit.memory
            terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}")
            if explain:
                terminal.result("\n".join(f"    {line}" for line in _reasons(text, answer, hit, number)))
    if answer.hits and offset and terminal.out.is_terminal:
        terminal.say(f"from result {offset + 1}")


def view(answer: Answer) -> RenderableType:
    """Return the hits of an answer, for a terminal."""
    return memories_view([hit.memory for hit in answer.hits], PREVIEW, [_confidence(answer, hit) for hit in answer.hits])


def _confidence(answer: Answer, hit: Hit) -> Text:
    """Return how sure the answer is of a hit: its label and its relevance; what is weak stands out."""
    label = answer.confidence_of(hit)
    return Text(f"{label.replace('_', ' ')} {hit.relevance:.2f}", style=WEAK if label in (LOW, SPECULATIVE) else DIM)


def result(answer: Answer, hit: Hit, *, explain: bool = False) -> dict[str, object]:
    """Return one result as DESIGN section 4 has it; explain: with what its score is made of (S2's debug information)."""
    memory = hit.memory
    known: dict[str, object] = {
        "id": memory.id,
        "urn": memory.urn,
        "namespace": memory.namespace,
        "content": memory.content,
        "tags": list(memory.tags),
        "project": memory.project,
        "created_at": written_time(memory.created_at),
        "score": hit.score,
        "relevance": hit.relevance,
        "confidence": answer.confidence_of(hit),
        "found_by": list(hit.found_by),
        "ranks": hit.ranks,
        "scores": hit.scores,
    }
    if explain:
        known["explain"] = {
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
    return known


def _described(text: str, answer: Answer, elapsed: float, page: int, remarks: Sequence[str]) -> dict[str, object]:
    hits = answer.hits
    return {
        "query": text,
        "query_type": answer.query_type,
        "confidence": answer.confidence,
        "degraded": answer.is_degraded,
        "note": "; ".join(remarks) or None,
        "suggestions": answer.suggestions,
        "strategies_matched": sorted({name for hit in hits for name in hit.found_by}),
        "agreement_scores": {hit.memory.id: round(hit.agreement, 4) for hit in hits},
        "elapsed_ms": round(elapsed, 1),
        "total": answer.total,
        "page": page,
        "has_more": answer.has_more,
        "results": [result(answer, hit, explain=True) for hit in hits],
    }


def _remarks(answer: Answer, offset: int, *, is_empty: bool, hidden: Sequence[Memory]) -> list[str]:
    """Return what there is to say about an answer beside its hits."""
    remarks = [answer.note] if answer.note else []
    if answer.corrections:
        remarks.append("taken as: " + ", ".join(f"{meant} for {typed}" for typed, meant in sorted(answer.corrections.items())))
    if is_empty:
        remarks.append('nothing has been remembered yet; remember something first: subcog remember "the text"')
    elif not answer.hits and offset:
        remarks.append("there are no results that far")
    elif not answer.hits:
        remarks.append("nothing found; try fewer or other words, --all-projects, or --status all")
    if answer.suggestions:
        remarks.append("the memories here know: " + ", ".join(map(safe, answer.suggestions)))
    if hidden:
        remarks.append(told(hidden))
    return remarks


def _reasons(text: str, answer: Answer, hit: Hit, number: int) -> list[str]:
    """Return the reasons why a hit stands where it stands, in lines."""
    channels = [
        f"{name} {f'rank {hit.ranks[name]}, ' if name in hit.ranks else ''}{hit.scores.get(name, 0.0):g}"
        for name in dict.fromkeys((*hit.ranks, *hit.scores))
    ]
    read_as = "" if answer.read_as in (None, text) else f", read as {safe(str(answer.read_as))!r}"
    lines = [
        f"{number}. score {hit.score:g}, relevance {hit.relevance:g}, confidence {answer.confidence_of(hit)}",
        "found by " + "; ".join(channels),
        f"{answer.query_type} query{read_as}; meaning has a share of {answer.alpha:g} ({answer.alpha_reason})",
    ]
    if hit.labels:
        lines.append("tags in the query: " + ", ".join(map(safe, hit.labels)))
    if hit.asked_like:
        lines.append(f"asked like this: {safe(hit.asked_like)}")
    if hit.recency < 1.0:
        lines.append(f"age leaves {hit.recency:.2f} of the score")
    return lines
