"""`subcog block`: the text that the hook would give with a prompt. `__main__` answers all calls but `--help`."""

from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND
from subcog_hooks.core.paths import working_folder
from subcog_hooks.hook import dry_run


def block(
    prompt: Annotated[str, Argument(metavar="PROMPT", help="The prompt; - reads it from standard input.")],
    as_json: Annotated[bool, Option("--json", help="Print one JSON object, with the memories and their relevance.")] = False,
) -> None:
    """Print the text that the hook would give an agent with a prompt, as fast as the hook. Nothing is recorded or counted.

    The exit code is 1 when the hook would be silent.

    Example: subcog block "How long before they expire are tokens refreshed?"
    """
    text = dry_run.read_stdin() if prompt == dry_run.STDIN else prompt
    answer = dry_run.block_for_prompt(text, working_folder(), terminal.say)
    if answer is None:
        raise typer.Exit(EXIT_NOTHING_FOUND)
    if as_json:
        terminal.raw(dry_run.block_to_json(answer))
    else:
        terminal.verbatim(answer.verdict.text)
