"""Keeping the index where the store is: catching up after writes and crashes, rebuilding what is damaged."""

import time

from subcog_hooks.errors import StoreError
from subcog_hooks.memory.index import BULK_HEAP, MAX_SEGMENTS, SMALL_HEAP, IndexBusy, IndexUnusable, LexicalIndex
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 2_000  # memories read at a time
BULK = 2_000  # more changes than this deserve a larger heap and both cores
LOCK_WAIT_S = 10.0
_ALL = ("active", "pending", "superseded", "archived")

Progress = "Callable[[int], None]"


def catch_up(home: Home, store: Store, progress: "Callable[[int], None] | None" = None) -> LexicalIndex:
    """The index, brought to the store's revision; rebuilt when it can not be used. Raises IndexUnusable, StoreError.

    When another process is writing the index, waits up to LOCK_WAIT_S for it to get there; then the index is returned as it is:
    that process, or the next command, brings the rest.
    """
    try:
        index = LexicalIndex.open(home)
        if not store.has_revision(index.watermark()) or index.segments > 4 * MAX_SEGMENTS:
            raise IndexUnusable(f"{index.folder} was made from another store", "run `subcog reindex`")
    except IndexUnusable:
        return rebuild(home, store, progress)
    give_up_at = time.monotonic() + LOCK_WAIT_S
    pause = 0.005
    while index.watermark() < store.revision():
        try:
            _bring_up(index, store, progress)
        except IndexBusy:
            if time.monotonic() > give_up_at:
                break
            time.sleep(pause)
            pause = min(0.1, pause * 2)
            index.refresh()
    return index


def _bring_up(index: LexicalIndex, store: Store, progress: "Callable[[int], None] | None") -> None:
    writer = index.writer()
    try:
        index.refresh()  # under the lock: the writer before us may have come this far
        after, until = index.watermark(), store.revision()
        if after < until:
            _write_changes(writer, store, after, until, progress)
            writer.remove(store.purged_after(after))
            writer.commit(until)
    finally:
        writer.finish()


def _write_changes(writer: "_Writer", store: Store, after: int, until: int, progress: "Callable[[int], None] | None") -> None:
    from_seq = 0
    while chunk := store.changes(after, until, from_seq, CHUNK):
        writer.put(chunk)
        from_seq = chunk[-1].seq + 1
        if progress:
            progress(len(chunk))


def rebuild(home: Home, store: Store, progress: "Callable[[int], None] | None" = None) -> LexicalIndex:
    """A new index of the whole store, made beside the old one and swapped in. `progress` is told of each chunk's size.

    Raises StoreError when the folder can not be written.
    """
    try:
        home.create()
        index = LexicalIndex.create_beside(home)
        writer = index.writer(BULK_HEAP if sum(store.counts().values()) > BULK else SMALL_HEAP)
        until = store.revision()
        from_seq = 0
        while chunk := store.changes(-1, until, from_seq, CHUNK):
            writer.put(chunk, new=True)
            from_seq = chunk[-1].seq + 1
            if progress:
                progress(len(chunk))
        writer.commit(until)
        writer.finish()
        index.put_in_place(home)
    except OSError as error:
        raise StoreError(
            f"{home.index} can not be written: {error.strerror or error}", "check its permissions and the disk"
        ) from error
    return index


if TYPE_CHECKING:
    from subcog_hooks.memory.index import IndexWriter as _Writer
