"""A rich console whose output is always escaped."""

import re
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from subcog_hooks.core.log import escape_controls

_WORD = re.compile(r"\s*(?:`[^`\n]{1,50}`|\S)+")  # A command in backquotes is not broken, so that it can be copied.


class Screen(Console):
    """A console for a person. All output passes `render`, so no caller can forget to escape a text."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of a drawing, without control characters of its texts."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(escape_controls(segment.text, keep_lines=True), segment.style)

    def print_wrapped(self, *pieces: tuple[str, str], indent: int | None = None) -> None:
        """Print texts with their styles, each line broken between words. indent: as of `Terminal.pieces`."""
        for line in self.wrap_lines(*pieces, indent=indent):
            self.print(line, soft_wrap=True)

    def wrap_lines(self, *pieces: tuple[str, str], indent: int | None = None) -> Iterator[Text]:
        """Yield the lines that `print_wrapped` prints."""
        text = Text.assemble(*pieces)
        text.expand_tabs(8)
        for line in text.split("\n", allow_blank=True):
            blanks = len(line.plain) - len(line.plain.lstrip()) if indent is None else indent
            yield from break_line(line, self.width, blanks)


def break_line(line: Text, columns: int, indent: int) -> Iterator[Text]:
    """Yield the lines of a text that is broken between words; a word longer than a line stays whole.

    >>> [part.plain for part in break_line(Text("ab cd ef `g h`"), 6, 1)]
    ['ab cd', ' ef', ' `g h`']
    """
    margin, start, used = "", 0, 0
    for word in _WORD.finditer(line.plain):
        width = cell_len(word[0])
        if used > indent and used + width > columns:
            yield Text.assemble(margin, line[start : word.start()])
            margin, start = " " * indent, word.end() - len(word[0].lstrip())
            used, width = indent, cell_len(word[0].lstrip())
        used += width
    yield Text.assemble(margin, line[start:])
