"""The means by which the terminal prints: consoles, one-line messages, short forms of times and texts."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment, SegmentLines
from rich.table import Table
from rich.text import Text

from subcog_hooks.control_characters import escape_controls, to_json
from subcog_hooks.hooks.sanitise import cut, one_line
from subcog_hooks.memory.model import Memory
from subcog_hooks.redaction.leaks import mask

ACCENT = "cyan"
DIM = "bright_black"
WIDE = 100  # columns from which a table has room for the text beside the rest
_LAST_SECOND = 32_503_679_999  # of the year 2999: the C library of Windows goes no further


class ReaderGone(Exception):
    """Nobody reads standard output any more, as behind `subcog list | head`: the command has done what was wanted."""


class OutputFailed(Exception):
    """Standard output can not be written, as on a full disk."""


class _Screen(Console):
    """A stream to a person. All that is printed to it passes `render`, so no caller can forget to escape what it prints."""

    def on_broken_pipe(self) -> None:
        raise ReaderGone

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the pieces of what is drawn, without control characters of the text's own."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(escape_controls(segment.text, keep_lines=True), segment.style)


class Terminal:
    """The two streams of this run. `quiet` leaves out what is said beside the result; has_blocks: smooth bars can be drawn."""

    __slots__ = ("_said", "err", "has_blocks", "out", "quiet")

    def __init__(self) -> None:
        self.out = _Screen(soft_wrap=False, highlight=False, emoji=False)
        self.err = _Screen(stderr=True, soft_wrap=True, highlight=False, emoji=False)
        self.quiet = False
        self._said: set[str] = set()
        self.has_blocks = True

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
        """Forget what an earlier run in this process has said."""
        self.quiet = quiet
        self._said.clear()

    def complain(self, message: str, style: str = "") -> None:
        """Print a remark even when `quiet`, in one line to stderr. style: rich's, on a terminal."""
        self.err.print(escape_controls(message), markup=False, style=style if self.err.is_terminal else None)

    def result(self, text: str) -> None:
        """Print the result as it is. Raises ReaderGone, OutputFailed."""
        self._guarded(lambda: self.out.print(text, markup=False, soft_wrap=True))

    def draw(self, view: RenderableType) -> None:
        """Print the result as rich draws it; elsewhere in whole lines, without colours. Raises ReaderGone, OutputFailed."""
        self._guarded(lambda: self.out.print(view, soft_wrap=not self.out.is_terminal))

    def json(self, value: object, indent: int | None = None) -> None:
        """Print the result as JSON, with a line end. Raises ReaderGone, OutputFailed."""
        self.raw(to_json(value, indent) + "\n")

    def page(self, view: RenderableType) -> None:
        """Draw the result as `draw` does; through the pager where it is longer than the screen.

        Raises ReaderGone, OutputFailed.
        """
        if not self.interactive or len(self.out.render_lines(view, pad=False)) < self.out.height:
            self.draw(view)
            return
        os.environ.setdefault("LESS", "-RFX")  # or `less` shows the codes of colours, and clears the screen in the end
        with self.out.pager(styles=os.name != "nt" and "r" in os.environ["LESS"].lower()):
            self.draw(view)

    def raw(self, text: str) -> None:
        """Print data for other programs: no wrapping, no styles, UTF-8. Raises ReaderGone, OutputFailed."""
        self._guarded(lambda: sys.stdout.write(text))

    def flush(self) -> None:
        """Hand over what is still held back. Raises ReaderGone, OutputFailed."""
        self._guarded(sys.stdout.flush)

    def _guarded(self, write: Callable[[], object]) -> None:
        try:
            write()
        except BrokenPipeError as error:
            raise ReaderGone from error
        except OSError as error:
            raise OutputFailed(error.strerror) from error

    @property
    def interactive(self) -> bool:
        return sys.stdin.isatty() and self.out.is_terminal


terminal = Terminal()


def day(at_ms: int) -> str:
    """Return the date of a time, UTC.

    >>> day(1772445600000)
    '2026-03-02'
    """
    moment = time.gmtime(max(0, min(at_ms // 1000, _LAST_SECOND)))
    return time.strftime("%Y-%m-%d", moment)


def safe(text: str) -> str:
    """Return stored text for a terminal: one line, without control sequences and secrets."""
    return one_line(mask(text))


def visible(text: str) -> str:
    """Return text of a file for a terminal, all of it: what a terminal would obey, or not show, as an escape.

    >>> visible("a b\\x1b[2J\\x9b\\u202e")
    'a b\\\\x1b[2J\\\\x9b\\\\u202e'
    """
    return "".join(
        character if character.isprintable() or character == "\t" else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def memories_view(memories: Sequence[Memory], most: int, confidence: Sequence[Text] = ()) -> RenderableType:
    """Return a view of memories for a terminal: a table where it is wide enough, else a line about each with its text below.

    most: characters of a text that are shown in the table; below a line, three lines of it. confidence: how sure it is of each.
    """
    wide = terminal.out.width >= WIDE
    owners = len({where(memory) for memory in memories}) > 1
    table = plain_table(is_wide=True)
    for name in ("id", "namespace", "date"):
        is_short = name != "namespace"
        table.add_column(
            name, style=DIM if is_short else ACCENT, no_wrap=is_short, max_width=None if is_short else 24, overflow="fold"
        )
    if owners:
        table.add_column("of", max_width=24, overflow="fold")
    if confidence:
        table.add_column("confidence", no_wrap=True)
    table.add_column("memory", ratio=1, overflow="fold")
    blocks: list[RenderableType] = []
    for number, memory in enumerate(memories):
        sure = confidence[number : number + 1]
        about = [memory.id, memory.namespace, day(memory.created_at), *([safe(where(memory))] if owners else [])]
        tags = Text("".join(f"  #{safe(tag)}" for tag in memory.tags), style=ACCENT)
        if memory.noted:
            tags.append(f"  {memory.noted}", style=DIM)
        if wide:
            table.add_row(*map(Text, about), *sure, Text(cut(safe(memory.content), most)).append_text(tags))
        else:
            head = (
                Text("  ".join(about[:1]), style=DIM)
                + Text(f"  {about[1]}", style=ACCENT)
                + Text("  " + "  ".join(about[2:]), style=DIM)
                + Text("  ").join([Text(), *sure])
                + tags
            )
            head.overflow = "fold"
            room = 3 * max(20, terminal.out.width - 4) - 4
            blocks += [head, Padding(Text(cut(safe(memory.content), room)), (0, 0, 0, 2))]
    return table if wide else Group(*blocks)


def plain_table(*, is_wide: bool = False) -> Table:
    """Return an empty table without lines. is_wide: as wide as the terminal. Its columns are to fold what is too long for
    them (`overflow="fold"`); `no_wrap` is for what is always short."""
    return Table(box=None, pad_edge=False, expand=is_wide, header_style=DIM)


def first_screen(view: RenderableType) -> RenderableType:
    """Return as many lines of `view` as the terminal shows at once: what is to be taken back must not have scrolled away."""
    lines = terminal.out.render_lines(view, pad=False)[: max(1, terminal.out.height - 1)]
    return SegmentLines(lines, new_lines=True)


def where(memory: Memory) -> str:
    """Return the scope of a memory in a word or a path."""
    return memory.project or memory.scope


def prefer_utf8() -> None:
    """Make the standard streams write UTF-8 whatever the locale is, and never fail on a character. Bars heed the locale."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - `>&-` has closed it
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the whole run
    terminal.has_blocks = str(sys.stdout.encoding).lower().startswith("utf") and not terminal.out.legacy_windows
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace", newline="\n" if os.name != "nt" else None)
