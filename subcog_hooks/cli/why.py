"""`subcog why`: what the hook decided for a prompt, and why; and the user's word that a memory was wrong there."""

import json
import os
from typing import Annotated

import typer

from subcog_hooks.cli.decisions import decision_view, lookup, remedies, wrong_and_missed
from subcog_hooks.cli.decisions import wrong_and_missed as missed_memory
from subcog_hooks.cli.decisions.remedies import Remedy, Rerun
from subcog_hooks.cli.support import completion, context, results
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, SubcogError, UsageError
from subcog_hooks.hook.payload import TOOL_EVENT
from subcog_hooks.store import decision_log, hook_traces, ledger
from subcog_hooks.store.decision import GIVEN, Decision
from subcog_hooks.store.hook_traces import CutOff
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Filter, Store, audiences_of
from subcog_hooks.text.typed import asked_in

LISTED = 20


def register(app: typer.Typer) -> None:
    app.command()(why)


def why(
    decision: Annotated[
        str | None,
        typer.Argument(
            metavar="DECISION",
            help="The id of a decision, or its beginning; without it, the latest.",
            autocompletion=completion.decisions,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print its whole record as one JSON object.")] = False,
    as_list: Annotated[bool, typer.Option("--list", "-l", help="List the latest decisions, one per line.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", metavar="NUMBER", min=1, max=1000, help=f"How many decisions to list; {LISTED} without it."
        ),
    ] = None,
    bad: Annotated[
        str | None,
        typer.Option(
            "--bad",
            metavar="ID",
            help="Say that this memory did not fit the prompt: it will count less for prompts like it.",
            autocompletion=completion.ids,
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the arithmetic of the best memories' relevance.")] = False,
    missed: Annotated[
        str | None,
        typer.Option(
            "--missed",
            metavar="ID",
            help="Say that this memory was wanted there: the prompt becomes a question that it answers, if that brings it.",
            autocompletion=completion.ids,
        ),
    ] = None,
    tool: Annotated[
        bool, typer.Option("--tool", help="List the latest tool calls, also those at which the hook was silent.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="With --bad or --missed: take it back.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --missed: show why it was rejected and what would bring it. Store nothing.")
    ] = False,
) -> None:
    """Show why the hook gave memories to the agent, or why it was silent.

    It shows the latest decision or another by its id: at a prompt, at a tool's call, or at a session's start. The exit
    code is 1 when there is none.

    Example: subcog why --list
    """
    if undo and bad is None and missed is None:
        raise UsageError("--undo takes a word back", "name the memory: --bad MEMORY --undo, or --missed MEMORY --undo")
    if dry_run and (missed is None or undo):
        raise UsageError("--dry-run goes with --missed", "name the memory: --missed MEMORY --dry-run")
    if bad is not None and (as_json or as_list or limit):
        raise UsageError("--bad shows nothing", "leave --json, --list and --limit out")
    if tool and (decision or as_list or bad or missed or explain):
        raise UsageError("--tool lists tool calls", "give it alone, or with --limit and --json")
    if tool:
        _list_tool_calls(limit or LISTED, as_json=as_json)
        return
    if missed is not None and (as_json or as_list or limit or bad):
        raise UsageError("--missed goes with one decision alone", "leave --json, --list, --limit and --bad out")
    if decision and (as_list or limit):
        raise UsageError("a list is not of one decision", "leave the id out, or --list and --limit")
    if bad is not None:
        wrong_and_missed.unmark_bad(bad, decision) if undo else wrong_and_missed.mark_bad(bad, decision)
        return
    if missed is not None:
        missed_memory.unlearn_missed(missed, decision) if undo else missed_memory.learn_missed(
            missed, decision, dry_run=dry_run
        )
        return
    with lookup.opened() as state:
        if as_list or limit:
            most = limit or LISTED
            _list(
                decision_log.latest(state, most),
                hook_traces.read_cut_offs(context.home(), now_ms())[:most],
                most,
                as_json=as_json,
            )
            return
        found = lookup.find(state, decision)
        before = [candidate.id for candidate in found.candidates if candidate.outcome == GIVEN]
        given = {id_: ledger.decision_of(state, found.session, id_) for id_ in before}
        look = decision_log.second_look_at(state, found)
        opened = ledger.opened_from(state, found.id)
        if as_json:
            told = {**lookup.described(found), "opened": sorted(opened)} | (
                {"second_look": lookup.described(look)} if look else {}
            )
            terminal.raw(json.dumps(told, indent=1) + "\n")
            return
        with context.reading() as store:
            shown = _shown_of(found, given, state, store, is_explained=explain)._replace(look=look, opened=opened)
            terminal.page(decision_view.view(found, shown))
            _tell_hidden(found, store)


def _tell_hidden(decision: Decision, store: Store | None) -> None:
    """Say which memories would have matched the prompt of a decision, if they still held."""
    if store is None or not decision.prompt:
        return
    scope = Filter(audiences=audiences_of(*filter(None, [decision.project])))
    if lost := results.find_hidden(asked_in(decision.prompt), scope, store, context.index_of(store)):
        terminal.say(results.hidden_remark(lost))


def _list_tool_calls(limit: int, *, as_json: bool) -> None:
    """List the latest tool calls, spoken and silent, the newest first."""
    home = context.home()
    silent = hook_traces.latest_silent_calls(home, limit)
    spoken = []
    if os.path.exists(home.state_db):
        with lookup.opened() as state:
            spoken = decision_log.latest(state, limit, event=TOOL_EVENT)
    if as_json:
        rows = [{"at": call.at, "tool": call.tool, "about": call.about, "given": call.given} for call in silent]
        known = {"silent": rows, "decisions": [lookup.described(one) for one in spoken]}
        terminal.raw(json.dumps(known, indent=1) + "\n")
    else:
        lines = [(call.at, lookup.silent_line(call)) for call in silent]
        lines += [(one.at, lookup.line(one)) for one in spoken]
        for _, line in sorted(lines, reverse=True)[:limit]:
            terminal.result(line)
    if not silent and not spoken:
        terminal.say("no tool calls" if context.settings()["surfacing.log_prompts"] else "surfacing.log_prompts is false")
        raise typer.Exit(EXIT_NOTHING_FOUND)


# ---- what would help ------------------------------------------------------------------------------------------------------


def _shown_of(
    decision: Decision, given: dict[str, str], state: State, store: Store | None, *, is_explained: bool
) -> decision_view.Shown:
    """Return what there is to say of a decision: the words of its prompt, and what would have made the best memory come."""
    if store is None:
        return decision_view.Shown({}, given, is_explained=is_explained)
    memories = store.by_ids([candidate.id for candidate in decision.candidates])
    live = {id_: memory for id_, memory in memories.items() if memory.status != "deleted"}
    if decision.prompt is None:
        return decision_view.Shown(memories, given, is_explained=is_explained)
    index = context.index_of(store)
    words = {id_: remedies.words_of(decision, memory, index) for id_, memory in live.items()}
    helped: dict[str, list[Remedy]] = {}
    nearest = lookup.nearly_given(decision)
    if nearest and nearest.id in live:
        helped = {nearest.id: _tried(decision, live[nearest.id], state, index)}
    return decision_view.Shown(memories, given, words, {id_: found for id_, found in helped.items() if found}, is_explained)


def _tried(decision: Decision, memory: Memory, state: State, index: LexicalIndex) -> list[Remedy]:
    """Return what makes a memory come, nothing where that can not be tried."""
    rerun = Rerun(decision, lookup.given_before(state, decision), lookup.place_of(state, decision), state)
    try:
        return remedies.tried(rerun, decision, memory, index)
    except (SubcogError, OSError) as error:
        terminal.say(f"what would help could not be tried ({error})")
        return []


def _list(found: list[Decision], cut_off: list[CutOff], most: int, *, as_json: bool) -> None:
    """List the latest runs, the newest first, also those that were cut off before they could be recorded."""
    if as_json:
        rows = [(one.at, lookup.described(one)) for one in found]
        rows += [(one.at, {"id": None, "at": one.at, "event": one.event, "outcome": "cut_off"}) for one in cut_off]
        latest = sorted(rows, key=lambda row: -row[0])[:most] if cut_off else rows
        terminal.raw(json.dumps([row for _, row in latest], indent=1) + "\n")
    else:
        lines = [(one.at, lookup.line(one)) for one in found]
        lines += [(one.at, lookup.cut_off_line(one)) for one in cut_off]
        for _, line in sorted(lines, key=lambda line: -line[0])[:most] if cut_off else lines:
            terminal.result(line)
    if not found and not cut_off:
        terminal.say("no decisions")
        raise typer.Exit(EXIT_NOTHING_FOUND)
