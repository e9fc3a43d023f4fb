"""Erases memories for good, from the store and all copies, so that no file in the home holds their text."""

from collections.abc import Sequence
from contextlib import ExitStack

from subcog_hooks.cli.support import context, editor, trial_folders
from subcog_hooks.store import index_sync
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore


def erase(store: Store, memories: Sequence[Memory]) -> None:
    """Erase memories from the store, its log, the index, the vectors, trial copies and edited texts. Raises StoreError."""
    home = context.home()
    store.purge([memory.id for memory in memories])
    with ExitStack() as cleanup:  # Each step runs even if another fails, the last one first.
        cleanup.callback(trial_folders.remove_all, home)
        cleanup.callback(editor.remove_edits, home, [memory.id for memory in memories])
        cleanup.callback(store.overwrite_log)
        cleanup.callback(VectorStore.purge, home, [memory.seq for memory in memories])
        cleanup.callback(context.update_index_and_vectors, store)
        index_sync.rebuild_index(home, store, keep_predecessor=False)  # The old index still has the words.
