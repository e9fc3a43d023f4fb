"""Erasing memories for good: from the store and whatever was made of it, so that their text is nowhere in the home."""

from collections.abc import Sequence
from contextlib import ExitStack

from subcog_hooks.cli.support import editor, session, trial_folders
from subcog_hooks.memory import sync
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Store
from subcog_hooks.memory.vectors import VectorStore


def erase(store: Store, memories: Sequence[Memory]) -> None:
    """Erase memories from the store, the index, the vectors, copies on trial and texts that were edited. Raises StoreError."""
    home = session.home()
    store.purge([memory.id for memory in memories])
    with ExitStack() as then:  # from the last to the first, each whatever becomes of the others
        then.callback(trial_folders.remove_all, home)
        then.callback(editor.remove_left, home, [memory.id for memory in memories])
        then.callback(store.overwrite_log)
        then.callback(VectorStore.purge, home, [memory.seq for memory in memories])
        then.callback(session.follow, store)
        sync.rebuild(home, store, keep_predecessor=False)  # the old index still has the words
