"""The commands of the terminal: a table of names, modules and summaries, so that no command loads the others."""

from typing import NamedTuple

from subcog_hooks.core.tables import read_rows


class Command(NamedTuple):
    """A command. module: its module below `cli`; summary: the first sentence of its help, "" for a hidden command."""

    module: str
    summary: str


COMMANDS = {name: Command(module, summary.removeprefix("-")) for name, module, summary in read_rows(__file__, "commands.tsv")}
