"""`subcog help`: the topics. A topic is a Markdown file in `cli/topics`, and its first line is the title."""

import difflib
import os
import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

from rich.console import Console, ConsoleOptions
from rich.constrain import Constrain
from rich.markdown import CodeBlock, Markdown, MarkdownContext, TableDataElement
from rich.segment import Segment
from rich.text import Text, TextType
from rich.theme import Theme
from typer import Argument

from subcog_hooks.cli.command_table import COMMANDS
from subcog_hooks.cli.terminal.output import ACCENT, terminal
from subcog_hooks.core.errors import UsageError

FOLDER = os.path.join(os.path.dirname(__file__), "topics")
ORDER = "noting cues searching settings sharing privacy scripts deciding".split()
MIN_SIMILARITY = 0.5  # `difflib` ratio: a topic at least this similar counts as misspelt
_SUFFIX = ".md"
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)  # comments for editors of the file


def all_topics() -> list[str]:
    """Return the names of all topics, in the order of a newcomer: commands first, the hook's decisions last."""
    topics = {file.removesuffix(_SUFFIX) for file in os.listdir(FOLDER) if file.endswith(_SUFFIX)}
    return sorted(topics, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def title(name: str) -> str:
    """Return the title of a topic."""
    with open(_path(name), encoding="utf-8") as file:
        return file.readline().removeprefix("# ").strip()


def _path(name: str) -> str:
    return os.path.join(FOLDER, name + _SUFFIX)


MAX_WIDTH = 100  # columns; longer lines are hard to read
STYLES = {"markdown.code": ACCENT, "markdown.h2": "bold"}  # rich's own styles put code on black
BLANK = "␣"  # stands for a blank of a command while lines are broken; no topic has this character


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
    names = all_topics()
    if topic is None:
        width = max(map(len, names))
        for name in names:
            terminal.result(f"{name:<{width}}  {title(name)}")
        terminal.say("`subcog help TOPIC` explains one of them, `subcog COMMAND --help` a command")
        return
    name = topic.lower()
    if name in COMMANDS and name not in names:  # Commands have help pages of their own.
        raise UsageError(f"no topic {topic!r}", f"it is a command: `subcog {name} --help` explains it")
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=MIN_SIMILARITY)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"no topic {topic[:80]!r}", f"{hint}`subcog help` lists the topics")
    with open(_path(name), encoding="utf-8") as file:
        text = _COMMENT.sub("", file.read())
    if terminal.out.is_terminal:
        with terminal.out.use_theme(Theme(STYLES)):
            terminal.page(Constrain(Topic(text), MAX_WIDTH))
    else:
        terminal.raw(text)
