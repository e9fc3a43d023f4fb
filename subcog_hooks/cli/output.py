"""What the terminal prints with: consoles, one-line messages, short forms of times and texts."""

import os
import sys
import time

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from subcog_hooks.capture.leaks import mask
from subcog_hooks.hooks.sanitise import one_line
from subcog_hooks.memory.model import Memory

ACCENT = "cyan"
DIM = "bright_black"


class Terminal:
    """The two streams of this run. `quiet` leaves out what is said beside the result."""

    __slots__ = ("err", "out", "quiet")

    def __init__(self) -> None:
        self.out = Console(soft_wrap=False, highlight=False, emoji=False)
        self.err = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
        self.quiet = False

    def say(self, message: str) -> None:
        """A remark beside the result, to stderr, so that stdout stays data."""
        if not self.quiet:
            self.err.print(escape(message))

    def result(self, text: str) -> None:
        """The result, as it is."""
        self.out.print(text, markup=False, soft_wrap=True)

    def raw(self, text: str) -> None:
        """Data for other programs: no wrapping, no styles, UTF-8."""
        sys.stdout.write(text)

    @property
    def interactive(self) -> bool:
        return sys.stdin.isatty() and self.out.is_terminal


terminal = Terminal()


def day(at_ms: int) -> str:
    """The date of a time, UTC.

    >>> day(1772445600000)
    '2026-03-02'
    """
    return time.strftime("%Y-%m-%d", time.gmtime(at_ms / 1000))


def safe(text: str) -> str:
    """Stored text for a terminal: one line, without control sequences and secrets."""
    return one_line(mask(text))


def memory_table(title: str = "") -> Table:
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, expand=True, header_style=DIM)
    table.add_column("id", style=DIM, no_wrap=True)
    table.add_column("namespace", style=ACCENT, no_wrap=True)
    table.add_column("date", no_wrap=True)
    return table


def where(memory: Memory) -> str:
    """The scope of a memory in a word or a path."""
    return memory.project or memory.scope


def prefer_utf8() -> None:
    """Standard streams write UTF-8 whatever the locale is, and never fail on a character."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace", newline="\n" if os.name != "nt" else None)
