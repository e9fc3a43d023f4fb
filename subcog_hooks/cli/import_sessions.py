"""`subcog import --from sessions`, and the same at rest: makes the past sessions of the agents on this machine searchable."""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress

from subcog_hooks.cli import amendment, embedding
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.terminal import context, output
from subcog_hooks.cli.terminal.output import pluralize, terminal
from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ModelError, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.episodes import episode_store
from subcog_hooks.episodes.episode_store import EpisodeStore
from subcog_hooks.episodes.reading import ReadingReport, SessionReader, find_gone
from subcog_hooks.learn.transcript_files import TranscriptFile
from subcog_hooks.settings.defaults import KEPT_SESSIONS, NOT_READ, WITH_TRANSCRIPT
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.vector_reader import ExtensionMissing
from subcog_hooks.store.vector_store import remove_file

SESSIONS = "sessions"  # the value of `--from`


def import_sessions(folder: str | None, *, wait: bool) -> int:
    """Read all sessions that are over, until words find them. Return the exit code. Raises SubcogError.

    folder: of transcripts, None for all of the agents'; wait: until meaning finds them, too.
    """
    transcripts, running = learning_runs.find_idle_transcripts(folder, None)
    with EpisodeStore.writer(context.home()) as store:
        report = read_with_progress(store, transcripts)
        total = sum(store.counts().values())
        if wait:
            embedding.embed_now(store)
    learning_runs.print_problems(report.problems)
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
        report = _read(store, newest_first, advance)
    _follow(store)
    return report


def _read(
    store: EpisodeStore, transcripts: Sequence[TranscriptFile], advance: Callable[[int], None], pace: Pace = FULL_PACE
) -> ReadingReport:
    return SessionReader(store, learning_runs.names_in(learning_runs.LEFT_OUT)).read(transcripts, advance, pace)


def _follow(store: EpisodeStore) -> None:
    context.index_of(store)
    with suppress(ExtensionMissing, ModelError, StoreError):
        context.vectors_of(store, PACKAGED).close()


def follow_in_background(home: Home, pace: Pace) -> str:
    """Erase expired episodes, and read new sessions if the person agreed. Return a summary, "" for none. Raises SubcogError."""
    keep, now = str(context.settings()[KEPT_SESSIONS]), now_ms()
    if keep == NOT_READ and not episode_store.exists(home):
        return ""
    with EpisodeStore.writer(home) as store:
        kept_ms = 0 if keep in (NOT_READ, WITH_TRANSCRIPT) else now - learning_runs.time_of_age(keep, now)
        gone = find_gone(store, kept_ms, now)
        if gone:
            amendment.erase(store, list(store.by_ids(gone).values()))
            store.may_come_again(gone)
        report = ReadingReport()
        if keep != NOT_READ:
            transcripts, _ = learning_runs.find_idle_transcripts(
                None, None, lambda error: log.write_line(home, f"past sessions: {error}")
            )
            report = _read(store, transcripts, lambda _: None, pace)
            _follow(store)
    for problem in report.problems[: learning_runs.MAX_SHOWN_FAULTS]:
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
