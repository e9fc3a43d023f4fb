"""`subcog why`: what the hook decided for a prompt, and why; and the user's word that a memory was wrong there."""

import json
import os
from typing import Annotated

import typer

from subcog_hooks.cli.support import completion, decisions, hidden, remedies, session
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.cli.support.remedies import Remedy, Rerun
from subcog_hooks.errors import EXIT_NOTHING_FOUND, NoMemory, SubcogError, UsageError
from subcog_hooks.hooks.payload import PROMPT_EVENT, START_EVENT, TOOL_EVENT
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import Memory, now_ms
from subcog_hooks.memory.store import Filter, Mark, Store, audiences_of
from subcog_hooks.recall import marks
from subcog_hooks.state import cut_offs, decision_log, ledger, silent_calls
from subcog_hooks.state.connection import State
from subcog_hooks.state.cut_offs import CutOff
from subcog_hooks.state.decision import GIVEN, INJECTED, Decision
from subcog_hooks.state.decision_log import MAX_DECISIONS
from subcog_hooks.text.typed import asked_in

LISTED = 20
_ONLY_PROMPTS = "a memory is missed at a prompt; `subcog why --list` shows them"


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
    as_json: Annotated[bool, typer.Option("--json", help="Print all that is kept of it as one JSON object.")] = False,
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
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how the relevance of the best memories was worked out, to be recomputed.")
    ] = False,
    missed: Annotated[
        str | None,
        typer.Option(
            "--missed",
            metavar="ID",
            help="Say what kept this memory away from the prompt, and try what would make it come.",
            autocompletion=completion.ids,
        ),
    ] = None,
    tool: Annotated[
        bool, typer.Option("--tool", help="List the latest tool calls, also those at which the hook was silent.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="With --bad: take that back.")] = False,
) -> None:
    """Show why the hook gave memories to the agent, or why it was silent.

    It shows the latest decision or the one that you name: at a prompt, at a tool's call, or at a session's start. The exit
    code is 1 when there is none.

    Example: subcog why --list
    """
    if undo and bad is None:
        raise UsageError("--undo takes a mark away", "name the memory: --bad MEMORY --undo")
    if bad is not None and (as_json or as_list or limit):
        raise UsageError("--bad shows nothing", "leave --json, --list and --limit out")
    if tool and (decision or as_list or bad or missed or explain):
        raise UsageError("--tool lists tool calls", "give it alone, or with --limit and --json")
    if tool:
        _list_tool_calls(limit or LISTED, as_json=as_json)
        return
    if missed and (as_json or as_list or limit or bad):
        raise UsageError("--missed goes with one decision alone", "leave --json, --list, --limit and --bad out")
    if decision and (as_list or limit):
        raise UsageError("a list is not of one decision", "leave the id out, or --list and --limit")
    if bad is not None:
        _take_back(bad, decision) if undo else _mark(bad, decision)
        return
    with decisions.opened() as state:
        if as_list or limit:
            most = limit or LISTED
            _list(decision_log.latest(state, most), cut_offs.read(session.home(), now_ms())[:most], most, as_json=as_json)
            return
        found = decisions.find_prompt(state, decision, _ONLY_PROMPTS) if missed else decisions.find(state, decision)
        before = [candidate.id for candidate in found.candidates if candidate.outcome == GIVEN]
        given = {id_: ledger.decision_of(state, found.session, id_) for id_ in before}
        if as_json:
            terminal.raw(json.dumps(decisions.described(found), indent=1) + "\n")
            return
        with session.reading() as store:
            if missed:
                _tell_missed(missed, found, state, store)
            else:
                terminal.page(decisions.view(found, _shown_of(found, given, state, store, is_explained=explain)))
            _tell_hidden(found, store)


def _tell_hidden(decision: Decision, store: Store | None) -> None:
    """Say which memories would have matched the prompt of a decision, if they still held."""
    if store is None or not decision.prompt:
        return
    scope = Filter(audiences=audiences_of(*filter(None, [decision.project])))
    if lost := hidden.matching(asked_in(decision.prompt), scope, store, session.index_of(store)):
        terminal.say(hidden.told(lost))


def _list_tool_calls(limit: int, *, as_json: bool) -> None:
    """List the latest tool calls, spoken and silent, the newest first."""
    home = session.home()
    silent = silent_calls.latest(home, limit)
    spoken = []
    if os.path.exists(home.state_db):
        with decisions.opened() as state:
            spoken = decision_log.latest(state, limit, event=TOOL_EVENT)
    if as_json:
        rows = [{"at": call.at, "tool": call.tool, "about": call.about, "given": call.given} for call in silent]
        known = {"silent": rows, "decisions": [decisions.described(one) for one in spoken]}
        terminal.raw(json.dumps(known, indent=1) + "\n")
    else:
        lines = [(call.at, decisions.silent_line(call)) for call in silent]
        lines += [(one.at, decisions.line(one)) for one in spoken]
        for _, line in sorted(lines, reverse=True)[:limit]:
            terminal.result(line)
    if not silent and not spoken:
        terminal.say("no tool calls" if session.settings()["surfacing.log_prompts"] else "surfacing.log_prompts is false")
        raise typer.Exit(EXIT_NOTHING_FOUND)


# ---- what would help ------------------------------------------------------------------------------------------------------


def _shown_of(
    decision: Decision, given: dict[str, str], state: State, store: Store | None, *, is_explained: bool
) -> decisions.Shown:
    """Return what there is to say of a decision: the words of its prompt, and what would have made the best memory come."""
    if store is None:
        return decisions.Shown({}, given, is_explained=is_explained)
    memories = store.by_ids([candidate.id for candidate in decision.candidates])
    live = {id_: memory for id_, memory in memories.items() if memory.status != "deleted"}
    if decision.prompt is None:
        return decisions.Shown(memories, given, is_explained=is_explained)
    index = session.index_of(store)
    words = {id_: remedies.words_of(decision, memory, index) for id_, memory in live.items()}
    helped: dict[str, list[Remedy]] = {}
    nearest = decisions.nearly_given(decision)
    if nearest and nearest.id in live:
        helped = {nearest.id: _tried(decision, live[nearest.id], state, index)}
    return decisions.Shown(memories, given, words, {id_: found for id_, found in helped.items() if found}, is_explained)


def _tried(decision: Decision, memory: Memory, state: State, index: LexicalIndex) -> list[Remedy]:
    """Return what makes a memory come, nothing where that can not be tried."""
    rerun = Rerun(decision, decisions.given_before(state, decision), state)
    try:
        return remedies.tried(rerun, decision, memory, index)
    except (SubcogError, OSError) as error:
        terminal.say(f"what would help could not be tried ({error})")
        return []


def _tell_missed(id_: str, decision: Decision, state: State, store: Store | None) -> None:
    """Say what kept a memory away from the prompt of a decision, and what would make it come. Raises SubcogError."""
    if decision.prompt is None:
        raise UsageError(f"the prompt of {decision.id} was not kept, so it can not be asked again", decisions.why_not_kept())
    if store is None:
        raise NoMemory(f"no memory has the id {safe(id_)[:80]}", "nothing has been remembered yet")
    memory = session.find(store, id_)
    index = session.index_of(store)
    rerun = Rerun(decision, decisions.given_before(state, decision), state)
    now = rerun.decide(session.home())
    candidate = remedies.candidate_of(now, memory.id)
    is_there = candidate is not None and candidate.outcome == INJECTED
    found = remedies.tried(rerun, decision, memory, index) if decisions.may_come(candidate) and not is_there else None
    terminal.page(decisions.missed_view(decision, now, memory, remedies.words_of(decision, memory, index), found))


def _list(found: list[Decision], cut_off: list[CutOff], most: int, *, as_json: bool) -> None:
    """List the latest runs, the newest first, also those that were cut off before they could be recorded."""
    if as_json:
        rows = [(one.at, decisions.described(one)) for one in found]
        rows += [(one.at, {"id": None, "at": one.at, "event": one.event, "outcome": "cut_off"}) for one in cut_off]
        latest = sorted(rows, key=lambda row: -row[0])[:most] if cut_off else rows
        terminal.raw(json.dumps([row for _, row in latest], indent=1) + "\n")
    else:
        lines = [(one.at, decisions.line(one)) for one in found]
        lines += [(one.at, decisions.cut_off_line(one)) for one in cut_off]
        for _, line in sorted(lines, key=lambda line: -line[0])[:most] if cut_off else lines:
            terminal.result(line)
    if not found and not cut_off:
        terminal.say("no decisions")
        raise typer.Exit(EXIT_NOTHING_FOUND)


# ---- marks ----------------------------------------------------------------------------------------------------------------


def _mark(id_: str, decision: str | None) -> None:
    """Mark a memory as wrong for the prompt of a decision. Raises NoDecision, NoMemory, UsageError."""
    with decisions.opened() as state:
        found = _meant(state, id_, decision)
    if found.event != PROMPT_EVENT:
        raise UsageError(
            f"{found.id} was {decisions.occasion_of(found)}, and no prompt that others could be like", _instead(found, id_)
        )
    if found.prompt is None:
        raise UsageError(
            f"the prompt of {found.id} was not kept, so nothing can be like it",
            decisions.why_not_kept(),
        )
    _require_store(id_)
    with session.writing() as store:
        memory = session.find(store, id_)
        if memory.status == "deleted":
            raise UsageError(f"{memory.id} is forgotten", "it is not handed over any more")
        asked = _terms(found, store)
        if not asked:
            raise UsageError(f"the prompt of {found.id} has no words to know it by", "nothing was marked")
        store.mark(Mark(memory.seq, found.id, marks.to_text(asked), now_ms()))
    if memory.id not in [candidate.id for candidate in found.candidates]:
        terminal.say(f"{memory.id} was not among what was found there")
    terminal.say(f"marked as wrong for prompts like {decisions.prompt_of(found, decisions.WORDS)!r}: {_shown(memory)}")
    terminal.say(f"`subcog why --bad {memory.id} {found.id} --undo` takes it back")


def _meant(state: State, id_: str, decision: str | None) -> Decision:
    """Return the decision where a memory was wrong: the one that is named, else the latest prompt.

    A later event at which the memory was handed over goes before that prompt. Raises NoDecision, UsageError.
    """
    if decision:
        return decisions.find(state, decision)
    for one in decision_log.latest(state, MAX_DECISIONS):
        if one.event == PROMPT_EVENT or (id_ and any(given.startswith(id_) for given in one.injected)):
            return one
    return decisions.find_prompt(state, None, "")


def _instead(decision: Decision, id_: str) -> str:
    """Return what helps where a mark does not."""
    means = "priority and conditions" if decision.event == START_EVENT else "paths and triggers"
    return f"`subcog edit {safe(id_)[:80]}` changes its {means}"


def _take_back(id_: str, decision: str | None) -> None:
    """Take away the marks of a memory that were made for a prompt, or for one like it. Raises NoDecision, NoMemory, UsageError.

    Of a decision that is no longer kept the mark itself is known by its id.
    """
    _require_store(id_)
    with session.writing() as store:
        memory = session.find(store, id_)
        made = store.marks([memory.seq])
        if not made:
            raise UsageError(f"{memory.id} is not marked", "`subcog why --bad MEMORY` marks one")
        gone = _choose_marks(store, made, decision)
        if not gone:
            raise UsageError(f"{memory.id} is not marked for that prompt", f"it is for those of {_ids(made)}: name one of them")
        store.unmark(memory.seq, [mark.decision for mark in gone])
    terminal.say(f"no longer marked as wrong ({', '.join(mark.decision for mark in gone)}): {_shown(memory)}")


def _choose_marks(store: Store, made: list[Mark], decision: str | None) -> list[Mark]:
    """Return the marks made for the prompt of a decision; where there are none, those that lower the memory for it."""
    named = [mark for mark in made if decision and mark.decision.startswith(decision)]
    if len({mark.decision for mark in named}) == 1:
        return named
    with decisions.opened() as state:
        found = decisions.find_prompt(state, decision, f"it is marked for those of {_ids(made)}: name one of them")
    asked = _terms(found, store)
    left = {mark.decision: marks.factor(marks.overlap(asked, marks.from_text(mark.terms))) for mark in made}
    of_it = [mark for mark in made if mark.decision == found.id or not left[mark.decision]]
    return of_it or [mark for mark in made if left[mark.decision] < 1.0]


def _ids(made: list[Mark]) -> str:
    return ", ".join(dict.fromkeys(mark.decision for mark in made))


def _terms(decision: Decision, store: Store) -> dict[str, float]:
    """Return what was asked there: a prompt that goes on from the one before is known by what it borrowed, too."""
    if decision.prompt is None:
        return {}
    return marks.terms("\n".join((asked_in(decision.prompt), *decision.borrowed)), session.index_of(store))


def _require_store(id_: str) -> None:
    if not session.has_store(session.home()):
        raise NoMemory(f"no memory has the id {safe(id_)[:80]}", "nothing has been remembered yet")


def _shown(memory: Memory) -> str:
    return f"{memory.id} {safe(memory.content)[:80]}"
