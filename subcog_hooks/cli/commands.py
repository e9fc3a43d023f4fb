"""The commands of the terminal: the typer application that joins them, and the topics of `subcog help`, in `cli/topics`."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any, ClassVar, cast

import typer
from rich.constrain import Constrain
from rich.markdown import CodeBlock, Markdown, MarkdownContext, TableDataElement
from rich.segment import Segment
from rich.text import Text, TextType
from rich.theme import Theme
from typer import Argument, Option
from typer._click._textwrap import TextWrapper
from typer.core import TyperGroup

from subcog_hooks import __version__
from subcog_hooks.cli.command_table import CHANGES, COMMANDS, GROUPS, PERSONS, SCRIPTS, AsUser
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import ACCENT, prefer_utf8, terminal
from subcog_hooks.core.errors import EXIT_INTERRUPTED, EXIT_USAGE, StoreError, UsageError
from subcog_hooks.redaction.masking import mask_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from typer._click import Context, HelpFormatter


MAX_HELP_COLUMNS = 100  # longer lines are hard to read
TextWrapper.wordsep_re = re.compile(r"((?:`[^`\n]*`|\S)+)")  # Help pages break no name at a hyphen, and no command.
COMPLETION_VARIABLE = "_SUBCOG_COMPLETE"  # click derives this variable from the name; the shell sets it for completion
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")
ALL_OPTION = "--all"
COMMON_OPTIONS = ("--quiet", "--debug")  # accepted before and after the command's name


def _print_version(wanted: bool) -> None:
    if wanted:
        terminal.result(f"subcog {__version__}")
        raise typer.Exit


def _accept_common_options(
    quiet: Annotated[bool, Option("--quiet", help="Print the result only, no remarks.")] = False,
    debug: Annotated[bool, Option("--debug", help="Show the traceback when a command fails.")] = False,
    everything: Annotated[bool, Option(ALL_OPTION, help="With --help: show the commands for scripts and tuning, too.")] = False,
    version: Annotated[bool, Option("--version", callback=_print_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Take the options of every command, so that typer lists them; `run_command_line` has acted on them before."""


class GroupedCommands(TyperGroup):
    """The list of commands in `--help`: in groups, each with its title."""

    def format_commands(self, _: Context, formatter: HelpFormatter) -> None:
        """Write the commands in sight, and how to see the others."""
        visible = [name for name, command in self.commands.items() if not command.hidden]
        width = max(map(len, visible))
        for group, title in GROUPS.items():
            rows = [(name.ljust(width), COMMANDS[name].summary) for name in visible if COMMANDS[name].group == group]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        if not any(COMMANDS[name].group == SCRIPTS for name in visible):
            formatter.write(f"\n{GROUPS[SCRIPTS]}: `subcog --help {ALL_OPTION}`\n")


def build_app(command: str = "", *, has_all: bool = False) -> typer.Typer:
    """Return the application: with the module of a known command, else with the names and summaries of all commands.

    has_all: with the commands for scripts and the options for completion in sight.
    """
    app = typer.Typer(
        name="subcog",
        cls=TyperGroup if command in COMMANDS else GroupedCommands,
        add_completion=has_all,
        help="Long-term memory for coding agents: notes that help come with your prompts.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_HELP_COLUMNS},
    )
    app.callback()(_accept_common_options)
    if command in COMMANDS:
        add_command(app, command)
    else:
        for name, (group, _, _, summary) in COMMANDS.items():
            is_hidden = not summary or (group == SCRIPTS and not has_all)
            app.command(name, short_help=summary, hidden=is_hidden)(_accept_common_options)
    return app


def add_command(app: typer.Typer, name: str) -> None:
    """Import the module of a command, and add the command to an application."""
    _, module, function, summary = COMMANDS[name]
    command = getattr(importlib.import_module(f"subcog_hooks.cli.{module}"), function)
    if isinstance(command, typer.Typer):
        for inner in command.registered_commands:
            if inner.callback:
                inner.callback = keep_for_person(f"{name} {inner.name or inner.callback.__name__}", inner.callback)
                inner.short_help = first_sentence(inspect.getdoc(inner.callback) or "")
        app.add_typer(command, name=name)
    else:
        app.command(name, hidden=not summary)(keep_for_person(name, command))


