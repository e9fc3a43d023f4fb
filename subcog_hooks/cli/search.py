"""`subcog search`: the hook's engine for people. `searching` answers a script."""

import inspect
from typing import Annotated, Any

import typer

from subcog_hooks.cli import results, searching
from subcog_hooks.cli.search_sources import LIST, NUMBER, ONLY_TERMINAL, OPTIONS, SHAPE, SWITCH, Option, SearchOptions
from subcog_hooks.cli.terminal import inputs

TYPES: dict[str, Any] = {SWITCH: bool, SHAPE: bool, NUMBER: int | None, LIST: list[str] | None}  # any other kind: str | None


def search(**values: Any) -> None:
    """Search memories by words and meaning. The exit code is 1 when nothing is found.

    Example: subcog search token refresh -n 5
    """
    options = SearchOptions()
    options.query = values["query"] or ()
    shapes = [option.name for option in OPTIONS if option.kind == SHAPE]
    inputs.refuse_several({f"--{shape}": values[shape] for shape in shapes})
    options.shape = next((shape for shape in shapes if values[shape]), results.TABLE)
    for option in OPTIONS:
        if option.kind != SHAPE and option.name != ONLY_TERMINAL:
            value = values[option.name]
            setattr(options, option.name, () if value is None and option.kind == LIST else value)
    if values[ONLY_TERMINAL]:
        from subcog_hooks.cli.team import sharing  # few people have a team's server

        sharing.require_supported(options)
        raise typer.Exit(sharing.run_team_search(options))
    raise typer.Exit(searching.run_search(options))


def _make_parameter(option: Option) -> inspect.Parameter:
    flags = (option.flag, option.letter) if option.letter else (option.flag,)
    details: dict[str, Any] = {"help": option.help}
    if option.metavar:
        details["metavar"] = option.metavar
    if option.kind == NUMBER:
        details |= {"min": 1, "max": int(option.high)}
    annotation: Any = Annotated[TYPES.get(option.kind, str | None), typer.Option(*flags, **details)]
    default: Any = False if option.kind in (SWITCH, SHAPE) else option.default or None
    if option.kind == NUMBER and default:
        default = int(default)
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_QUERY = inspect.Parameter(
    "query",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        list[str] | None, typer.Argument(metavar="QUERY", help="The words or the question to look for; - reads standard input.")
    ],
)
_PARAMETERS = [_QUERY, *map(_make_parameter, OPTIONS)]
search.__signature__ = inspect.Signature(_PARAMETERS)  # type: ignore[attr-defined]  # inspect reads it instead of **values
search.__annotations__ = {parameter.name: parameter.annotation for parameter in _PARAMETERS}
