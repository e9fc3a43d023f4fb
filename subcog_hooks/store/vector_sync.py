"""Keeping a space's vectors where the store is: every memory gets a first vector at once, its final one later."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.store.lock import ProcessLock
from subcog_hooks.store.vector_file import VectorsUnusable
from subcog_hooks.store.vector_store import VectorStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import MadeBy

    Encode = Callable[[Sequence[str]], Sequence[bytes | None]]  # texts to provisional int8 vectors, None where there is none
    Progress = Callable[[int], None]

LOCK_WAIT_MS = 3_000  # for another process that is at it; then a command goes on with what there is
LONG_WAIT_MS = 120_000  # for those who have come for the vectors alone
_DOING = "bringing the vectors up to date"
FOLLOWED_AT_ONCE = 1_000  # memories in one transaction: the document model's writer waits half a second for it at most


def lock_of(home: Home, space: str) -> str:
    """Return the file that the process which brings a space's vectors up to date, or makes them anew, has locked."""
    return os.path.join(home.index, f"vectors-{space}.following.lock")


def open_following(
    home: Home,
    store: Store,
    space: str,
    dimension: int,
    encode: Encode,
    progress: Progress | None = None,
    *,
    made_by: MadeBy,
    anew: bool = False,
    parts: bool = False,
    wait_ms: int | None = None,
) -> VectorStore:
    """Bring the vectors of a space to the store's revision and return them; a damaged file is made anew. Raises StoreError.

    One process does so at a time. wait_ms: for how long another one is waited for, None for LOCK_WAIT_MS; then StoreBusy is
    raised: that process, or the next one, brings the rest. made_by: what has made others, is replaced. anew: the whole file is
    read for damage, and every memory is looked at again; vectors of unchanged texts are kept. parts: part audiences that have
    grown large into cells, which loads numpy and takes a minute for 1,000,000 memories. Raises ExtensionMissing without
    sqlite-vec.
    """
    patience = LOCK_WAIT_MS if wait_ms is None else wait_ms
    with ProcessLock(lock_of(home, space), patience, _DOING):
        try:
            vectors = _followed(home, store, space, dimension, encode, progress, made_by, anew=anew)
        except VectorsUnusable:  # found at the beginning, or on the way
            VectorStore.remove(home, space)
            vectors = _followed(home, store, space, dimension, encode, progress, made_by)
        try:
            if parts:
                vectors.part()
        except BaseException:
            vectors.close()
            raise
        return vectors


def part_anew(home: Home, space: str, vectors: VectorStore) -> None:
    """Make the cells of another model's vectors anew, once these are the last of its own. Raises StoreError.

    By one process at a time, as above; where another one is at it for long, the next to follow the store does so.
    """
    try:
        with ProcessLock(lock_of(home, space), LOCK_WAIT_MS, _DOING):
            vectors.part()
    except StoreBusy:
        pass


def _followed(
    home: Home,
    store: Store,
    space: str,
    dimension: int,
    encode: Encode,
    progress: Progress | None,
    made_by: MadeBy,
    *,
    anew: bool = False,
) -> VectorStore:
    vectors = VectorStore.writer(home, space, dimension)
    try:
        if anew and (problems := vectors.problems()):
            raise VectorsUnusable(f"{vectors.path}: {problems[0]}")
        vectors.expect(made_by)
        if anew:
            vectors.begin()
            vectors.forget_progress()
            vectors.commit()
        follow(vectors, store, encode, progress)
    except BaseException:
        vectors.close()
        raise
    return vectors


def follow(vectors: VectorStore, store: Store, encode: Encode, progress: Progress | None = None) -> None:
    """Bring the vectors to the store's revision: new texts get provisional vectors, the others keep what they have.

    Until nothing has been stored meanwhile, so that whoever did not wait finds its memories here. Each chunk is read and
    written under the file's write lock, so a later state never gives way to an earlier one. Raises StoreError.
    """
    while True:
        after, until = vectors.watermark(), store.revision()
        if after >= 0 and not store.has_revision(after):
            after = -1  # the store was put back from a backup, perhaps an older one: look at all of it
        if after >= until:
            return
        _take_over(vectors, store, after, until, encode, progress)


def _take_over(vectors: VectorStore, store: Store, after: int, until: int, encode: Encode, progress: Progress | None) -> None:
    from_seq = 0
    every: list[int] = []
    while True:
        vectors.begin()
        try:
            chunk = store.changes(after, until, from_seq, FOLLOWED_AT_ONCE)
            if chunk:
                asked = vectors.lacking_questions(chunk)
                of_texts = _provisional(vectors.lacking(chunk), encode)
                vectors.put(chunk, of_texts, _encoded(asked, encode))
            else:
                vectors.remove_memories(store.purged_after(after))
                if after < 0:
                    vectors.keep_only(every)
                    vectors.forget_progress()
                vectors.reach_revision(until)
            vectors.commit()
        except BaseException:
            vectors.rollback()
            raise
        if not chunk:
            return
        from_seq = chunk[-1].seq + 1
        if after < 0:
            every += [memory.seq for memory in chunk]
        if progress:
            progress(len(chunk))


def _provisional(lacking: list[Memory], encode: Encode) -> dict[int, bytes]:
    return _encoded([(memory.seq, memory.content) for memory in lacking], encode)


def _encoded(texts: list[tuple[int, str]], encode: Encode) -> dict[int, bytes]:
    made = encode([text for _, text in texts]) if texts else []
    return {key: vector for (key, _), vector in zip(texts, made, strict=True) if vector}
