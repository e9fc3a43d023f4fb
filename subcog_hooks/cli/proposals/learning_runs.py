"""Sessions that are over: found for `subcog learn`, learned from in the background, and read into the past sessions."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from subcog_hooks.cli import amendment, embedding
from subcog_hooks.cli.agents import claude_code
from subcog_hooks.cli.terminal import context, output
from subcog_hooks.cli.terminal.output import day, pluralize, redact_line, safe, terminal
from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ConfigError, ModelError, StoreError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.episodes import episode_store
from subcog_hooks.episodes.episode_store import EpisodeStore
from subcog_hooks.episodes.reading import ReadingReport, SessionReader, find_gone
from subcog_hooks.learn import learning as sessions
from subcog_hooks.learn import transcript, transcript_files
from subcog_hooks.learn.proposals import LearningOptions, LearningReport, is_from_session
from subcog_hooks.learn.transcript_files import LEARNED_CLIENTS, TranscriptFile
from subcog_hooks.learn.turn_scores import TypedTurn
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.settings.defaults import KEPT_SESSIONS, NOT_READ, WITH_TRANSCRIPT
from subcog_hooks.settings.sources import is_ambiguous_name
from subcog_hooks.store import learned
from subcog_hooks.store.learned import ProposalRecord
from subcog_hooks.store.memory import SESSION_SOURCE, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import ExtensionMissing
from subcog_hooks.store.vector_store import remove_file

LEFT_OUT = "capture.sessions_except"
CLIENTS_LEFT_OUT, CLAUDE = "capture.clients_except", "claude"
DAY_MS = 86_400_000
MAX_SHOWN_FAULTS = 20
MAX_CALL_CHARS, MAX_TURN_CHARS = 120, 500
_AGES = {"h": DAY_MS // 24, "d": DAY_MS, "w": 7 * DAY_MS, "m": 30 * DAY_MS, "y": 365 * DAY_MS}


def _print_unreadable(error: OSError) -> None:
    terminal.complain(f"subcog: {safe(str(error.filename))} cannot be read: {error.strerror}")


def find_idle_transcripts(
    folder: str | None, file: str | None, report_error: Callable[[OSError], None] = _print_unreadable
) -> tuple[list[TranscriptFile], int]:
    """Return the transcripts to read, and the number of sessions that are not over yet. Raises UsageError, ConfigError.

    folder: of transcripts, None for all of the clients'; file: a single transcript; report_error: for what cannot be read.
    """
    if file is not None:
        transcript_file = transcript_files.transcript_at(os.path.abspath(file))
        if transcript_file is None:
            raise UsageError(f"{file!r} is no file", "name a transcript: subcog learn --session FILE")
        return [transcript_file], 0
    if folder is not None:
        if not os.path.isdir(folder):
            raise UsageError(f"{folder!r} is no folder", "name the folder of the transcripts, as --transcripts DIR")
        found_files = transcript_files.find_transcripts(os.path.abspath(folder), report_error)
    else:
        left_out, clients = names_in(CLIENTS_LEFT_OUT), (CLAUDE, *LEARNED_CLIENTS)
        if unknown := next((name for name in left_out if name not in clients), ""):
            raise ConfigError(f"{CLIENTS_LEFT_OUT} has {safe(unknown)!r}", f"the clients are {', '.join(clients)}")
        names = [name for name in LEARNED_CLIENTS if name not in left_out]
        found_files = transcript_files.find_client_transcripts(names, report_error)
        if CLAUDE not in left_out and os.path.isdir(path := clients_folder()):
            found_files += transcript_files.find_transcripts(path, report_error)
        found_files.sort(key=lambda file: (file.changed, file.path))
    now = now_ms()
    # `abs`, as a time in the future comes from a wrong clock.
    idle = [candidate for candidate in found_files if abs(now - candidate.changed) >= transcript_files.IDLE_MS]
    return idle, len(found_files) - len(idle)


def clients_folder() -> str:
    """Return the folder of Claude Code's own transcripts. Raises ConfigError."""
    return os.path.join(claude_code.notes_folder(), "projects")


def time_of_age(text: str | None, now: int) -> int:
    """Return the time that lies an age back, in milliseconds since the epoch; 0 for None. Raises UsageError.

    >>> time_of_age("2w", 14 * DAY_MS), time_of_age(None, 5)
    (0, 0)
    """
    if text is None:
        return 0
    number, unit = text[:-1], text[-1:].lower()
    if not number.isdecimal() or unit not in _AGES or len(number) > 4:
        raise UsageError(f"--since is {text!r}", "give an age, as 12h, 30d, 8w, 6m or 1y")
    return max(0, now - int(number) * _AGES[unit])


