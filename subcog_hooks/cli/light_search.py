"""`subcog search` for a script: the same search without typer and rich, which take longer to load than it takes."""

from __future__ import annotations

import gc
import os

from subcog_hooks.cli.support import guard, results, searching
from subcog_hooks.cli.support.output import prefer_utf8, terminal
from subcog_hooks.cli.support.search_options import END, QUIET, SearchOptions, read_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run(options: SearchOptions, *, is_quiet: bool) -> int:
    """Answer a search on this process's streams; return the exit code. Never raises."""
    prefer_utf8()
    terminal.begin_run(quiet=is_quiet)

    def show(page: results.ResultPage) -> None:
        results.show(page, options.shape, is_explained=options.explain)

    return guard.guard(lambda: searching.run(options, show), is_debugged=False)


def end_if_asked(words: Sequence[str]) -> None:
    """End the process with the answer where these words, the command's name first, ask for one that a script reads.

    Returns where they do not, or where they have an option that only the terminal knows.
    """
    end = words.index(END) if END in words else len(words)
    options = read_words([*(word for word in words[:end] if word != QUIET), *words[end:]])
    if options is not None:
        if options.batch:
            gc.enable()  # a batch runs long enough to need it
        code = run(options, is_quiet=QUIET in words[:end])
        os._exit(code)  # the streams have been flushed, or nobody reads them
