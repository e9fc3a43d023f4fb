"""`subcog learn`: what you typed in sessions becomes memories that wait for your word."""

from collections.abc import Sequence
from typing import Annotated

import typer

from subcog_hooks.cli.proposals import asking, learning_runs
from subcog_hooks.cli.support import author, context, embedding, progress
from subcog_hooks.cli.support.erasure import erase
from subcog_hooks.cli.support.output import ACCENT, DIM, counted, day, safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ProviderError, UsageError
from subcog_hooks.learn import learning as sessions
from subcog_hooks.learn.fixes import FixProposal
from subcog_hooks.learn.proposals import Proposal, WrittenProposal, is_from_session
from subcog_hooks.learn.storing import LearningOptions
from subcog_hooks.learn.transcript_files import TranscriptFile
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import LLM_LEARNS
from subcog_hooks.store import learned
from subcog_hooks.store.memory import STATUSES
from subcog_hooks.store.state import State


def register(app: typer.Typer) -> None:
    app.command()(learn)


def learn(
    transcripts: Annotated[
        str | None,
        typer.Option("--transcripts", metavar="DIR", help="Read the transcripts in this folder, not all of Claude Code's."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--session", metavar="FILE", help="Read this transcript alone, also of a session that goes on."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="AGE", help="Only prompts of the last 30d, 8w, 6m or 1y.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the proposals, and store nothing.")] = False,
    asks: Annotated[
        bool | None,
        typer.Option("--llm/--no-llm", help="Ask the model of `llm.at_rest`, too; without either, as `llm.learn` says."),
    ] = None,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="Print the proposals as JSON, a line each.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Erase all memories from sessions, kept or not.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Forget without a question.")] = False,
    as_user: Annotated[bool, typer.Option("--as-user", help=author.AS_USER_HELP)] = False,
) -> None:
    """Propose memories from your prompts in Claude Code's sessions, in your own words.

    All is read on this machine, and only the proposals are kept. They wait for `subcog review`. A session is read once, and
    goes on where it was. `capture.sessions_except` leaves out projects and folders. With `--llm` a language model is sent
    your prompts, a call a session. Its proposals have to quote you. A command that failed, and worked in another form in
    two sessions of a project, is proposed too.

    Example: subcog learn --dry-run --since 30d
    """
    if author.is_agent() and not as_user:
        raise author.needs_consent("it reads what the person typed in all sessions")
    if forget:
        if transcripts or file or since or dry_run or as_jsonl or asks is not None:
            raise UsageError("--forget takes back all that came from sessions", "give it alone")
        _forget(is_sure=yes)
        return
    if transcripts and file:
        raise UsageError("--transcripts and --session exclude each other", "give one of them")
    options = learning_runs.options(since, dry_run=dry_run)
    provider = _model_to_ask(asks)
    found, waiting = learning_runs.found(transcripts, file)
    if file is None:
        found = [one for one in found if one.latest >= options.since]  # nothing in the others is as new
    learning_runs.tell_what_is_read(found, waiting, transcripts or learning_runs.clients_folder())
    with learning_runs.opened(dry_run=dry_run) as (store, state):
        with progress.of_items("reading", sum(one.size for one in found)) as advance:
            report = sessions.learn(found, store, state, options, advance)
        proposed: list[Proposal | FixProposal] = [*report.proposed, *report.fixes]
        if proposed and store and not dry_run:
            context.follow(store)
        if state and not dry_run:
            learned.note_counted(state, 0)  # it is to be counted anew
            if not (transcripts or file or since):
                learned.note_learnable(state, 0)  # all that there was is proposed
    for one in proposed:
        _print(one, as_jsonl=as_jsonl)
    learning_runs.tell(report, dry_run=dry_run)
    written = _ask_model(found, provider, options, as_jsonl=as_jsonl) if provider else []
    if (proposed or written) and not dry_run:
        terminal.say("they wait for `subcog review`; none is given to the agent before you say yes")
        embedding.afterwards()


def _model_to_ask(asks: bool | None) -> Provider | None:
    """Return the model that is asked, None for none. Raises ProviderError where it is to be asked and nobody has chosen one."""
    settings = context.settings()
    if asks is False or (asks is None and not settings[LLM_LEARNS]):
        return None
    provider = providers.background_provider(settings, context.home())
    if provider is None and asks:
        raise ProviderError("llm.at_rest is none", "choose who is asked: subcog config set llm.at_rest claude")
    if provider is None:
        terminal.say(f"{LLM_LEARNS} is true, but llm.at_rest is none: no model is asked")
    return provider


def _ask_model(
    found: Sequence[TranscriptFile], provider: Provider, options: LearningOptions, *, as_jsonl: bool
) -> list[WrittenProposal]:
    """Ask a model about the sessions, print what it proposes, and return that. Raises ProviderError, StoreError."""
    asking.disclose(provider, found)
    with progress.of_items("asking", sum(one.size for one in found)) as advance:
        report = asking.ask(found, provider, options, progress=advance)
    for one in report.proposed:
        _print(one, as_jsonl=as_jsonl)
    asking.tell(report, dry_run=options.dry_run)
    return report.proposed


def _print(one: Proposal | FixProposal, *, as_jsonl: bool) -> None:
    if as_jsonl:
        terminal.json(one.line())
        return
    if isinstance(one, FixProposal):
        often = f"{one.kind} for {safe(one.owner)}  shown by {len(one.seen)} sessions since {day(one.since)}  "
        terminal.pieces(("     ", ACCENT), (often, DIM), (safe(one.text), ""))
        return
    if isinstance(one, WrittenProposal):
        quoted = ("  of: ", DIM), (safe(one.quote), DIM)
        terminal.pieces((f"{safe(one.by)} ", ACCENT), (f"{one.kind}  ", DIM), (safe(one.worth.text), ""), *quoted)
        return
    often = f"said {one.sessions} times since {day(one.since)}  " if one.sessions > 1 else ""
    whose = f"{one.kind} for {safe(one.owner)}  " if one.owner and one.scope == "project" else f"{one.kind}  "
    terminal.pieces((f"{one.certainty:.2f} ", ACCENT), (f"{whose}{often}", DIM), (safe(one.worth.text), ""))


def _forget(*, is_sure: bool) -> None:
    """Erase what came from sessions. Raises UsageError where nobody can be asked, typer.Exit where nothing came."""
    home = context.home()
    with context.writing() as store:
        gone = [memory for memory in store.all(STATUSES) if is_from_session(memory)]
        kept = sum(memory.status == "active" for memory in gone)
        if kept and not is_sure:
            if not terminal.interactive:
                raise UsageError(f"{counted(kept, 'memory', 'memories')} that you kept would be erased too", "give --yes")
            if not typer.confirm(f"Erase {len(gone)}, of which you kept {kept}? They can not be brought back.", err=True):
                terminal.say("nothing was erased")
                raise typer.Exit(EXIT_NOTHING_FOUND)
        state = State.open(home, learning_runs.STATE_BUSY_MS)
        try:
            learned.forget_all(state)
            learned.note_learnable(state, 0)
        finally:
            state.close()
        if not gone:
            terminal.say("nothing came from sessions")
            raise typer.Exit(EXIT_NOTHING_FOUND)
        erase(store, gone)
    terminal.say(f"erased {counted(len(gone), 'memory', 'memories')} that came from sessions")
