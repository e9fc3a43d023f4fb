"""`subcog help`: explanations too long for a command's `--help`."""

from typing import Annotated

from typer import Argument

from subcog_hooks.cli.command_table import COMMANDS
from subcog_hooks.cli.support import help_texts
from subcog_hooks.cli.support.output import ACCENT, terminal

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
        _list_topics()
        return
    text = help_texts.text(help_texts.find_topic(topic, list(COMMANDS)))
    if terminal.out.is_terminal:
        _draw_markdown(text)
    else:
        terminal.raw(text)


def _list_topics() -> None:
    names = help_texts.all_topics()
    width = max(map(len, names))
    for name in names:
        terminal.result(f"{name:<{width}}  {help_texts.title(name)}")
    terminal.say("`subcog help TOPIC` explains one of them, `subcog COMMAND --help` a command")


def _draw_markdown(text: str) -> None:
    from rich.constrain import Constrain
    from rich.markdown import Markdown  # it loads a Markdown parser and pygments
    from rich.theme import Theme

    with terminal.out.use_theme(Theme(STYLES)):
        terminal.page(Constrain(Markdown(text, code_theme=CODE_THEME, hyperlinks=False), MAX_WIDTH))
