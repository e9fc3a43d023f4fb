"""`subcog state`, `pause` and `resume`; and the commands that clients run: `hook`, `mcp` and `statusline`."""

import json
import re
from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.cli.commands import AsJsonl, Texts, run_alone
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.inputs import Value
from subcog_hooks.cli.terminal.output import nothing_found, safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ExtraMissing, UsageError, extra_remedy
from subcog_hooks.cues import condition_syntax
from subcog_hooks.cues.conditions import FACT_KINDS
from subcog_hooks.hook import facts, status_line
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import is_paused

commands = typer.Typer(
    help="Set flags of your own, such as clinician_mode. A memory's condition (`--when`) can ask for them.\n\n"
    "Example: subcog state"
)


@commands.command(name="set")
def set_(
    flags: Annotated[list[str], Argument(metavar="NAME=VALUE", help="A name and its value: true, false, a number or a text.")],
) -> None:
    """Set flags for all projects. NAME alone means NAME=true; a value in double quotes is a text.

    They stay until you clear them, or state.db is deleted.

    Example: subcog state set clinician_mode=true
    """
    parsed_flags = [condition_syntax.parse_flag(flag) for flag in flags]
    with context.open_state(terminal.say) as state:
        state.begin()
        for name, value in parsed_flags:
            state.run("INSERT OR REPLACE INTO user_flags VALUES (?, ?)", (name, json.dumps(value)))
        state.commit()
    for name, value in parsed_flags:
        terminal.say(f"{name} = {_flag_text(value)}")


@commands.command()
def get(
    name: Annotated[str | None, Argument(metavar="NAME", help="One flag or fact; without it, all of this folder.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object, or the value of NAME.")] = False,
    as_jsonl: AsJsonl = False,
) -> None:
    """Show the flags that you have set, and the facts that conditions can ask for in this folder.

    The exit code is 1 when NAME is not known.

    Example: subcog state get
    """
    flags = inputs.flag_facts()
    facts_here = inputs.facts_of_place()
    values = {**flags, **facts_here}
    if name is not None:
        if name not in values:
            raise nothing_found(f"{safe(name)} {'is not known here' if name in FACT_KINDS else 'is not set'}")
        if as_json:
            terminal.json(values[name])
        else:
            terminal.result(_flag_text(values[name]))
        return
    records = [{"name": key, "value": value, "is_set": key in flags} for key, value in values.items()]
    if as_json and not as_jsonl:
        terminal.json({"flags": flags, "facts": facts_here}, indent=1)
    elif not terminal.rows(records, as_json=as_json, as_jsonl=as_jsonl):
        texts = {key: _flag_text(value) for key, value in values.items()}
        widths = max(map(len, texts)), max(map(len, texts.values()))
        for key, text in texts.items():
            terminal.result(f"{key:{widths[0]}}  {text:{widths[1]}}  {'set by you' if key in flags else 'known here'}")
        if not flags:
            terminal.say("no flag is set; `subcog state set NAME=VALUE` sets one")


run_alone(commands, get)


@commands.command()
def clear(
    names: Annotated[Texts, Argument(metavar="NAME", help="The names of the flags.")] = None,
    everything: Annotated[bool, Option("--all", help="Remove all flags.")] = False,
) -> None:
    """Remove flags: conditions that ask for them no longer hold. The exit code is 1 when none of them was set.

    Example: subcog state clear clinician_mode
    """
    if bool(names) == everything:
        raise UsageError("name the flags to clear, or give --all", "`subcog state get` shows them")
    for name in names or ():
        condition_syntax.check_flag(name)
    cleared: list[str] = []
    with context.existing_state(context.home(), tell=terminal.say) as state:
        if state:
            state.begin()
            candidates = list(facts.find_flags(state)) if everything else list(dict.fromkeys(names or ()))
            cleared = [name for name in candidates if state.run("DELETE FROM user_flags WHERE name = ? RETURNING 1", (name,))]
            state.commit()
    for name in dict.fromkeys(names or cleared):
        terminal.say(f"{name} {'is cleared' if name in cleared else 'was not set'}")
    if not cleared:
        if everything:
            terminal.say("no flag was set")
        raise typer.Exit(EXIT_NOTHING_FOUND)


def _flag_text(value: Value) -> str:
    """Return a value in the form that `set` takes.

    >>> _flag_text(True), _flag_text(7), _flag_text("7"), _flag_text("tired")
    ('true', '7', '"7"', 'tired')
    """
    if not isinstance(value, str):
        return json.dumps(value)
    _, parsed = condition_syntax.parse_flag(f"flag={value}")
    return safe(value if parsed == value else json.dumps(value, ensure_ascii=False))


_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


def pause(
    length: Annotated[
        str | None, Argument(metavar="LENGTH", help="How long: 30m, 2h, 1d. Without it, until `subcog resume`.")
    ] = None,
) -> None:
    """Silence the hook, for a time or until `subcog resume`. It holds for every session.

    Example: subcog pause 2h
    """
    length_ms = None
    if length is not None:
        match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", length)
        if not match:
            raise UsageError(f"{length!r} is no length of time", "for instance 30m, 2h or 1d")
        length_ms = int(match[1]) * _UNITS[match[2]]
    with context.open_state(terminal.say) as state:
        now = now_ms()
        until = None if length_ms is None else now + length_ms
        state.run("INSERT OR REPLACE INTO pause (rowid, since, until) VALUES (1, ?, ?)", (now, until))
    terminal.say(f"paused for {length}" if length else "paused; `subcog resume` ends it")


def resume() -> None:
    """End a pause. The exit code is 1 when there was none.

    Example: subcog resume
    """
    with context.open_state(terminal.say) as state:
        was_paused = is_paused(state, now_ms())
        state.run("DELETE FROM pause")
    if not was_paused:
        raise nothing_found("not paused")
    terminal.say("resumed")


def hook() -> None:
    """Answer one hook event of Claude Code. The client runs this, not you.

    It reads a JSON payload on standard input and prints one JSON object or nothing. The exit code is always 0, errors go to the
    log. `subcog init` registers it; `subcog block TEXT` shows what it would answer.
    """


def serve() -> None:
    """Give agents without hooks three tools, by the Model Context Protocol. A client runs this, not you.

    `recall` returns the text that the hook would give with a prompt, the first time with the brief of a session. `show` prints
    memories, and `remember` stores a note of an agent. The server speaks on standard input and output, for the client's
    project. It needs the extra `mcp`.
    """
    try:
        from subcog_hooks.cli import mcp_server  # An extra, which takes .4 s to load.
    except ImportError as error:
        raise missing_package() from error
    mcp_server.run_server()


def missing_package() -> ExtraMissing:
    """Return the error for an installation without the protocol's package."""
    return ExtraMissing("the server needs the package mcp, which is not installed", extra_remedy("mcp"))


def statusline() -> None:
    """Print the line for Claude Code's status line: notes here, notes of the session, and waiting notes.

    It reads the client's JSON payload on standard input. `subcog help settings` shows how to register it.

    Example: subcog statusline
    """
    status_line.print_status()
