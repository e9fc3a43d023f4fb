"""Options of several commands. Each command brings its own help text."""

from typing import Annotated, Any

from typer import Option

from subcog_hooks.cli.support import author

AsUser = Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)]
Texts = list[str] | None


def namespace_option(help_text: str) -> Any:
    return Option("--namespace", "-s", metavar="NAME", help=help_text)


def tag_option(help_text: str) -> Any:
    return Option("--tag", "-t", metavar="TAG", help=help_text)


def project_option(help_text: str) -> Any:
    return Option("--project", metavar="NAME", help=help_text)


def status_option(help_text: str) -> Any:
    return Option("--status", metavar="STATUS", help=help_text)


def id_option(flag: str, help_text: str) -> Any:
    return Option(flag, metavar="ID", help=help_text)
