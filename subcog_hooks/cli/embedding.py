"""The neural vectors of new memories: computed at once with a progress bar, or later by the background jobs."""

import os
import time
from collections.abc import Callable
from functools import partial

from subcog_hooks.cli.jobs import background_jobs
from subcog_hooks.cli.jobs.job_list import JOBS
from subcog_hooks.cli.terminal import context, progress
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import catch_up, models
from subcog_hooks.embed.space import Space
from subcog_hooks.settings import loading
from subcog_hooks.store import vector_sync
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_file import ExtensionMissing

BRIEF_S = 2.0  # seconds that a person waits for without having asked
_BRIEF_WAIT = catch_up.Patience(1_000, is_urgent=True)


def start_background_jobs() -> None:
    """Start the background jobs if any is due; called at the very end of a command."""
    background_jobs.start_if_due(context.home(), JOBS)


def embed_now(store: Store, *, afresh: bool = False) -> int:
    """Compute the missing neural vectors with a progress bar and return their number. Raises StoreError, ModelError.

    afresh: check every memory again, and rebuild a damaged file. Without sqlite-vec a message says so.
    """
    home = context.home()
    try:
        count = sum(_embed_space(home, store, space, afresh=afresh) for space in models.spaces_in_use(home, context.settings()))
    except ExtensionMissing as error:
        terminal.say(str(error))
        return 0
    catch_up.forget_failure(home)
    return count


def embed_briefly(store: Store, space: Space) -> int:
    """Compute missing neural vectors of a space for two seconds, and return their number. Raises StoreError, ModelError.

    They are left to another process that is at work on them and does not give way.
    """
    home = context.home()
    if not catch_up.is_enabled(loading.load(home)) or not os.access(home.root, os.W_OK):
        return 0
    ends_at = time.monotonic() + BRIEF_S
    try:
        return _embed_space(home, store, space, patience=_BRIEF_WAIT, is_wanted=lambda: time.monotonic() < ends_at)
    except StoreBusy:
        return 0


def _embed_space(
    home: Home,
    store: Store,
    space: Space,
    *,
    afresh: bool = False,
    patience: catch_up.Patience = catch_up.FOREGROUND,
    is_wanted: Callable[[], bool] = lambda: True,
) -> int:
    from subcog_hooks.embed.documents import DocumentEmbedder, count_cores

    with models.open_vectors(home, store, space, anew=afresh, parts=True, wait_ms=vector_sync.LONG_WAIT_MS) as vectors:
        if not (pending := len(vectors.pending())):
            return 0
        with progress.track_items(f"embedding ({space.name})", pending, with_rate=True) as advance:
            load = partial(DocumentEmbedder, space, count_cores())
            done = catch_up.embed_pending(home, store, vectors, space, load, patience, progress=advance, is_wanted=is_wanted)
        vector_sync.part_cells_anew(home, space.name, vectors)
        return done
