"""The commands of the terminal: their table, the options that several have, and the typer application that joins them."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, cast

import typer
from typer import Option
from typer._click._textwrap import TextWrapper
from typer.core import TyperGroup

from subcog_hooks import __version__
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import prefer_utf8, terminal
from subcog_hooks.core.errors import EXIT_INTERRUPTED, EXIT_USAGE, StoreError
from subcog_hooks.core.files import read_rows
from subcog_hooks.redaction.masking import mask_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter


class Command(NamedTuple):
    """A command. group: of GROUPS; module: below `cli`; function: or group in it; summary: first sentence of its help."""

    group: str
    module: str
    function: str
    summary: str


COMMANDS = {
    name: Command(group, module, function, summary.removeprefix("-"))
    for name, group, module, function, summary in read_rows(__file__, "commands.tsv")
}

CHANGES = "changes how subcog works"
# The commands that an agent runs only with the person's word, and the reason.
PERSONS = {
    **dict.fromkeys(("init", "uninstall", "setup", "pause", "resume", "config set", "state set", "state clear"), CHANGES),
    **dict.fromkeys(("models pull", "models use", "models remove", "share off"), CHANGES),
    "share init": "chooses where memories go",
    "share restore": "takes back colleagues' changes",
    "learn": "reads what the person typed in all sessions",
    "enrich": "sends memories to a language model",
}
SCRIPTS = "scripts"  # a group that only `--all` shows
GROUPS = {"day": "Every day", "why": "Why", "setup": "Set up", SCRIPTS: "For scripts and tuning"}


AsUser = Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)]
AsJson = Annotated[bool, Option("--json", help="Print one JSON array of them.")]
AsJsonl = Annotated[bool, Option("--jsonl", help="Print them as JSON, an object a line.")]
Texts = list[str] | None


def run_alone(group: typer.Typer, function: Callable[[], None]) -> None:
    """Let a group run this function when it is called without one of its commands."""

    def call_alone(call: typer.Context) -> None:
        if call.invoked_subcommand is None:
            function()

    group.callback(invoke_without_command=True)(call_alone)


def _option(*names: str, metavar: str = "NAME") -> Callable[[str], Any]:
    """Return a function that makes an option from a help text."""
    return lambda help_text: Option(*names, metavar=metavar, help=help_text)


namespace_option = _option("--namespace", "-s")
tag_option = _option("--tag", "-t", metavar="TAG")
project_option = _option("--project")
status_option = _option("--status", metavar="STATUS")


def id_option(flag: str, help_text: str) -> Any:
    return Option(flag, metavar="ID", help=help_text)


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
    command = _load(module, function)
    if isinstance(command, typer.Typer):
        for inner in command.registered_commands:
            if inner.callback:
                inner.callback = keep_for_person(f"{name} {inner.name or inner.callback.__name__}", inner.callback)
                inner.short_help = first_sentence(inspect.getdoc(inner.callback) or "")
        app.add_typer(command, name=name)
    else:
        app.command(name, hidden=not summary)(keep_for_person(name, command))


def _load(module: str, name: str) -> Any:
    """Return a function or a group of a command's module. The modules import this one."""
    return getattr(importlib.import_module(f"subcog_hooks.cli.{module}"), name)


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
        _load("doctor", "show_overview")()
        return 0
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
