"""The table of commands: names, groups, modules and summaries; a group alone runs the command that lists."""

from collections.abc import Callable
from typing import NamedTuple

import typer

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


def run_alone(group: typer.Typer, function: Callable[[], None]) -> None:
    """Let a group run this function when it is called without one of its commands."""

    def call_alone(call: typer.Context) -> None:
        if call.invoked_subcommand is None:
            function()

    group.callback(invoke_without_command=True)(call_alone)
