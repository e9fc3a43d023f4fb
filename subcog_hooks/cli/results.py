"""Tables and panels for the terminal, drawn with rich."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from subcog_hooks.cli.terminal.output import ACCENT, DIM, day, memory_remark, owner_label, safe, terminal
from subcog_hooks.core.log import to_json
from subcog_hooks.core.records import record
from subcog_hooks.recall.hits import BY_RELEVANCE, HIGH, LOW, MEDIUM, NO_RESULTS, SEMANTIC, SPECULATIVE, VERY_HIGH, Answer, Hit
from subcog_hooks.settings.sources import Key
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.memory_checks import format_date
from subcog_hooks.text.sanitise import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


WIDE = 100  # columns that a table with the text needs


def memories_view(
    memories: Sequence[Memory], max_chars: int, confidence: Sequence[str] | Sequence[Text] = ()
) -> RenderableType:
    """Draw memories as a table where the terminal is wide enough, else a line for each with its text below.

    max_chars: length limit of a text in the table; below a line, three lines of it. confidence: one text for each memory.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from subcog_hooks.cli.terminal.screen import break_line

    is_wide = terminal.out.width >= WIDE
    owners = len({owner_label(memory) for memory in memories}) > 1
    table = plain_table(is_wide=True)
    table.add_column("id", style=DIM, no_wrap=True, overflow="fold")
    table.add_column("namespace", style=ACCENT, max_width=24, overflow="fold")
    table.add_column("date", style=DIM, no_wrap=True, overflow="fold")
    if owners:
        table.add_column("of", max_width=40, overflow="fold")
    if confidence:
        table.add_column("confidence", no_wrap=True)
    table.add_column("memory", ratio=1, overflow="fold")
    blocks: list[RenderableType] = []
    for number, memory in enumerate(memories):
        sure = [Text(label) if isinstance(label, str) else label for label in confidence[number : number + 1]]
        about = [memory.id, memory.namespace, day(memory.created_at), *([safe(owner_label(memory))] if owners else [])]
        tags = Text("".join(f"  #{safe(tag)}" for tag in memory.tags), style=ACCENT)
        if remark := memory_remark(memory):
            tags.append(f"  {remark}", style=DIM)
        if is_wide:
            table.add_row(*map(Text, about), *sure, Text(cut(safe(memory.content), max_chars)).append_text(tags))
        else:
            rest = [Text(about[1], style=ACCENT), *(Text(part, style=DIM) for part in about[2:])]
            head = Text("  ").join([Text(about[0], style=DIM), *sure, *rest]) + tags
            room = 3 * max(20, terminal.out.width - 4) - 4
            blocks += [*break_line(head, terminal.out.width, 2), Padding(Text(cut(safe(memory.content), room)), (0, 0, 0, 2))]
    return table if is_wide else Group(*blocks)


def plain_table(*, is_wide: bool = False) -> Table:
    """Return an empty table without lines. is_wide: as wide as the terminal."""
    from rich.table import Table

    return Table(box=None, pad_edge=False, expand=is_wide, header_style=DIM)


def figures_table(figures: Sequence[tuple[str, str]]) -> Table:
    """Return a table of figures, each behind its name."""
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("")
    for name, value in figures:
        table.add_row(name, value)
    return table


PREVIEW = 600  # characters of a memory in the table; `show` prints all of it
WEAK = "yellow"
STRONG_RELEVANCE = 0.5  # one strategy alone gives the label `medium` from this relevance on


def confidence_of(answer: Answer, hit: Hit | None = None) -> str:
    """Return the confidence in a hit, None for the best, from the agreement of the strategies and its relevance.

    All strategies (two at least) and relevant: very_high; two: high; one, but relevant: medium; else low. A degraded answer
    has medium at most, looser matching has `low` or `speculative`, and so has a hit of replaced words alone.
    """
    if not answer.hits:
        return NO_RESULTS
    hit = hit or answer.hits[0]
    if answer.stage in (LOW, SPECULATIVE):
        return answer.stage
    if hit.is_guess and not hit.is_exact:
        return LOW
    if label := answer.labels_by_words.get(hit.memory.id):
        return label
    strong = hit.relevance >= STRONG_RELEVANCE
    agreed = round(hit.agreement * len(answer.strategies))
    if agreed > 1 and not answer.is_degraded:
        return VERY_HIGH if strong and agreed == len(answer.strategies) else HIGH
    return MEDIUM if strong or agreed > 1 else LOW


