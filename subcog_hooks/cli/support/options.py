"""Options that several commands have; each command says in its help what it does with the value."""

from typing import Annotated, Any

from typer import Option

from subcog_hooks.cli.support import author, completion

AsUser = Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)]
Texts = list[str] | None


def namespace(help_text: str) -> Any:
    return Option("--namespace", "-s", metavar="NAME", help=help_text, autocompletion=completion.namespaces)


def tag(help_text: str) -> Any:
    return Option("--tag", "-t", metavar="TAG", help=help_text, autocompletion=completion.tags)


def project(help_text: str) -> Any:
    return Option("--project", metavar="NAME", help=help_text, autocompletion=completion.projects)


def status(help_text: str) -> Any:
    return Option("--status", metavar="STATUS", help=help_text, autocompletion=completion.statuses)


def memory(flag: str, help_text: str) -> Any:
    return Option(flag, metavar="ID", help=help_text, autocompletion=completion.ids)
