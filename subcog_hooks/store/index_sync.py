"""Keeping the index in step with the store: catching up after writes and crashes, rebuilding a damaged index."""

from __future__ import annotations

import os
import time

from subcog_hooks.core.errors import StoreError
from subcog_hooks.store import index_writer
from subcog_hooks.store.index import MAX_SEGMENTS, IndexBusy, IndexUnusable, LexicalIndex
from subcog_hooks.store.index_writer import BULK_HEAP, SMALL_HEAP, IndexWriter
from subcog_hooks.store.lock import ProcessLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.store import Store

    Progress = Callable[[int], None]

INDEXED_AT_ONCE = 2_000  # memories read at a time
BULK = 2_000  # a rebuild of more than this deserves a larger heap
LOCK_WAIT_S = 3.0  # for another process that writes the index; then the command uses the index as it is
REBUILD_WAIT_MS = 120_000  # for another process that rebuilds it: 100,000 memories take some 15 s
ATTEMPTS = 3  # the index may be swapped or damaged between opening and writing


def bring_up_to_date(home: Home, store: Store, progress: Progress | None = None) -> LexicalIndex:
    """Bring the index to the store's revision and return it; an unusable one is rebuilt. Raises StoreError.

    It waits up to LOCK_WAIT_S for another process that writes the index. Then it returns the index as it is: that process, or
    the next command, brings the rest. progress: is called with the size of each chunk.
    """
    for _ in range(ATTEMPTS):
        index = _open_usable(home, store) or rebuild_index(home, store, progress, only_if_needed=True)
        try:
            _follow_store(index, store, progress)
        except IndexUnusable as error:  # swapped by another process meanwhile, or damaged
            failure = IndexUnusable(error.message, error.hint)  # a new error, since frames of the old one hold the lock
        else:
            return index
    raise failure


def _open_usable(home: Home, store: Store) -> LexicalIndex | None:
    """Return the current index, None where a rebuild is needed.

    A rebuild is needed when the index is missing, damaged, of another store, or has too many segments.
    """
    try:
        index = LexicalIndex.open(home)
        made_here = store.has_revision(index.watermark()) and (index.watermark() > 0 or not index.documents)
    except IndexUnusable:
        return None
    return index if made_here and index.segments <= 4 * MAX_SEGMENTS else None


def _follow_store(index: LexicalIndex, store: Store, progress: Progress | None) -> None:
    give_up_at = time.monotonic() + LOCK_WAIT_S
    pause = 0.005
    while index.watermark() < store.revision():
        try:
            _write_changes(index, store, progress)
        except IndexBusy:
            if time.monotonic() > give_up_at:
                return
            time.sleep(pause)
            pause = min(0.1, pause * 2)
            index.refresh()


def _write_changes(index: LexicalIndex, store: Store, progress: Progress | None) -> None:
    writer = index_writer.open_writer(index)
    index.refresh()  # under the lock: the previous writer may have done the work
    after, until = index.watermark(), store.revision()
    if after < until:
        _put_changes(writer, store, after, until, progress)
        writer.remove(store.purged_after(after))
        writer.commit(until)
    writer.finish()


def _put_changes(writer: IndexWriter, store: Store, after: int, until: int, progress: Progress | None) -> None:
    from_seq = 0
    while chunk := store.changes(after, until, from_seq, INDEXED_AT_ONCE):
        writer.put(chunk, new=after < 0)
        from_seq = chunk[-1].seq + 1
        if progress:
            progress(len(chunk))


def rebuild_index(
    home: Home, store: Store, progress: Progress | None = None, *, only_if_needed: bool = False, keep_predecessor: bool = True
) -> LexicalIndex:
    """Build a new index of the whole store beside the old one, swap it in and return it. One process rebuilds at a time.

    only_if_needed: return an index that another process has rebuilt meanwhile. keep_predecessor: for hooks that have just read
    its name. Raises StoreError when the folder cannot be written; the old index stays.
    """
    with ProcessLock(os.path.join(home.index, "rebuild.lock"), REBUILD_WAIT_MS, "rebuilding the index"):
        if only_if_needed and (index := _open_usable(home, store)) is not None:
            return index
        current = _current_name(home)
        try:
            index = index_writer.create_beside(home)
            writer = index_writer.open_writer(index, BULK_HEAP if sum(store.counts().values()) > BULK else SMALL_HEAP)
            until = store.revision()
            _put_changes(writer, store, -1, until, progress)
            writer.commit(until)
            writer.finish()
            index_writer.put_in_place(index, home)
            if not keep_predecessor:
                index_writer.remove_other_indexes(home, keep=(os.path.basename(index.folder),))
        except (OSError, IndexUnusable) as error:
            index_writer.remove_other_indexes(home, keep=(current,))
            raise StoreError(f"{home.index} cannot be written: {error}", "check its permissions and the disk") from error
        return index


def index_in_memory(store: Store) -> LexicalIndex:
    """Return an index of the whole store that leaves no trace.

    It is for folders that cannot be written: tantivy cannot open an index there.
    """
    index = index_writer.in_memory()
    writer = index_writer.open_writer(index)
    _put_changes(writer, store, -1, store.revision(), None)
    writer.commit(store.revision())
    writer.finish()
    return index


def _current_name(home: Home) -> str:
    try:
        return os.path.basename(LexicalIndex.open(home).folder)
    except IndexUnusable:
        return ""
