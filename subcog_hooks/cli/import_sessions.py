"""`subcog import --from sessions`: makes the past sessions of the agents on this machine searchable."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from subcog_hooks.cli import embedding
from subcog_hooks.cli.proposals.learning_runs import LEFT_OUT, find_idle_transcripts, names_in, print_problems
from subcog_hooks.cli.terminal import context, output
from subcog_hooks.cli.terminal.output import pluralize, terminal
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import StoreError
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.episodes.episode_store import EpisodeStore
from subcog_hooks.episodes.reading import ReadingReport, SessionReader
from subcog_hooks.learn.transcript_files import TranscriptFile
from subcog_hooks.store.vector_reader import ExtensionMissing

SESSIONS = "sessions"  # the value of `--from`


def import_sessions(folder: str | None, *, wait: bool) -> int:
    """Read all sessions that are over, until words find them. Return the exit code. Raises SubcogError.

    folder: of transcripts, None for all of the agents'; wait: until meaning finds them, too.
    """
    transcripts, running = find_idle_transcripts(folder, None)
    with EpisodeStore.writer(context.home()) as store:
        with output.track_items("reading sessions", sum(file.size for file in transcripts)) as advance:
            report = read_sessions(store, transcripts, advance)
        follow(store)
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


def read_sessions(
    store: EpisodeStore, transcripts: Sequence[TranscriptFile], advance: Callable[[int], None], pace: Pace = FULL_PACE
) -> ReadingReport:
    """Read transcripts into the store. Raises StoreError, ConfigError."""
    return SessionReader(store, names_in(LEFT_OUT)).read(transcripts, advance, pace)


def follow(store: EpisodeStore) -> None:
    """Let the index and provisional vectors follow. Raises StoreError."""
    context.index_of(store)
    with suppress(ExtensionMissing, StoreError):
        models.open_vectors(store.home, store, PACKAGED, parts=True).close()
