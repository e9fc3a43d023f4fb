"""A rich console whose output is always escaped."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from subcog_hooks.core.log import escape_controls


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
