"""`subcog intent`: the intents of many prompts, for scripts."""

from typing import Annotated

from typer import Option

from subcog_hooks.cli.decisions import prompt_preview
from subcog_hooks.cli.support import context, inputs
from subcog_hooks.cli.support.output import terminal


def intent(
    batch: Annotated[
        str,
        Option(
            "--batch",
            metavar="FILE",
            help='Read prompts from a JSONL file, or - for standard input. A line is {"id", "prompt"}.',
        ),
    ],
    explain: Annotated[bool, Option("--explain", help="Add the signals, the LLM's answer, and the result of both.")] = False,
) -> None:
    """Print the intent of each prompt in a file. `subcog why "PROMPT"` shows one, with the hook's decision.

    Example: subcog intent --batch prompts.jsonl
    """
    rows = [(key, text) for key, text, _ in inputs.read_rows(batch, "prompt")]
    settings = context.settings() if explain else None
    for (key, text), examined in zip(rows, prompt_preview.examine_prompts(text for _, text in rows), strict=True):
        terminal.json({"id": key, **prompt_preview.intent_record(text, examined, settings)})
