"""`subcog search` for a script, without typer and rich: loading them takes longer than the search."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence

from subcog_hooks.cli.support import context, results, searching
from subcog_hooks.cli.support.output import prefer_utf8, terminal
from subcog_hooks.cli.support.search_options import END, QUIET, SearchOptions, parse_command_line


def answer_search(options: SearchOptions, *, is_quiet: bool) -> int:
    """Answer a search on this process's streams, and return the exit code. Never raises."""
    prefer_utf8()
    terminal.begin_run(quiet=is_quiet)

    def show(page: results.ResultPage) -> None:
        results.print_results(page, options.shape, is_explained=options.explain)

    return context.guard(lambda: searching.run_search(options, show), is_debugged=False)


def answer_and_exit(words: Sequence[str]) -> None:
    """Answer a script's search and end the process.

    Return without an answer if the words ask for a terminal's search. words: the command's name first.
    """
    end = words.index(END) if END in words else len(words)
    options = parse_command_line([*(word for word in words[:end] if word != QUIET), *words[end:]])
    if options is not None:
        if options.batch:
            gc.enable()  # a batch runs long enough to need it
        code = answer_search(options, is_quiet=QUIET in words[:end])
        os._exit(code)  # the streams have been flushed, or nobody reads them
