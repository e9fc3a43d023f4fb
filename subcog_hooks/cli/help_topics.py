"""The topics of `subcog help`, the files in `cli/topics`, drawn on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, ClassVar

from rich.constrain import Constrain
from rich.markdown import CodeBlock, Markdown, MarkdownContext, TableDataElement
from rich.segment import Segment
from rich.text import Text, TextType
from rich.theme import Theme
from typer import Argument

from subcog_hooks.cli.commands import COMMANDS, MAX_HELP_COLUMNS
from subcog_hooks.cli.terminal.output import ACCENT, terminal
from subcog_hooks.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

FOLDER = os.path.join(os.path.dirname(__file__), "topics")
# The topics, from a newcomer's commands to the hook's decisions.
TOPICS = tuple("noting cues searching settings sharing privacy scripts deciding".split())
STYLES = {"markdown.code": ACCENT, "markdown.h2": "bold"}  # rich's own styles put code on black
BLANK = "␣"  # stands for a blank of a command while lines are broken; no topic has this character


def _read(name: str) -> str:
    with open(os.path.join(FOLDER, f"{name}.md"), encoding="utf-8") as file:
        return file.read()


class CodeLines(CodeBlock):
    """A code block in whole lines, so that a terminal of any width lets each be copied."""

    def __rich_console__(self, *_: object) -> Iterator[Text]:
        yield Text(str(self.text).rstrip(), ACCENT, no_wrap=True, overflow="ignore")


class Cell(TableDataElement):
    """A cell of a table that shows all of its text."""

    def on_text(self, context: MarkdownContext, text: TextType) -> None:
        super().on_text(context, text)
        self.content.overflow = "fold"


class Topic(Markdown):
    """A topic as rich draws it, except that no code is broken."""

    elements: ClassVar = {**Markdown.elements, "fence": CodeLines, "td_open": Cell}

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)
        for token in self._flatten_tokens(self.parsed):
            if token.type == "code_inline":
                token.content = token.content.replace(" ", BLANK)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in super().__rich_console__(console, options):
            if isinstance(segment, Segment):
                yield Segment(segment.text.replace(BLANK, " "), segment.style)


def explain_topic(
    topic: Annotated[str | None, Argument(metavar="TOPIC", help="The topic to explain; without it, list the topics.")] = None,
) -> None:
    """Explain a topic, such as the hook's decisions or privacy.

    On a terminal it is drawn, and goes through the pager where it is long. Elsewhere it is printed as Markdown.

    Example: subcog help deciding
    """
    if topic is None:
        width = max(map(len, TOPICS))
        for name in TOPICS:
            title = _read(name).partition("\n")[0].removeprefix("# ")
            terminal.result(f"{name:<{width}}  {title}")
        terminal.say("`subcog help TOPIC` explains one of them, `subcog COMMAND --help` a command")
        return
    name = topic.lower()
    if name in COMMANDS and name not in TOPICS:  # Commands have help pages of their own.
        raise UsageError(f"no topic {topic!r}", f"it is a command: `subcog {name} --help` explains it")
    if name not in TOPICS:
        raise UsageError(f"no topic {topic[:80]!r}", "`subcog help` lists the topics")
    text = _read(name)
    if terminal.out.is_terminal:
        with terminal.out.use_theme(Theme(STYLES)):
            terminal.page(Constrain(Topic(text), MAX_HELP_COLUMNS))
    else:
        terminal.raw(text)
