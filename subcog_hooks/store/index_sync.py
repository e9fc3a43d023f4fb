"""Keeping the index where the store is: catching up after writes and crashes, rebuilding what is damaged."""

from __future__ import annotations

import os
import time

from subcog_hooks.core.errors import StoreError
from subcog_hooks.store.index import (
    BULK_HEAP,
    MAX_SEGMENTS,
    SMALL_HEAP,
    IndexBusy,
    IndexUnusable,
    IndexWriter,
    LexicalIndex,
    remove_others,
)
from subcog_hooks.store.lock import ProcessLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.store import Store

    Progress = Callable[[int], None]

INDEXED_AT_ONCE = 2_000  # memories read at a time
BULK = 2_000  # a rebuild of more than this deserves a larger heap
LOCK_WAIT_S = 3.0  # for another process that writes the index; then the command goes on with what there is
REBUILD_WAIT_MS = 120_000  # for another process that rebuilds it: 100,000 memories take some 15 s
ATTEMPTS = 3  # a swap or a damage may come between opening and writing


def catch_up(home: Home, store: Store, progress: Progress | None = None) -> LexicalIndex:
    """Bring the index to the store's revision and return it; it is rebuilt when it can not be used. Raises StoreError.

    When another process is writing the index, waits up to LOCK_WAIT_S for it to get there; then the index is returned as it is:
    that process, or the next command, brings the rest. `progress` is told of each chunk's size.
    """
    for _ in range(ATTEMPTS):
        index = _usable(home, store) or rebuild(home, store, progress, only_if_needed=True)
        try:
            _follow(index, store, progress)
        except IndexUnusable as error:  # swapped by another process meanwhile, or damaged
            failure = IndexUnusable(error.message, error.hint)  # without the frames that keep the writer, and its lock, alive
        else:
            return index
    raise failure


def _usable(home: Home, store: Store) -> LexicalIndex | None:
    """Return the current index, None when it has to be rebuilt.

    It has to be when it is missing, damaged, of another store, or in too many pieces.
    """
    try:
        index = LexicalIndex.open(home)
        made_here = store.has_revision(index.watermark()) and (index.watermark() > 0 or not index.documents)
    except IndexUnusable:
        return None
    return index if made_here and index.segments <= 4 * MAX_SEGMENTS else None


def _follow(index: LexicalIndex, store: Store, progress: Progress | None) -> None:
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
    writer = index.writer()
    index.refresh()  # under the lock: the writer before us may have come this far
    after, until = index.watermark(), store.revision()
    if after < until:
        _put(writer, store, after, until, progress)
        writer.remove(store.purged_after(after))
        writer.commit(until)
    writer.finish()


def _put(writer: IndexWriter, store: Store, after: int, until: int, progress: Progress | None) -> None:
    from_seq = 0
    while chunk := store.changes(after, until, from_seq, INDEXED_AT_ONCE):
        writer.put(chunk, new=after < 0)
        from_seq = chunk[-1].seq + 1
        if progress:
            progress(len(chunk))


def rebuild(
    home: Home, store: Store, progress: Progress | None = None, *, only_if_needed: bool = False, keep_predecessor: bool = True
) -> LexicalIndex:
    """Build a new index of the whole store beside the old one, swap it in and return it. One process rebuilds at a time.

    only_if_needed: when another process has done it meanwhile, its index is returned. keep_predecessor: for hooks that have
    just read its name. Raises StoreError when the folder can not be written; the old index stays.
    """
    with ProcessLock(os.path.join(home.index, "rebuild.lock"), REBUILD_WAIT_MS, "rebuilding the index"):
        if only_if_needed and (index := _usable(home, store)) is not None:
            return index
        current = _current_name(home)
        try:
            index = LexicalIndex.create_beside(home)
            writer = index.writer(BULK_HEAP if sum(store.counts().values()) > BULK else SMALL_HEAP)
            until = store.revision()
            _put(writer, store, -1, until, progress)
            writer.commit(until)
            writer.finish()
            index.put_in_place(home)
            if not keep_predecessor:
                remove_others(home, keep=(os.path.basename(index.folder),))
        except (OSError, IndexUnusable) as error:
            remove_others(home, keep=(current,))
            raise StoreError(f"{home.index} can not be written: {error}", "check its permissions and the disk") from error
        return index


def in_memory(store: Store) -> LexicalIndex:
    """Return an index of the whole store that leaves no trace.

    It is for folders that can not be written: tantivy can not open an index there.
    """
    index = LexicalIndex.in_memory()
    writer = index.writer()
    _put(writer, store, -1, store.revision(), None)
    writer.commit(store.revision())
    writer.finish()
    return index


def _current_name(home: Home) -> str:
    try:
        return os.path.basename(LexicalIndex.open(home).folder)
    except IndexUnusable:
        return ""
