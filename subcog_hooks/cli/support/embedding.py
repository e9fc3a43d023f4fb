"""The neural vectors of what a command has written: now, with a bar, or after it by the process at rest."""

from subcog_hooks.cli import at_rest
from subcog_hooks.cli.support import context, progress
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import background, catch_up, spaces
from subcog_hooks.embed.space import Space
from subcog_hooks.store import vector_sync
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_file import ExtensionMissing


def afterwards() -> None:
    """Leave what is due to the process at rest; to be called when the command has done everything else."""
    at_rest.start_if_due(context.home())


def now(store: Store, *, afresh: bool = False) -> int:
    """Make every vector final, with a bar; how many were. Raises StoreError, ModelError.

    afresh: look at every memory again, and make a damaged file anew. Without sqlite-vec it is said that there are no vectors.
    """
    home = context.home()
    try:
        done = sum(_finish(home, store, space, afresh=afresh) for space in spaces.spaces_in_use(home, context.settings()))
    except ExtensionMissing as error:
        terminal.say(str(error))
        return 0
    background.forget_failure(home)
    return done


def _finish(home: Home, store: Store, space: Space, *, afresh: bool) -> int:
    from subcog_hooks.embed.documents import DocumentEmbedder, count_cores

    with spaces.open_vectors(home, store, space, anew=afresh, parts=True, wait_ms=vector_sync.LONG_WAIT_MS) as vectors:
        if not (pending := len(vectors.pending())):
            return 0
        with progress.of_items(f"embedding ({space.name})", pending, with_rate=True) as advance:
            done = catch_up.embed_pending(
                home,
                store,
                vectors,
                space,
                lambda: DocumentEmbedder(space, count_cores()),
                progress=advance,
            )
        vector_sync.part_anew(home, space.name, vectors)
        return done
