"""`subcog why`: the hook's decision on a prompt and its reasons; lists of decisions; marks of wrong and missed memories."""

from __future__ import annotations

import json
import operator
import re
from functools import partial
from typing import Annotated

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from subcog_hooks.cli import embedding, preview
from subcog_hooks.cli.commands import AsJson, AsJsonl, Texts
from subcog_hooks.cli.terminal import author, context, inputs
from subcog_hooks.cli.terminal.output import nothing_found, safe, terminal
from subcog_hooks.cli.verdicts import lookup, verdict_view
from subcog_hooks.core.errors import UsageError
from subcog_hooks.hook.payload import PROMPT_EVENT, START_EVENT, TOOL_EVENT
from subcog_hooks.recall import alike
from subcog_hooks.store import past_runs
from subcog_hooks.store.memory import LEARNED, MAX_QUESTIONS, Memory, now_ms
from subcog_hooks.store.past_runs import CutOff, SilentCall
from subcog_hooks.store.state import State, is_paused
from subcog_hooks.store.store_reader import Mark
from subcog_hooks.store.verdicts import MAX_VERDICTS, PAUSED, RecordedVerdict
from subcog_hooks.text.typed_prompt import query_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typer._click import Context, Parameter


END_OF_OPTIONS = "--"
_ID = re.compile(r"[\w-]*", re.ASCII)  # of a decision; any other word is a prompt


