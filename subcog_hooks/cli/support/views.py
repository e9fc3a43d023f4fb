"""Tables and panels for the terminal, drawn with rich."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.table import Table
from rich.text import Text

from subcog_hooks.cli.support.output import ACCENT, DIM, beside, day, safe, terminal, where
from subcog_hooks.cli.support.results import ResultPage, say_remarks
from subcog_hooks.recall.hits import LOW, SPECULATIVE, Answer, Hit
from subcog_hooks.settings.keys import Key
from subcog_hooks.store.memory import Memory
from subcog_hooks.text.sanitise import cut

WIDE = 100  # columns from which a table has room for the text beside the rest


def memories_view(memories: Sequence[Memory], most: int, confidence: Sequence[str] | Sequence[Text] = ()) -> RenderableType:
    """Return a view of memories for a terminal: a table where it is wide enough, else a line about each with its text below.

    most: characters of a text that are shown in the table; below a line, three lines of it. confidence: how sure it is of each.
    """
    wide = terminal.out.width >= WIDE
    owners = len({where(memory) for memory in memories}) > 1
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
        sure = [Text(said) if isinstance(said, str) else said for said in confidence[number : number + 1]]
        about = [memory.id, memory.namespace, day(memory.created_at), *([safe(where(memory))] if owners else [])]
        tags = Text("".join(f"  #{safe(tag)}" for tag in memory.tags), style=ACCENT)
        if said := beside(memory):
            tags.append(f"  {said}", style=DIM)
        if wide:
            table.add_row(*map(Text, about), *sure, Text(cut(safe(memory.content), most)).append_text(tags))
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
    return table if wide else Group(*blocks)


def plain_table(*, is_wide: bool = False) -> Table:
    """Return an empty table without lines. is_wide: as wide as the terminal. Its columns are to fold what is too long for
    them (`overflow="fold"`); `no_wrap` is for what is always short."""
    return Table(box=None, pad_edge=False, expand=is_wide, header_style=DIM)


def first_screen(view: RenderableType) -> RenderableType:
    """Return as many lines of `view` as the terminal shows at once: what is to be taken back must not have scrolled away."""
    lines = terminal.out.render_lines(view, pad=False)[: max(1, terminal.out.height - 1)]
    return SegmentLines(lines, new_lines=True)


PREVIEW = 600  # characters of a memory in the table; `show` has all of it
WEAK = "yellow"


def show_answer(found: ResultPage, *, is_explained: bool) -> None:
    """Print one page of an answer."""
    answer = found.answer
    say_remarks(found)
    if answer.hits and terminal.out.is_terminal and not is_explained:
        terminal.out.print(answer_view(answer))
    else:
        for number, hit in enumerate(answer.hits, found.offset + 1):
            memory = hit.memory
            said = "" if memory.status == "active" else f"  ({memory.status})"
            terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}{said}")
            if is_explained:
                terminal.result("\n".join(f"    {line}" for line in _reasons(found.text, answer, hit, number)))
    if answer.hits and found.offset and terminal.out.is_terminal:
        terminal.say(f"from result {found.offset + 1}")


def answer_view(answer: Answer) -> RenderableType:
    """Return the hits of an answer, for a terminal."""
    return memories_view([hit.memory for hit in answer.hits], PREVIEW, [_confidence(answer, hit) for hit in answer.hits])


def _confidence(answer: Answer, hit: Hit) -> Text:
    """Return how sure the answer is of a hit: its label and its relevance; what is weak stands out."""
    label = answer.confidence_of(hit)
    return Text(f"{label.replace('_', ' ')} {hit.relevance:.2f}", style=WEAK if label in (LOW, SPECULATIVE) else DIM)


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


MIN_MEANING_COLUMNS = 150  # columns from which a table has room for the meaning beside the rest


def settings_table(rows: Iterable[tuple[Key, str, str]]) -> RenderableType:
    """Return the settings as a table, or one below the other where it would be too narrow.

    rows: each with its value, and where that comes from, "" for the default.
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
