"""Erasing memories for good: from the store and whatever was made of it, so that their text is nowhere in the home."""

from collections.abc import Sequence
from contextlib import ExitStack

from subcog_hooks.cli.support import context, editor, trial_folders
from subcog_hooks.store import index_sync
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore


def erase(store: Store, memories: Sequence[Memory]) -> None:
    """Erase memories from the store, the index, the vectors, copies on trial and texts that were edited. Raises StoreError."""
    home = context.home()
    store.purge([memory.id for memory in memories])
    with ExitStack() as then:  # from the last to the first, each whatever becomes of the others
        then.callback(trial_folders.remove_all, home)
        then.callback(editor.remove_left, home, [memory.id for memory in memories])
        then.callback(store.overwrite_log)
        then.callback(VectorStore.purge, home, [memory.seq for memory in memories])
        then.callback(context.follow, store)
        index_sync.rebuild(home, store, keep_predecessor=False)  # the old index still has the words
