"""`subcog pause`, `resume`, and the help page of `subcog hook`, which itself never comes through here."""

import re
from typing import Annotated

import typer

from subcog_hooks.cli.support import session
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.memory.model import now_ms
from subcog_hooks.state import pause as pauses
from subcog_hooks.state.connection import State

WAIT_MS = 2_000
_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


def register(app: typer.Typer) -> None:
    app.command()(pause)
    app.command()(resume)
    app.command()(hook)


def pause(
    length: Annotated[
        str | None, typer.Argument(metavar="LENGTH", help="How long: 30m, 2h, 1d. Without it, until `subcog resume`.")
    ] = None,
) -> None:
    """Silence the hook in every session, for a time or until `subcog resume`.

    Example: subcog pause 2h
    """
    length_ms = None
    if length is not None:
        match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", length)
        if not match:
            raise UsageError(f"{length!r} is no length of time", "for instance 30m, 2h or 1d")
        length_ms = int(match[1]) * _UNITS[match[2]]
    pauses.begin(_state(), now_ms(), length_ms)
    terminal.say(f"paused for {length}" if length else "paused; `subcog resume` ends it")


def resume() -> None:
    """End a pause. The exit code is 1 when there was none.

    Example: subcog resume
    """
    if not pauses.end(_state(), now_ms()):
        terminal.say("not paused")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    terminal.say("resumed")


def hook() -> None:
    """Answer one hook event of Claude Code. The client runs this, not you.

    It reads a JSON payload on standard input and prints one JSON object or nothing. The exit code is always 0, errors go to the
    log. `subcog init` registers it; `subcog doctor --prompt TEXT` shows what it would answer.
    """


def _state() -> State:
    home = session.home()
    home.create()
    return State.open(home, WAIT_MS, terminal.say)