def keep_for_person(name: str, run: Callable[..., None]) -> Callable[..., None]:
    """Return a command of the person's with `--as-user`, which an agent gives unless it is a dry run; any other as it is."""
    reason = PERSONS.get(name)
    if reason is None or hasattr(run, "__wrapped__"):  # The group of a command is wrapped once a process.
        return run

    def run_for_person(*, as_user: bool, **options: object) -> None:
        if reason != CHANGES or not options.get("dry_run"):
            author.require_person(f"`subcog {name}` {reason}", as_user=as_user)
        run(**options)

    signature = inspect.signature(run)
    option = inspect.Parameter("as_user", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsUser)
    command: Any = functools.update_wrapper(run_for_person, run)  # Any: a function's signature can be set
    command.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])
    return cast("Callable[..., None]", command)


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, on one line.

    >>> first_sentence("Forget memories.\\n\\nExample: subcog forget 1m7x59")
    'Forget memories.'
    >>> first_sentence("Show a file such as a.toml\\nin full. It may be long.")
    'Show a file such as a.toml in full.'
    """
    line = " ".join(text.partition("\n\n")[0].split())
    first, stop, _ = line.partition(". ")
    return first + stop.strip()


def run_command_line() -> None:
    """Run the command line in sys.argv and end the process with its exit code."""
    prefer_utf8()
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    flags = {word for word in words[:end] if word in COMMON_OPTIONS}
    arguments = [word for word in words[:end] if word not in COMMON_OPTIONS] + words[end:]
    terminal.begin_run(quiet="--quiet" in flags)
    code = context.guard(lambda: _call_command(arguments), is_debugged="--debug" in flags)
    if terminal.has_left_work:
        os._exit(code)  # a library that a thread is loading does not survive the teardown
    sys.exit(code)


def _call_command(arguments: list[str]) -> int:
    if not arguments and COMPLETION_VARIABLE not in os.environ:
        from subcog_hooks.cli import doctor  # it looks at the settings of all agents

        return doctor.show_overview()
    has_all = COMPLETION_VARIABLE in os.environ or not {ALL_OPTION, *COMPLETION_OPTIONS}.isdisjoint(arguments)
    try:
        app = build_app(_command_name(arguments), has_all=has_all)
        gc.enable()  # `__main__` has switched it off while modules are loaded
        code = app(args=arguments, prog_name="subcog", standalone_mode=False)
        if code == EXIT_INTERRUPTED:  # typer returns it for an interrupt.
            raise KeyboardInterrupt
        _take_back_rules()
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except typer.TyperException as error:
        message, command = error.format_message(), _command_name(arguments)
        hint = "see `subcog --help`" if "command" in message or not command else f"see `subcog {command} --help`"
        if message.startswith("No such option"):
            hint = "put -- before a text that begins with a dash, or " + hint
        if message.startswith("Usage:"):
            terminal.result(message)
        else:
            context.complain(mask_secrets(message)[:200].rstrip("."), hint)
        return EXIT_USAGE
    return code if isinstance(code, int) else 0


def _take_back_rules() -> None:
    """Take the rules of notes that have ended out of Claude Code's settings, unless an agent may have ended them."""
    with suppress(StoreError):  # `--version` needs no home
        home = context.home()
        if os.path.exists(home.rules) and not author.is_agent():
            from subcog_hooks.cli.agents import claude_code  # few homes have rules

            claude_code.take_back_ended(home)


def _command_name(arguments: list[str]) -> str:
    """Return the name of the command that is called, or that the shell completes."""
    if COMPLETION_VARIABLE in os.environ:
        line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
        arguments = line.split()[1:]
    return next((word for word in arguments if not word.startswith("-")), "")


FOLDER = os.path.join(os.path.dirname(__file__), "topics")
# The topics, from a newcomer's commands to the hook's decisions.
TOPICS = tuple("noting cues searching settings sharing privacy scripts deciding".split())


def _path(name: str) -> str:
    return os.path.join(FOLDER, f"{name}.md")


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
    if topic is None:
        width = max(map(len, TOPICS))
        for name in TOPICS:
            with open(_path(name), encoding="utf-8") as file:
                terminal.result(f"{name:<{width}}  {file.readline().removeprefix('# ').strip()}")
        terminal.say("`subcog help TOPIC` explains one of them, `subcog COMMAND --help` a command")
        return
    name = topic.lower()
    if name in COMMANDS and name not in TOPICS:  # Commands have help pages of their own.
        raise UsageError(f"no topic {topic!r}", f"it is a command: `subcog {name} --help` explains it")
    if name not in TOPICS:
        raise UsageError(f"no topic {topic[:80]!r}", "`subcog help` lists the topics")
    with open(_path(name), encoding="utf-8") as file:
        text = file.read()
    if terminal.out.is_terminal:
        with terminal.out.use_theme(Theme(STYLES)):
            terminal.page(Constrain(Topic(text), MAX_WIDTH))
    else:
        terminal.raw(text)
