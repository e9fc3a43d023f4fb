"""`subcog brief`: what a session that begins here would be given, why, and what stands next. Nothing is stored or counted."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import ACCENT, DIM, safe, terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.hook import brief as briefs
from subcog_hooks.hook import session as hook_session
from subcog_hooks.hook.brief import BriefScore
from subcog_hooks.hook.call import HookCall, close_left_open
from subcog_hooks.hook.payload import START_EVENT
from subcog_hooks.hook.verdict import Verdict
from subcog_hooks.settings import loading
from subcog_hooks.store import project
from subcog_hooks.store.state import State
from subcog_hooks.text.sanitise import utf16_units

STATE_WAIT_MS = 2_000.0
MOST_NEXT = 5  # memories that are told of those that have no room
LONGEST_SHOWN = 80  # characters of each


def register(app: typer.Typer) -> None:
    app.command()(brief)


def brief(
    folder: Annotated[
        Path | None, typer.Option("--cwd", metavar="DIR", help="Where the session begins; without it, here.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the score of each memory, and the memories that come next.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the memories that a session here would begin with. The exit code is 1 when there are none.

    Example: subcog brief --explain
    """
    root = os.path.abspath(folder) if folder else os.getcwd()
    if not os.path.isdir(root):
        raise UsageError(f"{root} is no folder", "--cwd takes the folder in which a session would begin")
    home = context.home()
    if not context.has_store(home):
        terminal.say("there are no memories; `subcog remember` makes the first")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    here = project.find(root)
    settings = loading.load(home, here.root if here else None)
    for fault in (*settings.problems, *settings.ignored):
        terminal.say(fault)
    state = State.open(home, STATE_WAIT_MS, terminal.say)
    try:
        payload = {"session_id": "", "cwd": root, "hook_event_name": START_EVENT, "source": "startup"}
        call = HookCall(payload, "", here, settings, state, home, Deadline(STATE_WAIT_MS))
        if why := hook_session.silence_reason(call):
            terminal.say(f"none of it is given now: {why}")
        would_be = hook_session.preview_start(call)
        worth = list(briefs.rank_scores(briefs.score_memories(call))) if explain or as_json else []
    finally:
        close_left_open()
        state.close()
    coming = [one for one in worth if one.memory.id not in would_be.ids][:MOST_NEXT]
    if as_json:
        terminal.json(
            {
                "ids": list(would_be.ids),
                "characters": would_be.units,
                "memory_characters": _memory_units(would_be.text),
                "text": would_be.text,
                "worth": {one.memory.id: _told(one) for one in worth if one.memory.id in would_be.ids},
                "next": [{"id": one.memory.id, **_told(one)} for one in coming],
            },
            indent=1,
        )
    elif would_be.ids:
        terminal.raw(would_be.text + "\n")
    if not would_be.ids:
        is_off = not settings[hook_session.BRIEF_UNITS_SETTING]
        why = f"{hook_session.BRIEF_UNITS_SETTING} is 0" if is_off else "no memory is for all sessions here"
        terminal.say(f"a session would begin with nothing: {why}")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    if explain and not as_json:
        terminal.draw(_explained(worth, would_be, coming))


def _memory_units(block: str) -> int:
    """Return the UTF-16 units of the memories' texts in a block, which is what the setting bounds."""
    return sum(utf16_units(line.partition("] ")[2]) for line in block.split("\n")[1:-1])


def _told(one: BriefScore) -> dict[str, float]:
    parts = {name: round(value, 2) for name, value in briefs.score_parts(one).items()}
    return {"worth": round(one.total, 2), **parts}


def _explained(worth: list[BriefScore], would_be: Verdict, coming: list[BriefScore]) -> Group:
    known = {one.memory.id: one for one in worth}
    given, of_memories = would_be.ids, _memory_units(would_be.text)
    head = f"{len(given)} memories of {of_memories:,} characters, {would_be.units:,} with what stands before and around them"
    rows = [Text(""), Text(head, style=ACCENT)]
    rows += [_line(known[id_]) if id_ in known else Text(f"{safe(id_)}  pinned, or its conditions hold") for id_ in given]
    if coming:
        rows += [Text(""), Text("no room, next in line", style=DIM)]
        rows += [_line(one) for one in coming]
    return Group(*rows)


def _line(one: BriefScore) -> Text:
    parts = ", ".join(f"{name} {value:+.2f}" for name, value in briefs.score_parts(one).items())
    shown = " ".join(one.memory.content.split())[:LONGEST_SHOWN]
    return Text.assemble((f"{safe(one.memory.id)}  ", ACCENT), f"{one.total:+.2f}  ({parts})  ", (safe(shown), DIM))
