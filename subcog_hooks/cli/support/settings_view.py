"""The view of all settings, drawn for a terminal."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from subcog_hooks.cli.support.output import ACCENT, DIM, terminal
from subcog_hooks.cli.support.views import plain_table
from subcog_hooks.settings.key_types import Key

MIN_MEANING_COLUMNS = 150  # columns from which a table has room for the meaning beside the rest


def view(rows: Iterable[tuple[Key, str, str]]) -> RenderableType:
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
