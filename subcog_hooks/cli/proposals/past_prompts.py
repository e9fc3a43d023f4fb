"""`subcog report --past`: the hook's decisions for the prompts that you typed so far."""

import os
from collections.abc import Sequence

import typer

from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.proposals import audit_view, auditing
from subcog_hooks.cli.proposals import learning_runs as sessions
from subcog_hooks.cli.proposals.auditing import Audit, GrowingStore, ReplayStore
from subcog_hooks.cli.proposals.note_origins import NoteOrigins
from subcog_hooks.cli.support import author, context, progress
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.cli.support.page import write_page
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, NoMemory
from subcog_hooks.learn import learning, transcript, transcript_files
from subcog_hooks.learn.signs import TypedTurn
from subcog_hooks.learn.transcript_files import SessionFolders, TranscriptFile
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store_reader import Filter, audiences_of

AGAINST_STORE, AGAINST_PROPOSALS = "store", "learned"


def report_past(
    transcripts: str | None, since: str | None, html: str | None, *, learned: bool, as_json: bool, as_user: bool
) -> None:
    """Replay the past prompts, and show the memories that the hook would have added. No record is kept.

    transcripts: a folder instead of all known ones; since: an age; learned: against the proposals that `learn` would have made
    by then, not against the store. The prompt that a memory comes from does not count.

    Raises NoMemory, UsageError, and typer.Exit where there are no prompts.
    """
    if author.is_agent() and not as_user:
        raise author.needs_consent("it reads what the person typed in all sessions")
    since_ms = sessions.time_of_age(since, now_ms())
    left_out = sessions.excluded_names()
    if not learned and not context.has_store(context.home()):
        raise NoMemory("there are no memories to replay against", "--learned replays against what `learn` would propose")
    all_files = sessions.find_all_transcripts(transcripts)
    recent_files = [file for file in all_files if file.latest >= since_ms]
    wants_history = transcripts is None and sessions.CLAUDE not in sessions.excluded_clients()
    history_file = transcript_files.history_path(claude_notes.config_folder()) if wants_history else ""
    _announce_sources(all_files if learned else recent_files, transcripts or sessions.clients_folder(), history_file)
    turns, damaged = _read_typed_turns(recent_files, history_file, since_ms)
    if not turns:
        terminal.say("nothing was typed in these sessions")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    result = _replay_against_proposals(turns, all_files, left_out) if learned else _replay_against_store(turns, left_out)
    if damaged:
        terminal.say(f"{pluralize(damaged, 'row')} cannot be read, and were skipped")
    if result.left_out:
        terminal.say(f"left out {pluralize(result.left_out, 'prompt')}, by {sessions.LEFT_OUT}")
    if html is not None:
        about = "What you typed so far, replayed against " + (
            "what `subcog learn` would have proposed by then, had you kept all of it." if learned else "the memories of today."
        )
        write_page(audit_view.page_of(result, about), html)
    if as_json:
        terminal.json(audit_view.audit_fields(result, AGAINST_PROPOSALS if learned else AGAINST_STORE), indent=1)
    elif html is None:
        terminal.page(audit_view.audit_view(result))


def _announce_sources(files: Sequence[TranscriptFile], folder: str, history_file: str) -> None:
    sessions.print_reading(files, 0, folder)
    if history_file and os.path.isfile(history_file):
        terminal.say(
            f"{'and' if files else 'reading'} the list of your prompts, {safe(history_file)}, "
            f"{os.path.getsize(history_file) / 1e6:,.1f} MB"
        )


def _read_typed_turns(files: Sequence[TranscriptFile], history_file: str, since_ms: int) -> tuple[list[TypedTurn], int]:
    """Return the turns typed at `since_ms` or later, the oldest first, each once for all forks; and the number of bad rows."""
    turns: dict[tuple[object, str], TypedTurn] = {}
    damaged = 0
    with progress.track_items("reading", sum(file.size for file in files)) as advance:
        for file in files:
            offset, has_more = 0, True
            while has_more:
                try:
                    reading = transcript.read_transcript(file.path, offset)
                except OSError as error:
                    terminal.say(f"{safe(file.path)} cannot be read: {error.strerror}")
                    break
                except Exception as error:  # noqa: BLE001 - one file must not cost the others; it is named
                    terminal.say(f"{safe(file.path)} cannot be read: an internal error: {type(error).__name__}: {error}")
                    break
                damaged += reading.damaged
                for turn in reading.turns:
                    turns.setdefault((turn.at_ms or turn.uuid or (file.path, turn.offset), turn.text), turn)
                offset, has_more = reading.end, reading.has_more
            advance(file.size)
    typed = list(turns.values())
    if history_file and os.path.isfile(history_file):
        try:
            rows, damaged_rows = transcript_files.read_history(history_file)
        except OSError as error:
            terminal.say(f"{safe(history_file)} cannot be read: {error.strerror}")
        else:
            typed += transcript_files.drop_read_prompts(rows, typed)
            damaged += damaged_rows
    recent = [turn for turn in typed if turn.at_ms >= since_ms]
    return sorted(recent, key=lambda turn: (turn.at_ms, turn.offset)), damaged


def _replay_against_store(turns: Sequence[TypedTurn], left_out: Sequence[str]) -> Audit:
    places = SessionFolders(left_out)
    with context.reading() as store:
        if store is not None:
            context.index_of(store)  # a hook without an index is silent
            names = {name for turn in turns if (project := places.included_project_of(turn.folder)) for name in project.names}
            memories = {memory.id: memory for memory in store.select(Filter(audiences=audiences_of(*sorted(names))))}
    return _replay_turns(turns, ReplayStore(context.home()), memories, places)


def _replay_against_proposals(turns: Sequence[TypedTurn], files: Sequence[TranscriptFile], left_out: Sequence[str]) -> Audit:
    places = SessionFolders(left_out)
    options = sessions.options_of_settings(None, dry_run=True)
    with progress.track_items("learning", sum(file.size for file in files)) as advance:
        proposed = learning.learn(files, None, None, options, advance).proposed
    with auditing.scratch_home() as home:
        shelf = GrowingStore(home, proposed, places)
        memories = {
            proposal.id: proposal.row(places.root_of(proposal.turn.folder), proposal.turn.at_ms).memory for proposal in proposed
        }
        return _replay_turns(turns, shelf, memories, places)


def _replay_turns(turns: Sequence[TypedTurn], shelf: ReplayStore, memories: dict[str, Memory], places: SessionFolders) -> Audit:
    submitted = [turn for turn in turns if turn.kind in auditing.SUBMITTED]
    with auditing.scratch_home() as scratch, progress.track_items("replaying", len(submitted)) as advance:
        origins = NoteOrigins(memories.values())
        prompts, left_out = auditing.replay_all(submitted, shelf, origins, scratch, places, advance)
    return Audit(
        prompts, memories, auditing.find_repeated_questions(prompts), auditing.find_repeated_statements(turns, places), left_out
    )
