"""Writing a page where the person wants it: whole or not at all, for the person's eyes alone."""

import os

from subcog_hooks.cli.page.builder import Page
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.errors import UsageError
from subcog_hooks.paths import PRIVATE_FILE


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
            _write_whole(text, os.path.realpath(path))
    except OSError as error:
        raise UsageError(f"{safe(path)} can not be written: {error.strerror}", "name another file") from error
    terminal.say(f"written to {safe(path)} ({len(text) / 1e6:.1f} MB); open it in a browser")


def _write_whole(text: str, target: str) -> None:
    """Write a file beside its place first; nothing is left of it where that fails. Raises OSError."""
    partial = f"{target}.partial"
    try:
        descriptor = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(partial, target)
    except BaseException:
        if os.path.isfile(partial):
            os.unlink(partial)
        raise
