"""`subcog why`: the hook's decision for a prompt and its reasons; marks of wrong and missed memories."""

import json
import re
from collections.abc import Mapping
from typing import Annotated

from typer import Argument, Option

from subcog_hooks.cli import intent, results
from subcog_hooks.cli.command_table import Texts, id_option
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import nothing_found, terminal
from subcog_hooks.cli.verdicts import lookup, verdict_view, wrong_and_missed
from subcog_hooks.cli.verdicts.lookup import PromptChoice
from subcog_hooks.cli.verdicts.shared_words import Words, compare_words
from subcog_hooks.core.errors import UsageError
from subcog_hooks.hook.payload import TOOL_EVENT
from subcog_hooks.store import past_runs, sessions
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of
from subcog_hooks.store.verdicts import GIVEN, RecordedVerdict
from subcog_hooks.text.typed_prompt import query_text

DEFAULT_LIMIT = 20
_HEEDED = {  # the options of each task
    "a decision": ("an id", "--json", "--explain", "--everywhere"),
    "a prompt": ("--json", "--explain"),
    "--list": ("--json",),
    "--tool": ("--json",),
    "--bad": ("an id", "--everywhere", "--yes", "--undo"),
    "--missed": ("an id", "--everywhere", "--yes", "--undo"),
}
_ID = re.compile(r"[\w-]*")  # of a decision; a prompt has several words, or a sign


