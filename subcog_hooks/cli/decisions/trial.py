"""A throw-away copy of the store, for trying a change before it is recommended."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from subcog_hooks.cli.support import context, trial_folders
from subcog_hooks.cli.support.amendment import amend, apply_changes
from subcog_hooks.core import database
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import spaces
from subcog_hooks.embed.query_encoder import StaticEncoder
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.recall import pipeline, tuning
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.store import index_sync
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Filter, Store
from subcog_hooks.store.vector_file import ExtensionMissing

MAX_BYTES = 400_000_000  # of store and index: about 200,000 memories, copied in one or two seconds
SEARCH_MS = 10_000.0  # No prompt waits for this search.
_DATABASE = ".db"
_PROCESS_FILES = ("-wal", "-shm", ".lock")  # files of the processes that have the store open


@dataclass(frozen=True, slots=True)
class Trial:
    """A copy of the home's store and index. home: the folder of the copy."""

    home: Home

    def change(self, id_: str, changes: Mapping[str, object]) -> None:
        """Change the fields of a memory in the copy and update its index. Raises SubcogError."""
        self.change_all([id_], changes)

    def find(self, texts: Sequence[str], scope: Filter, limit: int) -> list[list[Memory]]:
        """Return the hits of the hook's recall in the copy for each text, the best first. Raises StoreError."""
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
        """Return the vectors of the copy with the static encoder, None without sqlite-vec."""
        try:
            vectors = spaces.open_vectors(self.home, store, PACKAGED)
        except ExtensionMissing:
            return None
        return recall_vectors.SearchSpace(vectors, recall_vectors.latin_only(StaticEncoder.open().encode))

    def change_all(self, ids: Iterable[str], changes: Mapping[str, object]) -> None:
        """Change the fields of memories in the copy and update its index. Raises SubcogError."""
        with Store.writer(self.home) as store:
            for id_ in ids:
                amend(store.get(id_), lambda stored: apply_changes(stored, changes), store, [])
            update_copy(self.home, store)


def update_copy(home: Home, store: Store) -> None:
    """Bring the index and the vectors of a copy up to date. Raises SubcogError."""
    index_sync.bring_up_to_date(home, store)
    try:
        spaces.open_vectors(home, store, PACKAGED).close()
    except ExtensionMissing:
        pass  # As in the hook, words alone decide then.


@contextmanager
def open_trial() -> Iterator[Trial]:
    """Copy the store for a trial, and remove the copy at the end. Raises StoreError, OSError."""
    home = context.home()
    if _size(home) > MAX_BYTES:
        raise StoreError(f"a store of more than {MAX_BYTES // 1_000_000} MB is not copied for a trial")
    with trial_folders.hold_folder(home) as folder:
        copy = Home(folder)
        database.copy_database(home.memories_db, copy.memories_db)
        for parent, _, files in os.walk(home.index):
            target = os.path.normpath(os.path.join(copy.index, os.path.relpath(parent, home.index)))
            os.mkdir(target)  # Not `makedirs`: a missing parent means that a purge has ended the trial.
            for name in files:
                if name.endswith(_DATABASE):
                    database.copy_database(os.path.join(parent, name), os.path.join(target, name))
                elif not name.endswith(_PROCESS_FILES):
                    shutil.copyfile(os.path.join(parent, name), os.path.join(target, name))
        yield Trial(copy)


def _size(home: Home) -> int:
    files = [home.memories_db, *(os.path.join(parent, name) for parent, _, names in os.walk(home.index) for name in names)]
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))