def options_of_settings(since: str | None, *, dry_run: bool) -> LearningOptions:
    """Return the options of a run by the settings. Raises UsageError, ConfigError."""
    left_out = names_in(LEFT_OUT)
    for name in left_out:
        if is_ambiguous_name(name):
            hint = "give a folder's whole path, or a project as github.com/acme/shop"
            raise ConfigError(f"{LEFT_OUT} has {safe(name)!r}", hint)
    return LearningOptions(since=time_of_age(since, now_ms()), left_out=left_out, dry_run=dry_run)


def names_in(setting: str) -> list[str]:
    """Return the names that a setting lists, between commas. Raises ConfigError."""
    return [name for part in str(context.settings()[setting]).split(",") if (name := part.strip())]


@contextmanager
def open_store_and_state(*, dry_run: bool) -> Iterator[tuple[Store | None, State | None]]:
    """Yield the store and the state: on a dry run read-only, and None where one does not exist yet."""
    if dry_run:
        with context.existing_state(context.home()) as existing, context.reading() as readable:
            yield readable, existing
        return
    with context.writing() as store, context.open_state() as state:
        yield store, state


def learn_in_background(home: Home, pace: Pace) -> str:
    """Learn from finished sessions and return a summary, "" for nothing new. Raises SubcogError."""
    transcripts, _ = find_idle_transcripts(
        None, None, lambda error: log.write_line(home, f"learning at rest: {error.filename} cannot be read: {error.strerror}")
    )
    if not transcripts:
        return ""
    with context.writing() as store, context.open_state() as state:
        report = sessions.learn(transcripts, store, state, options_of_settings(None, dry_run=False), lambda _: None, pace)
        if report.proposed:
            context.update_index_and_vectors(store)
    for problem in report.problems[:MAX_SHOWN_FAULTS]:
        log.write_line(home, f"learning at rest: {problem}")
    if not report.read:
        return ""
    prompts, read = pluralize(report.turns, "prompt"), pluralize(report.read, "session")
    return f"{len(report.proposed)} proposed, of {prompts} in {read}"


def load_proposal_records() -> dict[str, ProposalRecord]:
    """Return the records of proposals by memory id; none where they are not readable."""
    with suppress(StoreError), context.existing_state(context.home()) as state:
        return learned.find_proposals(state) if state else {}
    return {}


def find_turn(memory: Memory) -> TypedTurn | None:
    """Return the turn of a session that a memory comes from, None for a missing one."""
    path, _, row = memory.source.removeprefix(SESSION_SOURCE).rpartition(":")
    # The source of another program must not be opened as a path.
    offset, has_more = 0, is_from_session(memory) and transcript_files.has_transcript(path)
    with suppress(OSError):
        while has_more:
            reading = transcript.read_transcript(path, offset)
            for turn in reading.turns:
                if row in (turn.uuid, turn.reply_uuid, str(turn.offset)):
                    return turn
            offset, has_more = reading.end, reading.has_more
    return None


def review_notes(memory: Memory, record: ProposalRecord | None) -> list[tuple[str, str]]:
    """Return the facts for a review of a proposal, each with its name: certainty, the call before its turn, turn, answer."""
    lines = []
    if record:
        sessions = pluralize(record.sessions, "session")
        often = f", said in {sessions} since {day(record.since)}" if record.sessions > 1 and record.since else ""
        lines.append(("certainty", f"{record.certainty:.2f}{often}"))
    turn = find_turn(memory)
    if turn is None:
        return lines
    before = turn.before
    if call := " ".join(filter(None, (before.tool, before.path or before.command))):
        outcome = f" ({before.outcome})" if before.outcome else ""
        lines.append(("behind", f"{_redact_and_cut(call, MAX_CALL_CHARS)}{outcome}"))
    if " ".join(turn.text.split()) != memory.content:
        lines.append(("turn", _redact_and_cut(turn.text, MAX_TURN_CHARS)))
    if memory.source.endswith(f":{turn.reply_uuid}"):
        lines.append(("answer", _redact_and_cut(turn.reply, MAX_TURN_CHARS)))
    return lines


def _redact_and_cut(text: str, max_chars: int) -> str:
    return redact_line(text)[:max_chars]


