"""`subcog help`: the topics. A topic is a Markdown file in `cli/topics`, and its first line is the title."""

import difflib
import os
import re
from typing import Annotated

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


def find_topic(word: str) -> str:
    """Return the topic that a word names, in any case. Raises UsageError with a suggestion."""
    topic = word.lower()
    topics = all_topics()
    if topic in topics:
        return topic
    if topic in COMMANDS:  # which have help pages of their own
        raise UsageError(f"no topic {word!r}", f"it is a command: `subcog {topic} --help` explains it")
    near = difflib.get_close_matches(topic, topics, n=1, cutoff=MIN_SIMILARITY)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"no topic {word[:80]!r}", f"{hint}`subcog help` lists the topics")


def _path(name: str) -> str:
    return os.path.join(FOLDER, name + _SUFFIX)


MAX_WIDTH = 100  # columns; longer lines are hard to read
CODE_THEME = "ansi_dark"  # the terminal's own colours, on the terminal's own background
STYLES = {"markdown.code": ACCENT, "markdown.h2": "bold"}  # rich's own styles put code on black


def explain_topic(
    topic: Annotated[str | None, Argument(metavar="TOPIC", help="The topic to explain; without it, list the topics.")] = None,
) -> None:
    """Explain a topic, such as the hook's decisions or privacy.

    On a terminal it is drawn, and goes through the pager where it is long. Elsewhere it is printed as Markdown.

    Example: subcog help deciding
    """
    if topic is None:
        names = all_topics()
        width = max(map(len, names))
        for name in names:
            terminal.result(f"{name:<{width}}  {title(name)}")
        terminal.say("`subcog help TOPIC` explains one of them, `subcog COMMAND --help` a command")
        return
    with open(_path(find_topic(topic)), encoding="utf-8") as file:
        text = _COMMENT.sub("", file.read())
    if terminal.out.is_terminal:
        _draw_markdown(text)
    else:
        terminal.raw(text)


def _draw_markdown(text: str) -> None:
    from rich.constrain import Constrain
    from rich.markdown import Markdown  # it loads a Markdown parser and pygments
    from rich.theme import Theme

    with terminal.out.use_theme(Theme(STYLES)):
        terminal.page(Constrain(Markdown(text, code_theme=CODE_THEME, hyperlinks=False), MAX_WIDTH))
