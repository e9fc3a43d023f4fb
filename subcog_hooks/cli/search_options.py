"""The options of `subcog search`: one table, used by typer on a terminal and by `parse_command_line` in a script.

Typer and rich take longer to load than a search takes, so a script's command line is read without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from subcog_hooks.cli import results
from subcog_hooks.core.files import read_rows
from subcog_hooks.recall.candidates import HYBRID
from subcog_hooks.store.memory import STATUSES

COMMAND, QUIET, END = "search", "--quiet", "--"
SWITCH, SHAPE, STRING, LIST, NUMBER = "switch", "shape", "string", "list", "number"  # the kinds of options
ONLY_TERMINAL = "team"  # This option needs more than this table.
MAX_DIGITS = 7


class Option(NamedTuple):
    """One option: a row of search_options.tsv. name: with underscores, as in SearchOptions; letter: the short form; high: the
    largest number. "" stands for none.
    """

    name: str
    kind: str
    letter: str
    metavar: str
    default: str
    high: str
    help: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


OPTIONS = tuple(
    Option._make((*cells, help_text.replace("STATUSES", ", ".join(STATUSES[1:-1]))))
    for *cells, help_text in read_rows(__file__, "search_options.tsv")
)
_BY_FLAG = {flag: option for option in OPTIONS if option.name != ONLY_TERMINAL for flag in (option.flag, option.letter) if flag}


class SearchOptions:
    """The values of the options by name. shape: the output format, TABLE or a format for programs."""

    query: Sequence[str] = ()
    shape = results.TABLE
    limit: int | None = None
    page = 1
    namespace: Sequence[str] = ()
    tag: Sequence[str] = ()
    path: Sequence[str] = ()
    project: str | None = None
    all_projects = False
    since: str | None = None
    status: Sequence[str] = ()
    mode = HYBRID
    fast = False
    progressive = False
    state: Sequence[str] = ()
    explain = False
    rank = False
    sessions = False
    batch: str | None = None


def parse_command_line(words: Sequence[str]) -> SearchOptions | None:
    """Parse a command line as typer would; return None where typer has to parse it.

    words: the command's name first. Typer parses every line that asks for a table on a terminal or has a fault.
    """
    if not words or words[0] != COMMAND:
        return None
    options = SearchOptions()
    query: list[str] = []
    remaining = list(words[:0:-1])  # The next word is the last element.
    while remaining:
        word = remaining.pop()
        if word == END:
            query += remaining[::-1]
            break
        if word == "-" or not word.startswith("-"):
            query.append(word)
            continue
        flag, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = _BY_FLAG.get(flag)
        if option is None:
            return None
        if option.kind not in (SWITCH, SHAPE) and not has_value:
            if not remaining:
                return None
            has_value, value = "=", remaining.pop()
        if not _set_value(options, option, value if has_value else None):
            return None
    options.query = query
    return options if options.batch or options.shape != results.TABLE else None


def _set_value(options: SearchOptions, option: Option, value: str | None) -> bool:
    if option.kind in (SWITCH, SHAPE):
        if value is not None or (option.kind == SHAPE and options.shape != results.TABLE):
            return False
        if option.kind == SHAPE:
            options.shape = option.name
        else:
            setattr(options, option.name, True)
    elif option.kind == STRING:
        setattr(options, option.name, value)
    elif option.kind == LIST:
        setattr(options, option.name, (*getattr(options, option.name), value))
    else:
        if not value or not value.isdecimal() or len(value) > MAX_DIGITS or not 1 <= int(value) <= int(option.high):
            return False
        setattr(options, option.name, int(value))
    return True
