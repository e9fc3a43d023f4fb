"""`subcog search` for a script: the same search without typer and rich, which take longer to load than it takes.

What it does not understand, the terminal's own way answers or refuses.
"""

from __future__ import annotations

import gc
import os
import sys

from subcog_hooks.cli.support import failures, results, searching
from subcog_hooks.cli.support.output import prefer_utf8, terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND, QUIET, END = "search", "--quiet", "--"
SWITCHES = ("--all-projects", "--explain", "--fast", "--no-tags", "--progressive", "--rank")
TEXTS = ("--batch", "--mode", "--project", "--since")
LISTS = ("--namespace", "--path", "--state", "--status", "--tag")
NUMBERS = {"--limit": range(1, 1001), "--page": range(1, 1_000_001)}
MAX_DIGITS = 7
SHAPES = {"--json": results.JSON, "--jsonl": results.JSONL, "--ids": results.IDS}
SHORT = {"-n": "--limit", "-s": "--namespace", "-t": "--tag"}


def run(asked: searching.SearchOptions, *, is_quiet: bool) -> int:
    """Answer a search on this process's streams; return the exit code. Never raises."""
    prefer_utf8()
    terminal.begin_run(quiet=is_quiet)

    def show(found: results.ResultPage) -> None:
        results.show(found, asked.shape, is_explained=asked.explain)

    return failures.guard(lambda: searching.run(asked, show), is_debugged=False)


def end_if_asked(words: Sequence[str]) -> None:
    """End the process with the answer where these words, the command's name first, ask for one that a script reads.

    Returns where they do not, or where they have something that only the terminal knows.
    """
    end = words.index(END) if END in words else len(words)
    asked = read([*(word for word in words[:end] if word != QUIET), *words[end:]])
    if asked is not None:
        if asked.batch:
            gc.enable()  # as for whatever takes long
        code = run(asked, is_quiet=QUIET in words[:end])
        os._exit(code)  # nothing is left to tidy up; the streams have been flushed, or nobody reads them


def read(words: Sequence[str]) -> searching.SearchOptions | None:
    """Return what a command line asks, as the terminal would read it; None where that is to read it."""
    if not words or words[0] != COMMAND or sys.stdin is None:
        return None
    asked = searching.SearchOptions()
    query: list[str] = []
    rest = list(words[:0:-1])  # the next one last
    while rest:
        word = rest.pop()
        if word == END:
            query += rest[::-1]
            break
        if word == "-" or not word.startswith("-"):
            query.append(word)
            continue
        name, is_joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        name = SHORT.get(name, name)
        if name in SWITCHES or name in SHAPES:
            if is_joined or (name in SHAPES and asked.shape != results.TABLE):
                return None
            if name in SHAPES:
                asked.shape = SHAPES[name]
            else:
                setattr(asked, _field(name), True)
            continue
        if not is_joined:
            if not rest:
                return None
            value = rest.pop()
        if not _take(asked, name, value):
            return None
    asked.query = query
    return asked if asked.batch or asked.shape != results.TABLE else None


def _take(asked: searching.SearchOptions, name: str, value: str) -> bool:
    """Put the value of an option where it belongs. Return whether there is such an option, and it takes this value."""
    field = _field(name)
    if name in TEXTS:
        setattr(asked, field, value)
    elif name in LISTS:
        setattr(asked, field, (*getattr(asked, field), value))
    elif name in NUMBERS and value.isdecimal() and len(value) <= MAX_DIGITS and int(value) in NUMBERS[name]:
        setattr(asked, field, int(value))
    else:
        return False
    return True


def _field(name: str) -> str:
    return name[2:].replace("-", "_")