class PromptGroup(TyperGroup):
    """A command group that takes its arguments for a prompt or an id unless the first word is a command's name."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters; none in the usage line of a command of the group."""
        return super().get_params(ctx) if ctx.command is self else []

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Pass the words of a command on to it; note in `ctx.meta` whether the words are a prompt for sure."""
        ctx.meta[END_OF_OPTIONS] = END_OF_OPTIONS in args
        options = args[: args.index(END_OF_OPTIONS)] if ctx.meta[END_OF_OPTIONS] else args
        name = next((word for word in options if not word.startswith("-")), "")
        if name not in self.commands:
            return super().parse_args(ctx, args)
        position = args.index(name)
        ctx._protected_args = [name]  # noqa: SLF001 - where a group keeps the name of the command that it calls
        ctx.args = args[:position] + args[position + 1 :]
        return ctx.args


commands = typer.Typer(
    cls=PromptGroup,
    subcommand_metavar="| COMMAND",
    context_settings={"allow_interspersed_args": True},
    help="Show why memories were given to the agent, or none.\n\n"
    "It shows the decision on this project's latest prompt, or another by its id. Decisions are made at prompts, tool calls "
    "and session starts. Given a prompt, it shows its intent and what the hook would do: nothing is stored. The exit code is 1 "
    "when there is no decision.\n\n"
    'Example: subcog why "how long before they expire are tokens refreshed?"',
)


@commands.callback(invoke_without_command=True)
def why(
    call: typer.Context,
    words: Annotated[
        Texts,
        Argument(
            metavar="[ID | PROMPT]",
            help="A decision's id or its beginning; by default, the decision on this project's latest prompt. Or the text "
            "of a prompt, to preview the hook's decision: - reads it from standard input, -- goes before a prompt of one word.",
            autocompletion=lambda: [command.name for command in commands.registered_commands],
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print its whole record as one JSON object.")] = False,
    explain: Annotated[bool, Option("--explain", help="Show signals, times, and the arithmetic of relevance.")] = False,
    everywhere: Annotated[bool, Option("--everywhere", help="Without an id: the latest prompt of all projects.")] = False,
) -> None:
    """Show one decision, or the intent and decision of a prompt."""
    if call.invoked_subcommand is not None:
        return
    words = words or []
    if words and (len(words) > 1 or words == [inputs.STDIN] or call.meta[END_OF_OPTIONS] or not _ID.fullmatch(words[0])):
        inputs.refuse_several({"a prompt": True, "--everywhere": everywhere})
        preview.show_preview(inputs.text_of(words), as_json=as_json, explain=explain)
    else:
        _show_verdict("".join(words), everywhere=everywhere, as_json=as_json, is_explained=explain)


@commands.command(name="list")
def list_(
    tool: Annotated[
        bool, Option("--tool", help="List the latest tool calls, also those at which the hook was silent.")
    ] = False,
    limit: Annotated[int, Option("--limit", "-n", metavar="NUMBER", min=1, max=1000, help="How many to list.")] = 20,
    as_json: AsJson = False,
    as_jsonl: AsJsonl = False,
) -> None:
    """List the latest decisions, one per line. The exit code is 1 when there are none.

    Example: subcog why list -n 5
    """
    home = context.home()
    with context.existing_state(home, tell=terminal.say) if tool else lookup.open_state() as state:
        past_verdicts = past_runs.find_latest(state, limit, event=TOOL_EVENT if tool else None) if state else []
    others = past_runs.find_latest_silent_calls(home, limit) if tool else past_runs.read_cut_offs(home, now_ms())
    runs: list[RecordedVerdict | SilentCall | CutOff] = [*past_verdicts, *others]
    runs = sorted(runs, key=operator.attrgetter("at_ms"), reverse=True)[:limit]
    if not terminal.rows(map(_run_fields, runs), as_json=as_json, as_jsonl=as_jsonl):
        for run in runs:
            terminal.pieces((lookup.run_line(run), ""), indent=4)
    if not runs:
        is_logged = not tool or context.settings()["surfacing.log_prompts"]
        raise nothing_found(f"no {'tool calls' if tool else 'decisions'}" if is_logged else "surfacing.log_prompts is false")


def _run_fields(run: RecordedVerdict | SilentCall | CutOff) -> dict[str, object]:
    if isinstance(run, RecordedVerdict):
        return lookup.verdict_fields(run)
    if isinstance(run, SilentCall):
        return {"at": run.at_ms, "tool": run.tool, "about": run.about, "given": run.given, "lines": run.lines}
    return {"id": None, "at": run.at_ms, "event": run.event, "outcome": "cut_off"}


def _show_verdict(id_: str, *, everywhere: bool, as_json: bool, is_explained: bool) -> None:
    with lookup.open_state() as state:
        selected = lookup.find_verdict(state, id_) if id_ else lookup.find_prompt(state, everywhere=everywhere)
        # A later verdict that has given a memory is one after a compaction.
        sql = "SELECT memory, verdict FROM ledger WHERE session = ? AND verdict < ?"
        givers = dict(state.run(sql, (selected.session, selected.id)))
        look = past_runs.find_second_look(state, selected)
        opened = {memory for memory, verdict in past_runs.find_openings(state) if verdict == selected.id}
        is_still_paused = selected.outcome == PAUSED and is_paused(state, now_ms())
    if as_json:
        record = {**lookup.verdict_fields(selected), "opened": sorted(opened)}
        if look:
            record["second_look"] = lookup.verdict_fields(look)
        terminal.raw(json.dumps(record, indent=1) + "\n")
        return
    with context.reading() as store:
        data = verdict_view.ViewData(
            memories=store.by_ids([candidate.id for candidate in selected.candidates]) if store else {},
            given=givers,
            is_explained=is_explained,
            look=look,
            opened=opened,
        )
        terminal.page(verdict_view.verdict_view(selected, data))
    if is_still_paused:
        terminal.say("the hook is paused; `subcog resume` ends it")


MemoryId = Annotated[str, Argument(metavar="MEMORY", help="The id of the memory, or its beginning.")]
DecisionId = Annotated[
    str, Argument(metavar="DECISION", help="The id of the decision on the prompt; without it, this project's latest prompt.")
]
Undo = Annotated[bool, Option("--undo", help="Take it back: without a decision, at all prompts.")]


@commands.command(name="bad")
def mark_bad(id_: MemoryId, decision: DecisionId = "", undo: Undo = False) -> None:
    """Mark a memory as wrong for a prompt: it counts less for prompts like it.

    Example: subcog why bad 1m7x59
    """
    if undo:
        _unmark(id_, decision)
        return
    if author.is_agent():
        raise UsageError("a mark is the person's word, and this command is run by an agent", "the person runs it")
    with lookup.open_state() as state:
        marked = _find_marked_verdict(state, id_, decision)
    if marked.event != PROMPT_EVENT:
        fields = "priority and conditions" if marked.event == START_EVENT else "paths and triggers"
        fact = f"{marked.id} was {lookup.event_name(marked)}, not a prompt"
        raise UsageError(fact, f"`subcog edit {safe(id_)[:80]}` changes its {fields}")
    if marked.prompt is None:
        fact = f"the prompt of {marked.id} was not kept, so no other prompt can be compared with it"
        raise UsageError(fact, lookup.why_not_stored())
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find_memory(store, id_)
        text = "\n".join((query_text(marked.prompt), *marked.borrowed))
        terms = alike.prompt_terms(text, context.index_of(store))
        if not terms:
            raise UsageError(f"the prompt of {marked.id} has no words to recognise it by", "nothing was marked")
        store.mark(Mark(memory.seq, marked.id, alike.terms_to_text(terms), now_ms()))
    if memory.id not in [candidate.id for candidate in marked.candidates]:
        terminal.say(f"{memory.id} was not among the memories found there")
    prompt = lookup.prompt_text(marked, lookup.MAX_CHARS)
    terminal.say(f"marked as wrong for prompts like {prompt!r}: {lookup.memory_line(memory)}")
    terminal.say(f"`subcog why bad {memory.id} {marked.id} --undo` takes it back")


@commands.command(name="missed")
def mark_missed(id_: MemoryId, decision: DecisionId = "", undo: Undo = False) -> None:
    """Say that a prompt missed a memory: the prompt becomes a question that it answers, if that brings it.

    Example: subcog why missed 1m7x59
    """
    if undo:
        _unlearn(id_, decision)
        return
    with lookup.open_state() as state:
        prompt = lookup.find_prompt(state, decision)
        if prompt.prompt is None:
            raise UsageError(f"the prompt of {prompt.id} was not kept, so it teaches nothing", lookup.why_not_stored())
        with context.reading() as store:
            memory = context.find_memory(store, id_)
            _require_teachable(memory, prompt)
            if store and memory.id in lookup.find_coming([prompt], store)[0]:
                terminal.say(f"{memory.id} comes to that prompt by now; nothing was learned")
                return
        learned = lookup.learn_question(memory, lookup.needs_of(prompt), prompt, state)
    if not learned:
        raise nothing_found(f"no question of that prompt brings {memory.id} and takes no other prompt from a memory")
    terminal.say(f"learned: {learned!r} is a question that {memory.id} answers")
    terminal.say(f"`subcog why missed {memory.id} {prompt.id} --undo` takes it back")
    embedding.start_background_jobs()


def _find_marked_verdict(state: State, id_: str, decision: str) -> RecordedVerdict:
    """Return the verdict where a memory was wrong: the named one, else the latest prompt of the project.

    A later event that handed the memory over takes precedence; for a memory of a second look, the prompt of that look. Raises
    NoVerdict, UsageError.
    """
    if decision:
        return lookup.find_verdict(state, decision)
    for candidate in lookup.keep_own(past_runs.find_latest(state, MAX_VERDICTS)):
        if candidate.event == PROMPT_EVENT or (id_ and any(given.startswith(id_) for given in candidate.injected)):
            return past_runs.find_prompt_of_late_memory(state, candidate, id_) or candidate
    return lookup.find_prompt(state)


def _unmark(id_: str, decision: str) -> None:
    """Remove the marks of a memory: all, or those of one verdict, which may have left the record."""
    context.require_store(id_)
    with context.writing() as store:
        memory = context.find_memory(store, id_)
        verdicts = dict.fromkeys(mark.verdict for mark in store.marks([memory.seq]))
        if not verdicts:
            raise UsageError(f"{memory.id} is not marked", "`subcog why bad MEMORY` marks one")
        removed = [verdict for verdict in verdicts if verdict.startswith(decision)]
        if not removed:
            fact = f"{memory.id} is not marked for {safe(decision)[:80]}"
            raise UsageError(fact, f"it is marked for the prompts of {', '.join(verdicts)}")
        if decision and len(removed) > 1:
            raise context.ambiguous_prefix(decision, removed)
        store.unmark(memory.seq, removed)
    terminal.say(f"no longer marked as wrong ({', '.join(removed)}): {lookup.memory_line(memory)}")


def _require_teachable(memory: Memory, prompt: RecordedVerdict) -> None:
    _require_person(memory)
    fact = ""
    if memory.status != "active":
        fact = f"is {memory.status}"
    elif memory.project and memory.project != prompt.project:
        fact = f"is of the project {safe(memory.project)}"
    elif len(memory.questions) >= MAX_QUESTIONS:
        fact = f"has {MAX_QUESTIONS} questions already"
    if fact:
        raise UsageError(f"{memory.id} {fact}", f"`subcog edit {memory.id}` changes that")


def _require_person(memory: Memory) -> None:
    try:
        author.require_consent([memory], as_user=False)
    except UsageError as error:
        raise UsageError(error.message, "the person runs this command") from None


def _unlearn(id_: str, decision: str) -> None:
    """Remove the learned questions of a memory: all, or those learned from one verdict's prompt."""
    context.require_store(id_)
    needs = None
    if decision:
        with lookup.open_state() as state:
            needs = lookup.needs_of(lookup.find_prompt(state, decision))
    with context.writing() as store:
        memory = context.find_memory(store, id_)
        _require_person(memory)
        learned = [question for question in memory.questions if question.by == LEARNED]
        if not learned:
            raise UsageError(f"{memory.id} has learned no question", "`subcog why missed MEMORY` teaches it one")
        removed = [question for question in learned if needs is None or question.text in needs]
        if not removed:
            hint = f"`subcog edit {memory.id}` shows its questions, and changes them"
            raise UsageError(f"{memory.id} has learned nothing from that prompt", hint)
        store.modify([memory.id], partial(lookup.without_questions, removed=removed))
        context.update_index_and_vectors(store)
    for question in removed:
        terminal.say(f"no longer a question that {memory.id} answers: {question.text!r}")
