"""Writing a page where the person wants it: whole or not at all, for the person's eyes alone."""

import os

from subcog_hooks.cli.page.builder import Page
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.errors import UsageError
from subcog_hooks.whole_files import WholeFile


def write_page(page: Page, path: str) -> None:
    """Write a page to a file, and say so; to standard output for "-". Raises UsageError where that can not be done.

    A link is followed; what is no regular file (a pipe, a device) is written to as it is.
    """
    if path == "-":
        terminal.raw(page.render())
        return
    if not os.path.basename(path) or os.path.isdir(path):
        raise UsageError(f"{safe(path)!r} names no file", "name the file for the page, as --html page.html")
    text = page.render()
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        else:
            with WholeFile(os.path.realpath(path)) as whole:
                whole.file.write(text)
    except OSError as error:
        raise UsageError(f"{safe(path)} can not be written: {error.strerror}", "name another file") from error
    terminal.say(f"written to {safe(path)} ({len(text) / 1e6:.1f} MB); open it in a browser")
