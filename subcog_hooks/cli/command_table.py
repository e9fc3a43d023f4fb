"""The table of commands: names, groups, modules and summaries."""

from typing import NamedTuple

from subcog_hooks.core.tables import read_rows


class Command(NamedTuple):
    """A command. group: of GROUPS; module: below `cli`; function: or group in it; summary: first sentence of its help."""

    group: str
    module: str
    function: str
    summary: str


COMMANDS = {
    name: Command(group, module, function, summary.removeprefix("-"))
    for name, group, module, function, summary in read_rows(__file__, "commands.tsv")
}

SCRIPTS = "scripts"  # a group that only `--all` shows
GROUPS = {"day": "Every day", "why": "Why", "setup": "Set up", SCRIPTS: "For scripts and tuning"}
