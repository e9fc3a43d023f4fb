"""Tables and panels for the terminal, drawn with rich."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.table import Table
from rich.text import Text

from subcog_hooks.cli.support.output import ACCENT, DIM, day, memory_remark, owner_label, safe, terminal
from subcog_hooks.cli.support.results import ResultPage, print_remarks
from subcog_hooks.recall.hits import LOW, SPECULATIVE, Answer, Hit
from subcog_hooks.settings.keys import Key
from subcog_hooks.store.memory import Memory
from subcog_hooks.text.sanitise import cut

WIDE = 100  # columns that a table with the text needs


def memories_view(
    memories: Sequence[Memory], max_chars: int, confidence: Sequence[str] | Sequence[Text] = ()
) -> RenderableType:
    """Draw memories as a table where the terminal is wide enough, else a line for each with its text below.

    max_chars: length limit of a text in the table; below a line, three lines of it. confidence: one text for each memory.
    """
    is_wide = terminal.out.width >= WIDE
    owners = len({owner_label(memory) for memory in memories}) > 1
    table = plain_table(is_wide=True)
    for name in ("id", "namespace", "date"):
        is_short = name != "namespace"
        table.add_column(
            name, style=DIM if is_short else ACCENT, no_wrap=is_short, max_width=None if is_short else 24, overflow="fold"
        )
    if owners:
        table.add_column("of", max_width=24, overflow="fold")
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
            head = (
                Text("  ".join(about[:1]), style=DIM)
                + Text(f"  {about[1]}", style=ACCENT)
                + Text("  " + "  ".join(about[2:]), style=DIM)
                + Text("  ").join([Text(), *sure])
                + tags
            )
            head.overflow = "fold"
            room = 3 * max(20, terminal.out.width - 4) - 4
            blocks += [head, Padding(Text(cut(safe(memory.content), room)), (0, 0, 0, 2))]
    return table if is_wide else Group(*blocks)


def plain_table(*, is_wide: bool = False) -> Table:
    """Return an empty table without lines. is_wide: as wide as the terminal.

    Its columns fold long texts (`overflow="fold"`); `no_wrap` is for short columns.
    """
    return Table(box=None, pad_edge=False, expand=is_wide, header_style=DIM)


def first_screen(view: RenderableType) -> RenderableType:
    """Return the lines of `view` that fit the terminal, so that they can be erased before they scroll away."""
    lines = terminal.out.render_lines(view, pad=False)[: max(1, terminal.out.height - 1)]
    return SegmentLines(lines, new_lines=True)


PREVIEW = 600  # characters of a memory in the table; `show` prints all of it
WEAK = "yellow"


def print_answer(page: ResultPage, *, is_explained: bool) -> None:
    """Print one page of an answer."""
    answer = page.answer
    print_remarks(page)
    if answer.hits and terminal.out.is_terminal and not is_explained:
        terminal.out.print(answer_view(answer))
    else:
        for number, hit in enumerate(answer.hits, page.offset + 1):
            memory = hit.memory
            status = "" if memory.status == "active" else f"  ({memory.status})"
            terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}{status}")
            if is_explained:
                terminal.result("\n".join(f"    {line}" for line in _rank_reasons(page.text, answer, hit, number)))
    if answer.hits and page.offset and terminal.out.is_terminal:
        terminal.say(f"from result {page.offset + 1}")


def answer_view(answer: Answer) -> RenderableType:
    """Draw the hits of an answer."""
    return memories_view([hit.memory for hit in answer.hits], PREVIEW, [_confidence_text(answer, hit) for hit in answer.hits])


def _confidence_text(answer: Answer, hit: Hit) -> Text:
    """Return the confidence label and the relevance of a hit; a weak one stands out."""
    label = answer.confidence_of(hit)
    return Text(f"{label.replace('_', ' ')} {hit.relevance:.2f}", style=WEAK if label in (LOW, SPECULATIVE) else DIM)


def _rank_reasons(text: str, answer: Answer, hit: Hit, number: int) -> list[str]:
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


MIN_MEANING_COLUMNS = 150  # columns that a table with the meaning needs


def settings_table(rows: Iterable[tuple[Key, str, str]]) -> RenderableType:
    """Draw the settings as a table, or as a list on a narrow terminal.

    rows: each with its value and the value's source, "" for the default.
    """
    table = plain_table()
    for column in ("setting", "value", "from", "allowed", "meaning"):
        table.add_column(column, no_wrap=column == "setting", overflow="fold")
    is_table = terminal.out.width >= MIN_MEANING_COLUMNS
    blocks: list[RenderableType] = []
    for key, shown, source in rows:
        value = Text(shown, style=ACCENT if source else "")
        meaning = ". ".join(filter(None, (key.help, key.permission, key.variable and f"Variable: {key.variable}")))
        if is_table:
            table.add_row(key.name, value, source, key.expected, meaning)
        else:
            head = Text.assemble(f"{key.name} = ", value, (f"  ({key.expected}{source and f'; from {source}'})", DIM))
            blocks += [head, Padding(Text(meaning), (0, 0, 0, 4))]
    return table if is_table else Group(*blocks)
