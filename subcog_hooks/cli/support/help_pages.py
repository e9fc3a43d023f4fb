"""The list of commands in a help page: each with its whole first sentence, which typer would cut to one line."""

import inspect

import typer


def keep_summaries_whole(app: typer.Typer) -> None:
    """Give each command below `app` its first sentence as the summary in the list of commands."""
    for command in app.registered_commands:
        command.short_help = first_sentence(command.help or inspect.getdoc(command.callback) or "")
    for group in app.registered_groups:
        inner = group.typer_instance
        if inner is not None:
            group.short_help = first_sentence(str(inner.info.help))
            keep_summaries_whole(inner)


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, on one line.

    >>> first_sentence("Forget memories.\\n\\nExample: subcog forget 1m7x59")
    'Forget memories.'
    >>> first_sentence("Show a file such as a.toml\\nin full. It may be long.")
    'Show a file such as a.toml in full.'
    """
    line = " ".join(text.partition("\n\n")[0].split())
    first, stop, _ = line.partition(". ")
    return first + stop.strip()
