"""The output of commands: data, messages, short forms of times and texts. rich is loaded only to draw."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial

from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.core.log import escape_controls, to_json
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.store.memory import UNDATED, Memory
from subcog_hooks.text.sanitise import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import RenderableType
    from typer import Exit

    from subcog_hooks.cli.terminal.screen import Screen

_RAW_CODES = re.compile(r"(?:^|\s)(?!--)\S*r|--raw", re.IGNORECASE)  # the option of `less` that shows colours


_FORCING = frozenset(("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"))  # With one of them rich finds out for itself.
ACCENT = "cyan"
DIM = "bright_black"
_LAST_SECOND = 32_503_679_999  # of the year 2999


class ReaderGone(Exception):
    """The reader of standard output has closed it, as in `list | head`. click would end with 1 for a BrokenPipeError."""


class OutputFailed(Exception):
    """Standard output cannot be written, as on a full disk."""


class Terminal:
    """The two streams of this run. The methods that print a result raise ReaderGone and OutputFailed.

    quiet: only the result is printed; has_left_work: a thread still runs that nobody waits for.
    """

    def __init__(self) -> None:
        self.quiet = False
        self._said: set[str] = set()
        self.has_left_work = False

    @cached_property
    def out(self) -> Screen:
        """Standard output, to draw on."""
        from subcog_hooks.cli.terminal.screen import Screen  # rich: 50 ms, not needed to print data

        return Screen(soft_wrap=False, markup=False, highlight=False, emoji=False)

    @cached_property
    def err(self) -> Screen:
        """Standard error, to draw on."""
        from subcog_hooks.cli.terminal.screen import Screen

        return Screen(stderr=True, soft_wrap=True, markup=False, highlight=False, emoji=False)

    def say(self, message: str) -> None:
        """Print a remark beside the result, in one line to stderr, so that stdout stays data."""
        if not self.quiet:
            self.complain(message)

    def say_once(self, message: str) -> None:
        """Print a remark like `say`, unless this run has printed it."""
        if message not in self._said:
            self._said.add(message)
            self.say(message)

    def begin_run(self, *, quiet: bool) -> None:
        """Forget the remarks of an earlier run in this process."""
        self.quiet = quiet
        self._said.clear()

    def complain(self, message: str, style: str = "") -> None:
        """Print a remark even when `quiet`, in one line to stderr. style: rich's, on a terminal."""
        if self.draws_remarks:
            self.err.print_wrapped((escape_controls(message), style))
        else:
            sys.stderr.write(escape_controls(message) + "\n")

    def confirm(self, question: str, *, default: bool = False) -> bool:
        """Ask for a yes or no on stderr, wrapped between words on a terminal."""
        from typer import confirm  # loading it takes longer than a search

        text = f"{question} [{'Y/n' if default else 'y/N'}]:"
        if self.draws_remarks:
            text = "\n".join(map(str, self.err.wrap_lines((text, ""))))
        return confirm(text, default=default, show_default=False, prompt_suffix=" ", err=True)

    def result(self, text: str) -> None:
        """Print the result as it is."""
        self.pieces((text, ""))

    def verbatim(self, text: str) -> None:
        """Print an agent's text as it is, on a terminal wrapped between words."""
        if self.is_drawn:
            self.result(text)
        else:
            self.raw(text + "\n")

    def pieces(self, *pieces: tuple[str, str], indent: int | None = None) -> None:
        """Print texts one after the other; on a terminal wrapped between words, each with a rich style.

        indent: columns before the wrapped lines, by default as many as before the first.
        """
        if self.is_drawn:
            self._write(partial(self.out.print_wrapped, *pieces, indent=indent))
        else:
            self.raw(escape_controls("".join(text for text, _ in pieces), keep_lines=True) + "\n")

    def draw(self, view: RenderableType) -> None:
        """Print the result as rich draws it; elsewhere in whole lines, without colours."""
        self._write(lambda: self.out.print(view, soft_wrap=not self.out.is_terminal, crop=False))

    def json(self, value: object, indent: int | None = None) -> None:
        """Print the result as JSON, with a line end."""
        self.raw(to_json(value, indent) + "\n")

    def rows(self, rows: Iterable[object], *, as_json: bool, as_jsonl: bool) -> bool:
        """Print rows as one JSON array or as JSON lines; return False where neither is wanted. Raises UsageError for both."""
        if as_json and as_jsonl:
            raise UsageError("--json and --jsonl exclude each other", "give one of them")
        if as_json:
            self.json(list(rows), indent=1)
        elif as_jsonl:
            self.raw("".join(to_json(row) + "\n" for row in rows))
        return as_json or as_jsonl

    def page(self, view: RenderableType) -> None:
        """Draw the result as `draw` does; through the pager where it is longer than the screen."""
        pager = (os.environ.get("MANPAGER") or os.environ.get("PAGER") or "").split()[:1]
        is_long = self.interactive and len(self.out.render_lines(view, pad=False)) >= self.out.height
        if not is_long or (pager and shutil.which(pager[0]) is None):  # A pager that is not there would swallow the result.
            self.draw(view)
            return
        os.environ.setdefault("LESS", "-RFX")  # Otherwise `less` shows colour codes, and clears the screen at the end.
        with self.out.pager(styles=os.name != "nt" and bool(_RAW_CODES.search(os.environ["LESS"]))):
            self.draw(view)

    def raw(self, text: str) -> None:
        """Print data for other programs: no wrapping, no styles, UTF-8."""
        self._write(lambda: sys.stdout.write(text))

    def flush(self) -> None:
        """Write the buffered output."""
        self._write(sys.stdout.flush)

    def _write(self, write: Callable[[], object]) -> None:
        try:
            write()
        except BrokenPipeError as error:
            raise ReaderGone from error
        except OSError as error:
            raise OutputFailed(error.strerror) from error

    @property
    def is_drawn(self) -> bool:
        """Return whether standard output is a terminal, or rich is forced to treat it as one."""
        return sys.stdout.isatty() if "out" not in vars(self) and _FORCING.isdisjoint(os.environ) else self.out.is_terminal

    @property
    def draws_remarks(self) -> bool:
        """Return whether standard error is a terminal, or rich is forced to treat it as one."""
        return sys.stderr.isatty() if "err" not in vars(self) and _FORCING.isdisjoint(os.environ) else self.err.is_terminal

    @property
    def interactive(self) -> bool:
        return sys.stdin.isatty() and self.is_drawn


