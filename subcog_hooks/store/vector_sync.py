"""Keeping a space's vectors in step with the store: a memory gets a first vector at once, its final one later."""

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
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import MadeBy

    Encode = Callable[[Sequence[str]], Sequence[bytes | None]]  # texts to provisional int8 vectors, None for a text without one
    Progress = Callable[[int], None]

LOCK_WAIT_MS = 3_000  # for another process with the lock; then a command uses the vectors as they are
LONG_WAIT_MS = 120_000  # for commands that need the vectors
_DOING = "bringing the vectors up to date"
FOLLOWED_AT_ONCE = 1_000  # memories in one transaction: the document model's writer waits at most half a second


def lock_path(home: Home, space: str) -> str:
    """Return the lock file of the process that updates or remakes a space's vectors."""
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
    """Bring the vectors of a space to the store's revision and return them; a damaged file is made anew.

    One process does so at a time. wait_ms: how long to wait for another one, None for LOCK_WAIT_MS; then StoreBusy is raised,
    and that process, or the next one, brings the rest. made_by: vectors of other models are replaced. anew: check the whole
    file for damage and visit every memory; vectors of unchanged texts are kept. parts: divide large audiences into cells, which
    loads numpy and takes a minute for 1,000,000 memories. Raises StoreError, and ExtensionMissing without sqlite-vec.
    """
    patience = LOCK_WAIT_MS if wait_ms is None else wait_ms
    with ProcessLock(lock_path(home, space), patience, _DOING):
        try:
            vectors = _open_and_follow(home, store, space, dimension, encode, progress, made_by, anew=anew)
        except VectorsUnusable:  # raised by the check, or later
            VectorStore.remove(home, space)
            vectors = _open_and_follow(home, store, space, dimension, encode, progress, made_by)
        try:
            if parts:
                vectors.part()
        except BaseException:
            vectors.close()
            raise
        return vectors


def part_cells_anew(home: Home, space: str, vectors: VectorStore) -> None:
    """Make the cells anew once the last vectors of another model are replaced. Raises StoreError.

    One process does so at a time. Where another one holds the lock for long, the next to follow the store makes the cells.
    """
    try:
        with ProcessLock(lock_path(home, space), LOCK_WAIT_MS, _DOING):
            vectors.part()
    except StoreBusy:
        pass


def _open_and_follow(
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
        follow_store(vectors, store, encode, progress)
    except BaseException:
        vectors.close()
        raise
    return vectors


def follow_store(vectors: VectorStore, store: Store, encode: Encode, progress: Progress | None = None) -> None:
    """Bring the vectors to the store's revision: new texts get provisional vectors, the others keep theirs.

    It goes on until nothing has been stored meanwhile, so that a process that did not wait finds its memories here. Each chunk
    is read and written under the file's write lock, so a later state never gives way to an earlier one. Raises StoreError.
    """
    while True:
        after, until = vectors.watermark(), store.revision()
        if after >= 0 and not store.has_revision(after):
            after = -1  # the store was restored from a backup, perhaps an older one: visit all memories
        if after >= until:
            return
        _put_changes(vectors, store, after, until, encode, progress)


def _put_changes(vectors: VectorStore, store: Store, after: int, until: int, encode: Encode, progress: Progress | None) -> None:
    from_seq = 0
    all_seqs: list[int] = []
    while True:
        vectors.begin()
        try:
            chunk = store.changes(after, until, from_seq, FOLLOWED_AT_ONCE)
            if chunk:
                texts = [(memory.seq, memory.content) for memory in vectors.lacking(chunk)]
                questions = vectors.lacking_questions(chunk)
                vectors.put(chunk, _encode_by_key(texts, encode), _encode_by_key(questions, encode))
            else:
                vectors.remove_memories(store.purged_after(after))
                if after < 0:
                    vectors.keep_only(all_seqs)
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
            all_seqs += [memory.seq for memory in chunk]
        if progress:
            progress(len(chunk))


def _encode_by_key(texts: list[tuple[int, str]], encode: Encode) -> dict[int, bytes]:
    vectors = encode([text for _, text in texts]) if texts else []
    return {key: vector for (key, _), vector in zip(texts, vectors, strict=True) if vector}
