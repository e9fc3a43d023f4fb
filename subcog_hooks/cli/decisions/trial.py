"""A throw-away copy of the store, on which a change is tried before anybody is told to make it."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from subcog_hooks.cli.support import context, trial_folders
from subcog_hooks.cli.support.amendment import amend, changed
from subcog_hooks.core import database
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import spaces
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static import StaticEncoder
from subcog_hooks.recall import pipeline, tuning
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.store import index_sync
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Filter, Store
from subcog_hooks.store.vector_file import ExtensionMissing

MAX_BYTES = 400_000_000  # of store and index: some 200,000 memories, copied in a second or two
SEARCH_MS = 10_000.0  # nobody waits for a prompt here
_DATABASE = ".db"
_BESIDE = ("-wal", "-shm", ".lock")  # what belongs to the processes that have a file open


class Trial:
    """A copy of the home's store and index. `home` is where it lies."""

    __slots__ = ("home",)

    def __init__(self, home: Home) -> None:
        self.home = home

    def change(self, id_: str, changes: Mapping[str, object]) -> None:
        """Give a memory of the copy these fields, and let the copy's index follow. Raises SubcogError."""
        self.change_all([id_], changes)

    def find(self, texts: Sequence[str], scope: Filter, limit: int) -> list[list[Memory]]:
        """Return what the hook's recall finds in the copy for each text, the best first. Raises StoreError."""
        if not texts:
            return []
        numbers = tuning.tuning_from_settings(context.settings())
        with Store.reader(self.home) as store:
            space = self._space(store)
            try:
                sources = Sources(LexicalIndex.open(self.home), store, space, numbers)
                answers = [pipeline.search_page(Request(text, scope), sources, Deadline(SEARCH_MS), limit) for text in texts]
            finally:
                if space:
                    space.vectors.close()
        return [[hit.memory for hit in answer.hits] for answer in answers]

    def _space(self, store: Store) -> recall_vectors.SearchSpace | None:
        """Return the vectors of the copy, with the static encoder for a text; None where there are none to be had."""
        try:
            vectors = spaces.open_vectors(self.home, store, PACKAGED)
        except ExtensionMissing:
            return None
        return recall_vectors.SearchSpace(vectors, recall_vectors.latin_only(StaticEncoder.open().encode))

    def change_all(self, ids: Iterable[str], changes: Mapping[str, object]) -> None:
        """Give memories of the copy these fields, and let the copy's index follow. Raises SubcogError."""
        with Store.writer(self.home) as store:
            for id_ in ids:
                amend(store.get(id_), lambda stored: changed(stored, changes), store, [])
            let_follow(self.home, store)


def let_follow(home: Home, store: Store) -> None:
    """Let the index and the vectors of a copy follow its store. Raises SubcogError."""
    index_sync.catch_up(home, store)
    try:
        spaces.open_vectors(home, store, PACKAGED).close()
    except ExtensionMissing:
        pass  # as in the hook, words alone decide


@contextmanager
def begun() -> Iterator[Trial]:
    """Copy the store, and take the copy away in the end. Raises StoreError, OSError."""
    home = context.home()
    if _size(home) > MAX_BYTES:
        raise StoreError(f"a store of more than {MAX_BYTES // 1_000_000} MB is not copied for a trial")
    with trial_folders.hold_folder(home) as folder:
        copy = Home(folder)
        database.copy(home.memories_db, copy.memories_db)
        for parent, _, files in os.walk(home.index):
            target = os.path.normpath(os.path.join(copy.index, os.path.relpath(parent, home.index)))
            os.mkdir(target)  # not its parents: where they are gone, a purge has ended the trial
            for name in files:
                if name.endswith(_DATABASE):
                    database.copy(os.path.join(parent, name), os.path.join(target, name))
                elif not name.endswith(_BESIDE):
                    shutil.copyfile(os.path.join(parent, name), os.path.join(target, name))
        yield Trial(copy)


def _size(home: Home) -> int:
    files = [home.memories_db, *(os.path.join(parent, name) for parent, _, names in os.walk(home.index) for name in names)]
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))
