"""Options of several commands. Each command brings its own help text."""

from typing import Annotated, Any

from typer import Option

from subcog_hooks.cli.support import author, completion

AsUser = Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)]
Texts = list[str] | None


def namespace_option(help_text: str) -> Any:
    return Option("--namespace", "-s", metavar="NAME", help=help_text, autocompletion=completion.namespaces)


def tag_option(help_text: str) -> Any:
    return Option("--tag", "-t", metavar="TAG", help=help_text, autocompletion=completion.tags)


def project_option(help_text: str) -> Any:
    return Option("--project", metavar="NAME", help=help_text, autocompletion=completion.projects)


def status_option(help_text: str) -> Any:
    return Option("--status", metavar="STATUS", help=help_text, autocompletion=completion.statuses)


def id_option(flag: str, help_text: str) -> Any:
    return Option(flag, metavar="ID", help=help_text, autocompletion=completion.ids)
