"""`subcog audit`: what the hook would have done with the prompts that you typed so far."""

import os
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.proposals import audit_view, auditing
from subcog_hooks.cli.proposals import learning_runs as sessions
from subcog_hooks.cli.proposals.auditing import Audit, GrowingStore, ReplayStore
from subcog_hooks.cli.support import author, context, progress
from subcog_hooks.cli.support.output import counted, safe, terminal
from subcog_hooks.cli.support.page import write_page
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, NoMemory
from subcog_hooks.learn import history, learning, transcript
from subcog_hooks.learn.transcript_files import Places, TranscriptFile
from subcog_hooks.learn.turns import TypedTurn
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import Filter, audiences_of

OF_STORE, OF_LEARNING = "store", "learned"  # what prompts are replayed against


class Typed(NamedTuple):
    """The turns that the person typed, each once, the oldest first. damaged: rows that can not be read."""

    turns: Sequence[TypedTurn]
    damaged: int


def register(app: typer.Typer) -> None:
    app.command()(audit)


def audit(
    transcripts: Annotated[
        str | None,
        typer.Option("--transcripts", metavar="DIR", help="Read the transcripts in this folder, and no list of prompts."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="AGE", help="Only prompts of the last 30d, 8w, 6m or 1y.")
    ] = None,
    learned: Annotated[
        bool,
        typer.Option(
            "--learned", help="Replay against the proposals that `learn` would have made by then, not against the store."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write it as a page that needs nothing else.")
    ] = None,
    as_user: Annotated[bool, typer.Option("--as-user", help=author.AS_USER_HELP)] = False,
) -> None:
    """Replay your past prompts, and show the memories that the hook would have added, how often, and at what cost.

    It reads Claude Code's transcripts and its list of prompts (history.jsonl), on this machine, and decides as the hook does,
    against the memories of today. It also shows memories that never came, and repeated questions and corrections. No record
    is kept. The exit code is 1 when there are no prompts.

    Example: subcog audit --since 30d
    """
    if author.is_agent() and not as_user:
        raise author.needs_consent("it reads what the person typed in all sessions")
    first = sessions.age(since, now_ms())
    left_out = sessions.left_out()
    if not learned and not context.has_store(context.home()):
        raise NoMemory("there are no memories to replay against", "--learned replays against what `learn` would propose")
    every = sessions.found_all(transcripts)
    found = [one for one in every if one.latest >= first]
    listed = history.path_in(claude_notes.config_folder()) if transcripts is None else ""
    _tell_what_is_read(every if learned else found, transcripts or sessions.clients_folder(), listed)
    typed = _read_typed(found, listed, first)
    if not typed.turns:
        terminal.say("nothing was typed in these sessions")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    done = _against_learned(typed.turns, every, left_out) if learned else _against_store(typed.turns, left_out)
    if typed.damaged:
        terminal.say(f"{counted(typed.damaged, 'row')} can not be read, and were skipped")
    if done.left_out:
        terminal.say(f"left out {counted(done.left_out, 'prompt')}, by {sessions.LEFT_OUT}")
    if html is not None:
        about = "What you typed so far, replayed against " + (
            "what `subcog learn` would have proposed by then, had you kept all of it." if learned else "the memories of today."
        )
        write_page(audit_view.page_of(done, about), html)
    if as_json:
        terminal.json(audit_view.described(done, OF_LEARNING if learned else OF_STORE), indent=1)
    elif html is None:
        terminal.page(audit_view.view(done))


def _tell_what_is_read(found: Sequence[TranscriptFile], folder: str, listed: str) -> None:
    """Say, before anything is read, what will be."""
    sessions.tell_what_is_read(found, 0, folder)
    if listed and os.path.isfile(listed):
        terminal.say(
            f"{'and' if found else 'reading'} the list of your prompts, {safe(listed)}, {os.path.getsize(listed) / 1e6:,.1f} MB"
        )


def _read_typed(found: Sequence[TranscriptFile], listed: str, first: int) -> Typed:
    """Return what was typed at `first` or later: of forks of a session once."""
    turns: dict[tuple[object, str], TypedTurn] = {}
    damaged = 0
    with progress.of_items("reading", sum(one.size for one in found)) as advance:
        for file in found:
            at, has_more = 0, True
            while has_more:
                try:
                    reading = transcript.read(file.path, at)
                except OSError as error:
                    terminal.say(f"{safe(file.path)} can not be read: {error.strerror}")
                    break
                except Exception as error:  # noqa: BLE001 - one file must not cost the others; it is told
                    terminal.say(f"{safe(file.path)} can not be read: an internal error: {type(error).__name__}: {error}")
                    break
                damaged += reading.damaged
                for turn in reading.turns:
                    turns.setdefault((turn.at or turn.uuid or (file.path, turn.offset), turn.text), turn)
                at, has_more = reading.end, reading.has_more
            advance(file.size)
    kept = list(turns.values())
    if listed and os.path.isfile(listed):
        try:
            rows, lost = history.read_history(listed)
        except OSError as error:
            terminal.say(f"{safe(listed)} can not be read: {error.strerror}")
        else:
            kept += history.only_new(rows, kept)
            damaged += lost
    return Typed(sorted((one for one in kept if one.at >= first), key=lambda one: (one.at, one.offset)), damaged)


def _against_store(turns: Sequence[TypedTurn], left_out: Sequence[str]) -> Audit:
    """Return what comes of prompts with the memories of today. Raises StoreError."""
    places = Places(left_out)
    with context.reading() as store:
        if store is not None:
            context.index_of(store)  # a hook that finds none is silent
            names = {name for one in turns if (at := places.heard_project_of(one.folder)) for name in at.names}
            memories = {one.id: one for one in store.select(Filter(audiences=audiences_of(*sorted(names))))}
    return _replay(turns, ReplayStore(context.home()), memories, places)


def _against_learned(turns: Sequence[TypedTurn], found: Sequence[TranscriptFile], left_out: Sequence[str]) -> Audit:
    """Return what comes of prompts with what `learn` would have proposed by then, all of it being kept. Raises StoreError."""
    places = Places(left_out)
    options = sessions.options(None, dry_run=True)
    with progress.of_items("learning", sum(one.size for one in found)) as advance:
        proposed = learning.learn(found, None, None, options, advance).proposed
    with auditing.scratch_home() as home:
        shelf = GrowingStore(home, proposed, places)
        memories = {one.id: one.row(places.root_of(one.turn.folder), one.turn.at).memory for one in proposed}
        return _replay(turns, shelf, memories, places)


def _replay(turns: Sequence[TypedTurn], shelf: ReplayStore, memories: dict[str, Memory], places: Places) -> Audit:
    submitted = [one for one in turns if one.kind in auditing.SUBMITTED]
    with auditing.scratch_home() as scratch, progress.of_items("replaying", len(submitted)) as advance:
        prompts, left_out = auditing.replay_all(submitted, shelf, scratch, places, advance)
    return Audit(prompts, memories, auditing.asked_again(prompts), auditing.said_again(turns, places), left_out)
