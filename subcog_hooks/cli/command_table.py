"""The table of commands: names, groups, modules and summaries; and the options of several commands."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer
from typer import Option

from subcog_hooks.cli.terminal import author
from subcog_hooks.core.files import read_rows


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

CHANGES = "changes how subcog works"
# The commands that an agent runs only with the person's word, and the reason.
PERSONS = {
    **dict.fromkeys(("init", "uninstall", "setup", "pause", "resume", "config set", "state set", "state clear"), CHANGES),
    **dict.fromkeys(("models pull", "models use", "models remove", "share off"), CHANGES),
    "share init": "chooses where memories go",
    "share restore": "takes back colleagues' changes",
    "learn": "reads what the person typed in all sessions",
    "enrich": "sends memories to a language model",
}
SCRIPTS = "scripts"  # a group that only `--all` shows
GROUPS = {"day": "Every day", "why": "Why", "setup": "Set up", SCRIPTS: "For scripts and tuning"}


AsUser = Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)]
AsJson = Annotated[bool, Option("--json", help="Print one JSON array of them.")]
AsJsonl = Annotated[bool, Option("--jsonl", help="Print them as JSON, an object a line.")]
Texts = list[str] | None


def run_alone(group: typer.Typer, function: Callable[[], None]) -> None:
    """Let a group run this function when it is called without one of its commands."""

    def call_alone(call: typer.Context) -> None:
        if call.invoked_subcommand is None:
            function()

    group.callback(invoke_without_command=True)(call_alone)


def _option(*names: str, metavar: str = "NAME") -> Callable[[str], Any]:
    """Return a function that makes an option from a help text."""
    return lambda help_text: Option(*names, metavar=metavar, help=help_text)


namespace_option = _option("--namespace", "-s")
tag_option = _option("--tag", "-t", metavar="TAG")
project_option = _option("--project")
status_option = _option("--status", metavar="STATUS")


def id_option(flag: str, help_text: str) -> Any:
    return Option(flag, metavar="ID", help=help_text)