terminal = Terminal()


def nothing_found(remark: str) -> Exit:
    """Print a remark, and return the error that ends the command with EXIT_NOTHING_FOUND."""
    from typer import Exit  # loading it takes longer than a search

    terminal.say(remark)
    return Exit(EXIT_NOTHING_FOUND)


def day(at_ms: int) -> str:
    """Return the date of a time, UTC.

    >>> day(1772445600000), day(UNDATED)
    ('2026-03-02', 'undated')
    """
    if at_ms == UNDATED:
        return "undated"
    # The C library of Windows knows the times from 1970 to 2999 alone.
    return time.strftime("%Y-%m-%d", time.gmtime(max(0, min(at_ms // 1000, _LAST_SECOND))))


def pluralize(number: int, noun: str, plural: str | None = None) -> str:
    """Join a number and its noun in the singular or the plural.

    >>> pluralize(1, "candidate"), pluralize(7, "candidate"), pluralize(2, "memory", "memories")
    ('1 candidate', '7 candidates', '2 memories')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def count_memories(number: int) -> str:
    return pluralize(number, "memory", "memories")


def safe(text: str) -> str:
    """Return stored text for a terminal: one line, without control sequences and secrets."""
    return one_line(mask_secrets(text))


def redact_line(text: str) -> str:
    """Return a text in one line without secrets and personal data, for transcripts and shared pages."""
    from subcog_hooks.redaction.redact import redact  # 100 ms, which only reports need

    return one_line(redact(text).text)


def visible(text: str) -> str:
    """Return the text of a file for a terminal, with control and invisible characters as escapes.

    >>> visible("a b\\x1b[2J\\x9b\\u202e")
    'a b\\\\x1b[2J\\\\x9b\\\\u202e'
    """
    return "".join(
        character if character.isprintable() or character == "\t" else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def abbreviate_home(path: str) -> str:
    """Return a path with ~ for the user's home folder.

    >>> abbreviate_home(os.path.join(os.path.expanduser("~"), "notes")).replace(os.sep, "/")
    '~/notes'
    """
    home = os.path.expanduser("~") + os.sep
    return f"~{os.sep}{path.removeprefix(home)}" if path.startswith(home) else path


def owner_label(memory: Memory) -> str:
    """Return the project of a memory, or its scope."""
    return memory.project or memory.scope


def memory_remark(memory: Memory) -> str:
    """Return a memory's status unless it is active, and the author noted with it; "" for neither."""
    return ", ".join(filter(None, ("" if memory.status == "active" else memory.status, memory.noted)))


def prefer_utf8() -> None:
    """Make the standard streams write UTF-8 in every locale and never fail on a character."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - `<&-` has closed it
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - `>&-` has closed it
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the whole run
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace", newline="\n" if os.name != "nt" else None)


@contextmanager
def track_items(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar that counts items; yield a function that adds to its count."""
    if terminal.quiet or not terminal.draws_remarks:
        yield lambda _: None
        return
    from rich import progress

    label_column = progress.TextColumn("{task.description}", markup=False)
    columns = label_column, progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeRemainingColumn()
    with progress.Progress(*columns, console=terminal.err, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)
