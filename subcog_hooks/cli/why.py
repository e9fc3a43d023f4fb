"""`subcog why`: the hook's decision on a prompt and its reasons; lists of decisions; marks of wrong and missed memories."""

import json
import operator
import re
from typing import Annotated

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from subcog_hooks.cli import intent
from subcog_hooks.cli.command_table import AsJson, AsJsonl, Texts
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import nothing_found, terminal
from subcog_hooks.cli.verdicts import lookup, verdict_view, wrong_and_missed
from subcog_hooks.hook.payload import TOOL_EVENT
from subcog_hooks.store import past_runs, state_values
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.past_runs import CutOff, SilentCall
from subcog_hooks.store.verdicts import GIVEN, PAUSED, RecordedVerdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typer._click import Context, Parameter

END_OF_OPTIONS = "--"
_ID = re.compile(r"[\w-]*", re.ASCII)  # of a decision; any other word is a prompt


class PromptGroup(TyperGroup):
    """A group of commands whose arguments are a prompt, unless the first word names one of its commands."""

    def get_params(self, ctx: "Context") -> "list[Parameter]":
        """Return the parameters; none in the usage line of a command of the group."""
        return super().get_params(ctx) if ctx.command is self else []

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
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
            help="The id of a decision, or its beginning; without it, this project's latest prompt. Or a prompt, to see what "
            "the hook would do: - reads it from standard input, and -- stands before a prompt of one word.",
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
        intent.show_preview(inputs.text_of(words), as_json=as_json, explain=explain)
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


commands.command(name="bad")(wrong_and_missed.mark_bad)
commands.command(name="missed")(wrong_and_missed.mark_missed)


def _run_fields(run: RecordedVerdict | SilentCall | CutOff) -> dict[str, object]:
    if isinstance(run, RecordedVerdict):
        return lookup.verdict_fields(run)
    if isinstance(run, SilentCall):
        return {"at": run.at_ms, "tool": run.tool, "about": run.about, "given": run.given, "lines": run.lines}
    return {"id": None, "at": run.at_ms, "event": run.event, "outcome": "cut_off"}


def _show_verdict(id_: str, *, everywhere: bool, as_json: bool, is_explained: bool) -> None:
    with lookup.open_state() as state:
        selected = lookup.find_verdict(state, id_) if id_ else lookup.find_prompt(state, everywhere=everywhere)
        repeated_ids = [candidate.id for candidate in selected.candidates if candidate.outcome == GIVEN]
        giver_by_id = dict(state.run("SELECT memory, verdict FROM ledger WHERE session = ?", (selected.session,)))
        givers = {memory: giver_by_id.get(memory, "") for memory in repeated_ids}
        look = past_runs.find_second_look(state, selected)
        opened = {memory for memory, verdict in past_runs.find_openings(state) if verdict == selected.id}
        is_still_paused = selected.outcome == PAUSED and state_values.is_paused(state, now_ms())
    if as_json:
        record = {**lookup.verdict_fields(selected), "opened": sorted(opened)}
        if look:
            record["second_look"] = lookup.verdict_fields(look)
        terminal.raw(json.dumps(record, indent=1) + "\n")
        return
    with context.reading() as store:
        data = verdict_view.ViewData(
            memories=store.by_ids([candidate.id for candidate in selected.candidates]) if store else {},
            given={
                memory: giver for memory, giver in givers.items() if giver < selected.id
            },  # A later one is after a compaction.
            is_explained=is_explained,
            look=look,
            opened=opened,
        )
        terminal.page(verdict_view.verdict_view(selected, data))
    if is_still_paused:
        terminal.say("the hook is paused; `subcog resume` ends it")
