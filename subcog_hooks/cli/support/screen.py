"""A stream to a person, on which rich draws."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from subcog_hooks.core.control_characters import escape_controls


class Screen(Console):
    """A stream to a person. All that is printed to it passes `render`, so no caller can forget to escape what it prints."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the pieces of what is drawn, without control characters of the text's own."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(escape_controls(segment.text, keep_lines=True), segment.style)
