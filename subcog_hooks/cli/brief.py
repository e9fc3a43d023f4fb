"""`subcog brief`, the brief of a session that begins here, with its scores; and `subcog block`. Nothing is stored."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text
from typer import Argument, Option

from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import ACCENT, DIM, count_memories, nothing_found, safe, terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.core.files import working_folder
from subcog_hooks.hook import brief as briefs
from subcog_hooks.hook import dry_run
from subcog_hooks.hook import session as hook_session
from subcog_hooks.hook.brief import BriefScore
from subcog_hooks.hook.call import HookCall, close_left_open
from subcog_hooks.hook.choose import Verdict
from subcog_hooks.hook.payload import START_EVENT
from subcog_hooks.settings import loading
from subcog_hooks.store import project
from subcog_hooks.text.sanitise import utf16_units

MAX_NEXT = 5  # memories shown that have no room in the brief
PREVIEW_CHARACTERS = 80  # of each memory


def brief(
    folder: Annotated[Path | None, Option("--cwd", metavar="DIR", help="Where the session begins; without it, here.")] = None,
    explain: Annotated[
        bool, Option("--explain", help="Show the score of each memory, and the memories that come next.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the memories that a session here would begin with. The exit code is 1 when there are none.

    Example: subcog brief --explain
    """
    root = os.path.abspath(folder) if folder else working_folder()
    if not os.path.isdir(root):
        raise UsageError(f"{root or 'the removed folder'} is no folder", "--cwd takes the folder where a session would begin")
    home = context.home()
    if not context.has_store(home):
        raise nothing_found("there are no memories; `subcog remember` makes the first")
    here = project.find_project(root)
    settings = loading.load(home, here.root if here else None)
    for fault in (*settings.problems, *settings.ignored):
        terminal.say(fault)
    with context.open_state(terminal.say) as state, ExitStack() as cleanup:
        cleanup.callback(close_left_open)
        payload = {"session_id": "", "cwd": root, "hook_event_name": START_EVENT, "source": "startup"}
        call = HookCall(payload, "", here, settings, state, home, Deadline(context.STATE_WAIT_MS))
        if why := hook_session.silence_reason(call):
            if author.is_agent():
                raise nothing_found(f"no brief for an agent: {why}")
            terminal.say(f"none of it is given now: {why}")
        delivery = hook_session.preview_start(call)
        scored = briefs.rank_memories(call) if explain or as_json else []
    next_items = [item for item in scored if item.memory.id not in delivery.ids][:MAX_NEXT]
    if as_json:
        terminal.json(
            {
                "ids": list(delivery.ids),
                "characters": delivery.units,
                "memory_characters": _memory_units(delivery.text),
                "text": delivery.text,
                "worth": {item.memory.id: _score_record(item) for item in scored if item.memory.id in delivery.ids},
                "next": [{"id": item.memory.id, **_score_record(item)} for item in next_items],
            },
            indent=1,
        )
    elif delivery.ids:
        terminal.verbatim(delivery.text)
    if not delivery.ids:
        is_off = not settings[hook_session.BRIEF_UNITS_SETTING]
        why = f"{hook_session.BRIEF_UNITS_SETTING} is 0" if is_off else "no memory is for all sessions here"
        raise nothing_found(f"a session would begin with nothing: {why}")
    if explain and not as_json:
        terminal.draw(_explanation_view(scored, delivery, next_items))


def _memory_units(block: str) -> int:
    """Return the UTF-16 units of the memories' texts in a block; the setting bounds these."""
    return sum(utf16_units(line.partition("] ")[2]) for line in block.split("\n")[1:-1])


def _score_record(scored: BriefScore) -> dict[str, float]:
    parts = {name: round(value, 2) for name, value in scored.parts.items()}
    return {"worth": round(scored.total, 2), **parts}


def _explanation_view(scored: list[BriefScore], delivery: Verdict, next_items: list[BriefScore]) -> Group:
    scored_by_id = {item.memory.id: item for item in scored}
    memories, units = count_memories(len(delivery.ids)), _memory_units(delivery.text)
    head = f"{memories} of {units:,} characters, {delivery.units:,} with the lines around them"
    rows = [Text(""), Text(head, style=ACCENT)]
    rows += [
        _memory_line(scored_by_id[id_]) if id_ in scored_by_id else Text(f"{safe(id_)}  pinned, or its conditions hold")
        for id_ in delivery.ids
    ]
    if next_items:
        rows += [Text(""), Text("no room, next in line", style=DIM)]
        rows += [_memory_line(item) for item in next_items]
    return Group(*rows)


def _memory_line(scored: BriefScore) -> Text:
    parts = ", ".join(f"{name} {value:+.2f}" for name, value in scored.parts.items())
    preview = " ".join(scored.memory.content.split())[:PREVIEW_CHARACTERS]
    return Text.assemble((f"{safe(scored.memory.id)}  ", ACCENT), f"{scored.total:+.2f}  ({parts})  ", (safe(preview), DIM))


def block(
    prompt: Annotated[str, Argument(metavar="PROMPT", help="The prompt; - reads it from standard input.")],
    as_json: Annotated[bool, Option("--json", help="Print one JSON object, with the memories and their relevance.")] = False,
) -> None:
    """Print the text that the hook would give an agent with a prompt, as fast as the hook. Nothing is recorded or counted.

    The exit code is 1 when the hook would be silent.

    Example: subcog block "How long before they expire are tokens refreshed?"
    """
    text = dry_run.read_stdin() if prompt == dry_run.STDIN else prompt
    answer = dry_run.block_for_prompt(text, working_folder(), terminal.say)
    if answer is None:
        raise typer.Exit(EXIT_NOTHING_FOUND)
    if as_json:
        terminal.raw(dry_run.block_to_json(answer))
    else:
        terminal.verbatim(answer.text)