def _agrees(label: str, hit: Hit) -> bool:
    """Return whether a relevance supports a label, which may come from several strategies that agree."""
    return (hit.relevance >= STRONG_RELEVANCE) != (label in (LOW, SPECULATIVE))


def _rank_reasons(text: str, answer: Answer, hit: Hit, number: int) -> list[str]:
    channels = [
        f"{name} {f'rank {hit.ranks[name]}, ' if name in hit.ranks else ''}{hit.scores.get(name, 0.0):g}"
        for name in dict.fromkeys((*hit.ranks, *hit.scores))
    ]
    read_as = "" if answer.read_as in (None, text) else f", read as {safe(str(answer.read_as))!r}"
    label = confidence_of(answer, hit)
    is_in_order = bool(answer.alpha_reason and answer.alpha_reason.endswith(BY_RELEVANCE))
    relevance = f"relevance {hit.relevance:g}, " if is_in_order or _agrees(label, hit) else ""
    lines = [
        f"{number}. score {hit.score:g}, {relevance}confidence {label}",
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


def settings_view(rows: Iterable[tuple[Key, str, str]]) -> RenderableType:
    """Draw the settings. rows: each with its value and the value's source, "" for the default."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    blocks: list[RenderableType] = []
    for key, shown, source in rows:
        value = Text(shown, style=ACCENT if source else "")
        meaning = ". ".join(filter(None, (key.help, key.permission, key.variable and f"Variable: {key.variable}")))
        blocks.append(Text.assemble(f"{key.name} = ", value, (f"  ({key.expected}{source and f'; from {source}'})", DIM)))
        blocks.append(Padding(Text(meaning), (0, 0, 0, 4)))
    return Group(*blocks)


MAX_READ_AS = 3  # words in place of another
EXACT_DIGITS = 12  # of the parts of a score, so that its nine digits can be computed again
PRELIMINARY, FINAL = "preliminary", "final"  # the stages of `--progressive`
BY_WORDS_ALONE = "fts_only"  # the confidence of a preliminary answer
TABLE, JSON, JSONL, IDS = "table", "json", "jsonl", "ids"


@record
class ModelRanking:
    """The ranking of an answer by a model (`search --rank`).

    by: the provider and model, "" without a ranking; places: rank by memory id; note: why no ranking was made, "" otherwise.
    """

    by: str
    places: Mapping[str, int]
    note: str = ""


@record
class ResultPage:
    """One page of an answer. elapsed: ms; page: its number, from 1; is_empty: the store has no memory; ranked: if asked for."""

    text: str
    answer: Answer
    elapsed: float
    page: int
    offset: int
    is_empty: bool
    ranked: ModelRanking | None = None


def print_results(page: ResultPage, shape: str, *, is_explained: bool) -> None:
    """Print one page of an answer. shape: TABLE, JSON, JSONL or IDS."""
    answer = page.answer
    if shape == JSON:
        terminal.json(_answer_fields(page), indent=1)
        return
    print_remarks(page)
    if shape == JSONL:
        rows = [result_row(answer, hit, explain=is_explained) | _model_rank_of(page.ranked, hit) for hit in answer.hits]
        terminal.raw("".join(to_json(row) + "\n" for row in rows))
    elif shape == IDS:
        terminal.raw("".join(hit.memory.id + "\n" for hit in answer.hits))
    elif answer.hits and terminal.out.is_terminal and not is_explained:
        from rich.text import Text

        confidence = []
        for hit in answer.hits:
            label = confidence_of(answer, hit)
            relevance = f" {hit.relevance:.2f}" if _agrees(label, hit) else ""
            style = WEAK if label in (LOW, SPECULATIVE) else DIM
            confidence.append(Text(f"{label.replace('_', ' ')}{relevance}", style=style))
        terminal.out.print(memories_view([hit.memory for hit in answer.hits], PREVIEW, confidence))
    else:
        for number, hit in enumerate(answer.hits, page.offset + 1):
            memory = hit.memory
            status = "" if memory.status == "active" else f"  ({memory.status})"
            line = f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}{status}"
            terminal.pieces((line, ""), indent=2)
            if is_explained:
                terminal.result("\n".join(f"    {line}" for line in _rank_reasons(page.text, answer, hit, number)))


def print_stage(stage: str, answer: Answer, *, is_explained: bool) -> None:
    """Print a stage of an answer as one line of JSON and flush it. stage: PRELIMINARY or FINAL."""
    rows = [result_row(answer, hit, explain=is_explained) for hit in answer.hits]
    confidence, note = confidence_of(answer), answer.note
    if stage == PRELIMINARY:
        confidence, note = BY_WORDS_ALONE, "found by words; the search by meaning is pending"
    terminal.json({"type": stage, "confidence": confidence, "degraded": answer.is_degraded, "note": note, "results": rows})
    terminal.flush()


def print_remarks(page: ResultPage) -> None:
    """Print the remarks on an answer."""
    answer = page.answer
    for remark in _remarks_on(page):
        terminal.say(remark)
    if confidence_of(answer) == LOW and answer.stage == VERY_HIGH and answer.hits[0].found_by == (SEMANTIC,):
        terminal.say("low confidence: the first of these is near in meaning, and nothing else supports it")


def result_row(answer: Answer, hit: Hit, *, explain: bool = False) -> dict[str, object]:
    """Return a hit as the object that scripts read. explain: add the parts of its score."""
    row: dict[str, object] = {
        **memory_fields(hit.memory),
        "score": hit.score,
        "relevance": hit.relevance,
        "confidence": confidence_of(answer, hit),
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


def batch_fields(answer: Answer, *, is_explained: bool) -> dict[str, object]:
    """Return an answer as a line of `search --batch` has it, without its id."""
    return {
        "query_type": answer.query_type,
        "confidence": confidence_of(answer),
        "degraded": answer.is_degraded,
        "note": answer.note,
        "results": [result_row(answer, hit, explain=is_explained) for hit in answer.hits],
    }


def memory_fields(memory: Memory) -> dict[str, object]:
    """Return the fields of a memory in a result."""
    return {
        "id": memory.id,
        "urn": memory.urn,
        "namespace": memory.namespace,
        "content": memory.content,
        "tags": list(memory.tags),
        "project": memory.project,
        "created_at": format_date(memory.created_at),
    }


def _answer_fields(page: ResultPage) -> dict[str, object]:
    answer = page.answer
    hits = answer.hits
    return {
        "query": page.text,
        "query_type": answer.query_type,
        "confidence": confidence_of(answer),
        "degraded": answer.is_degraded,
        "note": "; ".join(_remarks_on(page)) or None,
        "suggestions": answer.suggestions,
        "strategies_matched": sorted({name for hit in hits for name in hit.found_by}),
        "agreement_scores": {hit.memory.id: round(hit.agreement, 4) for hit in hits},
        "elapsed_ms": round(page.elapsed, 1),
        "total": len(answer.cosines_alone),  # as far as the search has counted
        "page": page.page,
        "has_more": max(answer.cosines_alone, default=-1) >= answer.end,
        **({"ranked_by": page.ranked.by or None} if page.ranked else {}),
        "results": [result_row(answer, hit, explain=True) | _model_rank_of(page.ranked, hit) for hit in hits],
    }


def _model_rank_of(ranked: ModelRanking | None, hit: Hit) -> dict[str, object]:
    return {"rank_by_model": ranked.places.get(hit.memory.id)} if ranked else {}


def _remarks_on(page: ResultPage) -> list[str]:
    answer = page.answer
    remarks = [answer.note] if answer.note else []
    if page.ranked and (page.ranked.by or page.ranked.note):
        first = f"{page.ranked.by} put {len(page.ranked.places) or 'none'} of these results first"
        remarks.append(safe(page.ranked.note or first))
    if answer.replaced:
        read_as = [
            f"{' or '.join(map(safe, words[:MAX_READ_AS]))} for {typed}" for typed, words in sorted(answer.replaced.items())
        ]
        remarks.append("taken as: " + ", ".join(read_as))
    if page.is_empty:
        remarks.append('nothing has been remembered yet; remember something first: subcog remember "the text"')
    elif not answer.hits and page.offset:
        remarks.append("there are no more results")
    elif not answer.hits:
        remarks.append("nothing found; try fewer or other words, --all-projects, or --status all")
    if answer.suggestions:
        remarks.append("the memories here are about: " + ", ".join(map(safe, answer.suggestions)))
    return remarks