def print_problems(problems: Sequence[str]) -> None:
    """Print the first problems of reading and storing."""
    for problem in problems[:MAX_SHOWN_FAULTS]:
        terminal.complain(f"subcog: {safe(problem)}")
    if len(problems) > MAX_SHOWN_FAULTS:
        terminal.complain(f"subcog: and {len(problems) - MAX_SHOWN_FAULTS} more")


def print_report(report: LearningReport, *, dry_run: bool) -> None:
    """Print the outcome of a run."""
    print_problems(report.problems)
    if report.damaged:
        terminal.say(f"{pluralize(report.damaged, 'row')} cannot be read, and were skipped")
    if report.left_out:
        terminal.say(f"left out {pluralize(report.left_out, 'prompt')}, by {LEFT_OUT}")
    if report.removed:
        terminal.say(describe_removed(report.removed))
    read = f"read {pluralize(report.turns, 'prompt')} of {pluralize(report.read, 'session')}"
    unchanged = f", {report.unchanged} unchanged" if report.unchanged else ""
    kinds = Counter(proposal.kind for proposal in report.proposed)
    kind_counts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    verb = "would propose" if dry_run else "proposed"
    terminal.say(f"{read}{unchanged}; {verb} {kinds.total()}{f' ({kind_counts})' if kind_counts else ''}")


SESSIONS = "sessions"  # the value of `--from`


def import_sessions(folder: str | None, *, wait: bool) -> int:
    """Read all sessions that are over, until words find them. Return the exit code. Raises SubcogError.

    folder: of transcripts, None for all of the agents'; wait: until meaning finds them, too.
    """
    transcripts, running = find_idle_transcripts(folder, None)
    with EpisodeStore.writer(context.home()) as store:
        report = read_with_progress(store, transcripts)
        total = sum(store.counts().values())
        if wait:
            embedding.embed_now(store)
    print_problems(report.problems)
    left = f"; {pluralize(running, 'session')} not idle for three hours yet" if running else ""
    terminal.result(
        f"read {pluralize(report.sessions, 'session')} of {pluralize(len(report.projects), 'project')}, "
        f"{report.unchanged} unchanged{left}: {pluralize(total, 'exchange')} can be searched"
    )
    if not wait:
        embedding.start_background_jobs()
    return 0


def read_with_progress(store: EpisodeStore, transcripts: Sequence[TranscriptFile]) -> ReadingReport:
    """Read transcripts under a bar, the newest first, and let index and provisional vectors follow. Raises StoreError."""
    newest_first = transcripts[::-1]
    with output.track_items("reading sessions", sum(file.size for file in newest_first)) as advance:
        return _read(store, newest_first, advance)


def _read(
    store: EpisodeStore, transcripts: Sequence[TranscriptFile], advance: Callable[[int], None], pace: Pace = FULL_PACE
) -> ReadingReport:
    report = SessionReader(store, names_in(LEFT_OUT)).read(transcripts, advance, pace)
    context.index_of(store)
    with suppress(ExtensionMissing, ModelError, StoreError):
        context.vectors_of(store, PACKAGED).close()
    return report


def follow_in_background(home: Home, pace: Pace) -> str:
    """Erase expired episodes, and read new sessions if the person agreed. Return a summary, "" for none. Raises SubcogError."""
    keep, now = str(context.settings()[KEPT_SESSIONS]), now_ms()
    if keep == NOT_READ and not episode_store.exists(home):
        return ""
    with EpisodeStore.writer(home) as store:
        kept_ms = 0 if keep in (NOT_READ, WITH_TRANSCRIPT) else now - time_of_age(keep, now)
        gone = find_gone(store, kept_ms, now)
        if gone:
            amendment.erase(store, list(store.by_ids(gone).values()))
            store.may_come_again(gone)
        report = ReadingReport()
        if keep != NOT_READ:
            transcripts, _ = find_idle_transcripts(None, None, lambda error: log.write_line(home, f"past sessions: {error}"))
            report = _read(store, transcripts, lambda _: None, pace)
    for problem in report.problems[:MAX_SHOWN_FAULTS]:
        log.write_line(home, f"past sessions: {problem}")
    parts = [f"{pluralize(report.sessions, 'session')} read"] if report.sessions else []
    parts += [f"{pluralize(len(gone), 'exchange')} erased"] if gone else []
    return ", ".join(parts)


def remove_sessions(home: Home) -> bool:
    """Delete all that is kept of past sessions. Return whether there was any. Raises OSError."""
    was_there = episode_store.exists(home)
    remove_file(home.sessions.memories_db)
    shutil.rmtree(home.sessions.index, ignore_errors=True)
    return was_there