def why(
    verdict_or_prompt: Annotated[
        Texts,
        Argument(
            metavar="[DECISION | PROMPT]",
            help="The id of a decision, or its beginning; without it, this project's latest prompt. Or a prompt, to see what "
            "the hook would do; - reads it from standard input.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print its whole record as one JSON object.")] = False,
    as_list: Annotated[bool, Option("--list", "-l", help="List the latest decisions, one per line.")] = False,
    limit: Annotated[
        int | None,
        Option(
            "--limit", "-n", metavar="NUMBER", min=1, max=1000, help=f"How many decisions to list; {DEFAULT_LIMIT} without it."
        ),
    ] = None,
    bad: Annotated[
        str | None, id_option("--bad", "Say that this memory did not fit the prompt: it will count less for prompts like it.")
    ] = None,
    explain: Annotated[bool, Option("--explain", help="Show signals, times, and the arithmetic of relevance.")] = False,
    missed: Annotated[
        str | None,
        id_option(
            "--missed",
            "Say that this memory was wanted there: the prompt becomes a question that it answers, if that brings it.",
        ),
    ] = None,
    tool: Annotated[
        bool, Option("--tool", help="List the latest tool calls, also those at which the hook was silent.")
    ] = False,
    everywhere: Annotated[bool, Option("--everywhere", help="Without an id: the latest prompt of all projects.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="With --bad or --missed: do it without a question.")] = False,
    undo: Annotated[bool, Option("--undo", help="With --bad or --missed: take it back.")] = False,
) -> None:
    """Show why memories were given to the agent, or none.

    It shows the decision on this project's latest prompt, or another by its id. Decisions are made at prompts, tool calls and
    session starts. --bad and --missed ask first, unless you give the id. The exit code is 1 when there is no decision. Given a
    prompt, it shows its intent and what the hook would do: nothing is stored.

    Example: subcog why "how long before they expire are tokens refreshed?"
    """
    words = verdict_or_prompt or []
    is_prompt = words == [inputs.STDIN] or len(words) > 1 or not all(map(_ID.fullmatch, words))
    verdict = None if is_prompt or not words else words[0]
    is_list = as_list or (limit is not None and not tool)
    tasks = {"--bad": bad is not None, "--missed": missed is not None, "--tool": tool, "--list": is_list}
    options = {"an id": bool(verdict), "--json": as_json, "--explain": explain, "--everywhere": everywhere, "--yes": yes}
    options["--undo"] = undo
    _refuse_unheeded({**tasks, "a prompt": is_prompt}, options)
    choice = PromptChoice(verdict, everywhere, is_sure=yes)
    if is_prompt:
        intent.show_preview(inputs.text_of(words), as_json=as_json, explain=explain)
    elif tool:
        _list_tool_calls(limit or DEFAULT_LIMIT, as_json=as_json)
    elif bad is not None:
        (wrong_and_missed.unmark_bad if undo else wrong_and_missed.mark_bad)(bad, choice)
    elif missed is not None:
        (wrong_and_missed.unlearn_missed if undo else wrong_and_missed.learn_missed)(missed, choice)
    elif is_list:
        _list_verdicts(limit or DEFAULT_LIMIT, as_json=as_json)
    else:
        _show_verdict(choice, as_json=as_json, is_explained=explain)


def _refuse_unheeded(tasks: Mapping[str, bool], options: Mapping[str, bool]) -> None:
    inputs.refuse_several(tasks)
    task = next((name for name, is_given in tasks.items() if is_given), "a decision")
    for option, is_given in options.items():
        if is_given and option not in _HEEDED[task]:
            heeding = ", ".join(name for name, heeded in _HEEDED.items() if option in heeded)
            raise UsageError(f"{option} does not go with {task}", f"it goes with {heeding}")


def _list_verdicts(max_verdicts: int, *, as_json: bool) -> None:
    with lookup.open_state() as state:
        past_verdicts = past_runs.find_latest(state, max_verdicts)
    cut_off = past_runs.read_cut_offs(context.home(), now_ms())[:max_verdicts]
    if as_json:
        rows = [(verdict.at_ms, lookup.verdict_fields(verdict)) for verdict in past_verdicts]
        rows += [(cut.at_ms, {"id": None, "at": cut.at_ms, "event": cut.event, "outcome": "cut_off"}) for cut in cut_off]
        latest = sorted(rows, key=lambda row: -row[0])[:max_verdicts] if cut_off else rows
        terminal.raw(json.dumps([row for _, row in latest], indent=1) + "\n")
    else:
        lines = [(verdict.at_ms, lookup.verdict_line(verdict)) for verdict in past_verdicts]
        lines += [(cut.at_ms, lookup.cut_off_line(cut)) for cut in cut_off]
        for _, line in sorted(lines, key=lambda line: -line[0])[:max_verdicts] if cut_off else lines:
            terminal.pieces((line, ""), indent=4)
    if not past_verdicts and not cut_off:
        raise nothing_found("no decisions")


def _show_verdict(choice: PromptChoice, *, as_json: bool, is_explained: bool) -> None:
    with lookup.open_state() as state:
        selected = lookup.find_verdict(state, choice.id) if choice.id else choice.find(state, "")
        repeated_ids = [candidate.id for candidate in selected.candidates if candidate.outcome == GIVEN]
        givers = {id_: sessions.find_giving_verdict(state, selected.session, id_) for id_ in repeated_ids}
        verdict_by_id = {id_: giver if giver < selected.id else "" for id_, giver in givers.items()}  # After a compaction
        look = past_runs.find_second_look(state, selected)
        opened = {id_ for id_, verdict in sessions.find_openings(state) if verdict == selected.id}
        if as_json:
            record = {**lookup.verdict_fields(selected), "opened": sorted(opened)} | (
                {"second_look": lookup.verdict_fields(look)} if look else {}
            )
            terminal.raw(json.dumps(record, indent=1) + "\n")
            return
        with context.reading() as store:
            memories = store.by_ids([candidate.id for candidate in selected.candidates]) if store else {}
            words = _compare_words(selected, memories, store)
            data = verdict_view.ViewData(memories, verdict_by_id, words, is_explained, look, opened)
            terminal.page(verdict_view.verdict_view(selected, data))
            _report_hidden(selected, store)


def _compare_words(verdict: RecordedVerdict, memories: Mapping[str, Memory], store: Store | None) -> dict[str, Words]:
    if store is None or verdict.prompt is None:
        return {}
    index = context.index_of(store)
    return {id_: compare_words(verdict, memory, index) for id_, memory in memories.items() if memory.status != "deleted"}


def _report_hidden(verdict: RecordedVerdict, store: Store | None) -> None:
    if store is None or not verdict.prompt:
        return
    scope = Filter(audiences=audiences_of(*filter(None, [verdict.project])))
    if hidden := results.find_hidden(query_text(verdict.prompt), scope, store, context.index_of(store)):
        terminal.say(results.hidden_remark(hidden))


def _list_tool_calls(limit: int, *, as_json: bool) -> None:
    home = context.home()
    silent = past_runs.find_latest_silent_calls(home, limit)
    with context.existing_state(home, tell=terminal.say) as state:
        spoken = past_runs.find_latest(state, limit, event=TOOL_EVENT) if state else []
    if as_json:
        rows = [
            {"at": call.at_ms, "tool": call.tool, "about": call.about, "given": call.given, "lines": call.lines}
            for call in silent
        ]
        record = {"silent": rows, "decisions": [lookup.verdict_fields(verdict) for verdict in spoken]}
        terminal.raw(json.dumps(record, indent=1) + "\n")
    else:
        lines = [(call.at_ms, lookup.silent_line(call)) for call in silent]
        lines += [(verdict.at_ms, lookup.verdict_line(verdict)) for verdict in spoken]
        for _, line in sorted(lines, reverse=True)[:limit]:
            terminal.pieces((line, ""), indent=4)
    if not silent and not spoken:
        is_logged = context.settings()["surfacing.log_prompts"]
        raise nothing_found("no tool calls" if is_logged else "surfacing.log_prompts is false")
