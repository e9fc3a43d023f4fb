"""The options of `subcog search`: one table, used by typer on a terminal and by `parse_command_line` in a script.

Typer and rich take longer to load than a search takes, so a script's command line is read without them.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from subcog_hooks.cli.support import results
from subcog_hooks.recall.candidates import HYBRID
from subcog_hooks.store.memory import STATUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND, QUIET, END = "search", "--quiet", "--"
SWITCH, SHAPE, STRING, LIST, NUMBER = "switch", "shape", "string", "list", "number"  # the kinds of options
ONLY_TERMINAL = "team"  # This option needs more than this table.
MAX_DIGITS = 7


class Option(NamedTuple):
    """One option. name: with underscores, as in SearchOptions; letter: the short form; low, high: bounds of a number;
    completion: the function of `completion` that offers values.
    """

    name: str
    kind: str
    help: str
    letter: str = ""
    metavar: str = ""
    default: str | int | None = None
    low: int = 1
    high: int = 0
    completion: str = ""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


OPTIONS = (
    Option(
        "json",
        SHAPE,
        "Print one JSON object with the results and all their details. `total` counts the results of all "
        "pages, as far as the search has looked. A score is the sum of its `contributions` times its `factors`.",
    ),
    Option("jsonl", SHAPE, "Print one JSON object per line, one for each result."),
    Option("ids", SHAPE, "Print only the ids, one per line."),
    Option("limit", NUMBER, "How many results; the setting search.limit without it.", letter="-n", metavar="NUMBER", high=1000),
    Option("page", NUMBER, "Which page of results.", metavar="NUMBER", default=1, high=1_000_000),
    Option(
        "namespace",
        LIST,
        "Only memories of this namespace; give it several times for several.",
        letter="-s",
        metavar="NAME",
        completion="namespaces",
    ),
    Option(
        "tag",
        LIST,
        "Only memories with this tag; several tags must all be there.",
        letter="-t",
        metavar="TAG",
        completion="tags",
    ),
    Option("path", LIST, "Only memories whose globs match this file.", metavar="FILE"),
    Option("project", STRING, "Search another project than this folder's.", metavar="NAME", completion="projects"),
    Option("all_projects", SWITCH, "Search the memories of all projects."),
    Option("since", STRING, "Only memories created on this date or later.", metavar="DATE"),
    Option(
        "status",
        LIST,
        "Memories of another status than active: " + ", ".join(STATUSES[1:-1]) + ", all.",
        metavar="STATUS",
        completion="statuses",
    ),
    Option(
        "mode",
        STRING,
        "How to search: hybrid (words and meaning), lexical (words) or semantic (meaning).",
        metavar="MODE",
        default=HYBRID,
        completion="modes",
    ),
    Option("fast", SWITCH, "Search as fast as the hook does: without loading the neural model."),
    Option(
        "progressive",
        SWITCH,
        "With --jsonl: print two lines, first the results by words (`preliminary`), then the answer (`final`).",
    ),
    Option(
        "state",
        LIST,
        "Judge the conditions of memories by this fact or flag, and by `subcog state get`. Conditions that hold bring "
        "their memory; others hold it back. Without this option conditions do not count.",
        metavar="NAME=VALUE",
    ),
    Option("no_tags", SWITCH, "Give no bonus for tags that the query names."),
    Option(
        "rank",
        SWITCH,
        "Let the language model of llm.at_rest order the first 15 results. It is sent the query and their texts.",
    ),
    Option("explain", SWITCH, "Explain the rank of each result."),
    Option(
        ONLY_TERMINAL,
        SWITCH,
        "Search on the team's server (`subcog help sharing`): this folder's project, the project of "
        "--project, or all shared projects with --all-projects.",
    ),
    Option(
        "batch",
        STRING,
        'Answer many queries from a JSONL file, or - for standard input. A line is {"id", "query", "project"?}; '
        "without a project all are searched.",
        metavar="FILE",
    ),
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
    no_tags = False
    explain = False
    rank = False
    batch: str | None = None


def parse_command_line(words: Sequence[str]) -> SearchOptions | None:
    """Parse a command line as typer would; return None where typer has to parse it.

    words: the command's name first. Typer parses every line that asks for a table on a terminal or has a fault.
    """
    if not words or words[0] != COMMAND or sys.stdin is None:
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
        if not value or not value.isdecimal() or len(value) > MAX_DIGITS or not option.low <= int(value) <= option.high:
            return False
        setattr(options, option.name, int(value))
    return True
