"""The tables and views that commands draw with rich, of memories above all."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.segment import SegmentLines
from rich.table import Table
from rich.text import Text

from subcog_hooks.cli.support.output import ACCENT, DIM, beside, day, safe, terminal, where
from subcog_hooks.hooks.sanitise import cut
from subcog_hooks.memory.model import Memory

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
