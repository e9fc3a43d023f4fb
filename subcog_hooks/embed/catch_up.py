"""Making pending vectors final: the neural model's in place of the provisional ones, one process at a time for each space."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import islice

from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE
from subcog_hooks.core.errors import ModelError
from subcog_hooks.embed import documents
from subcog_hooks.store import vector_sync
from subcog_hooks.store.lock import ProcessLock, is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from subcog_hooks.core.deadline import Pace
    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed.documents import DocumentEmbedder
    from subcog_hooks.embed.space import Space
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import VectorStore

    Progress = Callable[[int], None]

# What is embedded and written at once, and so what a kill costs: about a second on one core, at 185 texts of 40 words.
GROUP_TEXTS = 128
GROUP_CHARACTERS = 40_000  # of a model whose reads are unknown: as much as 128 texts of 300 characters
QUIET_TEXTS, QUIET_CHARACTERS = 32, 8_000  # at once in the background, about: a quarter of a second
EMBEDDED_AT_ONCE = 512  # memories read at a time
PACKAGED_READS = 1_500  # characters, about: what 256 tokens are made of
LENGTH_WITH_PASSAGES = 400  # characters from which a text has passages, about: what 110 tokens are made of
PLAIN = "The gate is shut."  # a text that every model takes


class Patience:
    """Sharing of the work with other processes.

    wait_ms: how long to wait for whoever is at it; is_urgent: whether that one gives way, within a group of its own.
    """

    __slots__ = ("is_urgent", "wait_ms")

    def __init__(self, wait_ms: int, *, is_urgent: bool) -> None:
        self.wait_ms = wait_ms
        self.is_urgent = is_urgent


FOREGROUND = Patience(120_000, is_urgent=True)  # the one at work gives way within its group
BACKGROUND = Patience(1_000, is_urgent=False)  # whoever is at work does ours as well


def lock_of(home: Home, space: Space) -> str:
    """Return the file that the process at work on a space has locked."""
    return os.path.join(home.index, f"vectors-{space.name}.lock")


def _urgent_lock_of(home: Home, space: Space) -> str:
    """Return the file that is locked while somebody sits and waits: a process in the background gives way then."""
    return os.path.join(home.index, f"vectors-{space.name}.urgent.lock")


@contextmanager
def undisturbed(home: Home, space: Space) -> Iterator[None]:
    """Hold the work on a space for this process alone meanwhile. Raises StoreBusy, StoreError."""
    with (
        ProcessLock(_urgent_lock_of(home, space), FOREGROUND.wait_ms, "embedding"),
        ProcessLock(lock_of(home, space), FOREGROUND.wait_ms, "embedding"),
    ):
        yield


def remove_locks(home: Home, space: Space) -> None:
    """Take away what is left of a space that is no more. Raises OSError."""
    for path in (lock_of(home, space), _urgent_lock_of(home, space), vector_sync.lock_of(home, space.name)):
        try:
            os.unlink(path)
        except FileNotFoundError:  # never there, or another process takes them away, too
            pass


def embed_pending(
    home: Home,
    store: Store,
    vectors: VectorStore,
    space: Space,
    load: Callable[[], DocumentEmbedder],
    patience: Patience = FOREGROUND,
    progress: Progress | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
    pace: Pace = FULL_PACE,
) -> int:
    """Give every memory of a space its final vectors, of the whole text, of its passages and of its questions.

    Return how many texts got theirs.

    Written group by group: a kill loses one, and nothing that was written is embedded again, not even for another memory of
    the same text. A text that the model refuses gets the zero vector, which is near to nothing, and is counted in the log.
    load: makes the model, called when there is a text to embed. progress: told after each group how many texts are done.
    is_wanted: asked before each group, the work ends when it says no; so it does when `pace` says so, which is also asked for a
    pause before each vector. Raises StoreBusy when another process is at it for longer
    than `patience`, StoreError, ModelError when the model fails on a plain text too.
    """
    urgent_lock = _urgent_lock_of(home, space)

    def is_awaited() -> bool:
        return not patience.is_urgent and is_held(urgent_lock)

    def is_to_stop() -> bool:
        return not pace.goes_on(is_awaited) or is_awaited() or not is_wanted()

    largest = (GROUP_TEXTS, GROUP_CHARACTERS) if patience.is_urgent else (QUIET_TEXTS, QUIET_CHARACTERS)
    work = _Work(store, vectors, space, load, progress, largest, lambda: pace.pause(is_awaited))
    try:
        if not patience.is_urgent:
            return _in_turns(lock_of(home, space), patience, work, is_to_stop)
        with ProcessLock(urgent_lock, patience.wait_ms, "embedding"):
            return _in_turns(lock_of(home, space), patience, work, is_to_stop)
    finally:
        if work.refused:
            log.write(home, f"texts that {space.model} refused: {work.refused}; they are found by words alone")


def _in_turns(lock: str, patience: Patience, work: _Work, is_to_stop: Callable[[], bool]) -> int:
    """Work in turns until nothing is left: a writer that found the lock taken has left its memories to us."""
    done = 0
    before: list[tuple[int, str]] = []
    while (waiting := work.waiting()) and waiting != before and not is_to_stop():
        before = waiting  # what stays has to wait for the vectors to follow the store
        with ProcessLock(lock, patience.wait_ms, "embedding"):
            done += work.turn(is_to_stop)
    return done


class _Work:
    """The work of one process on one space."""

    __slots__ = ("_embedder", "_largest", "_load", "_pause", "_progress", "_space", "_store", "_vectors", "refused")

    def __init__(
        self,
        store: Store,
        vectors: VectorStore,
        space: Space,
        load: Callable[[], DocumentEmbedder],
        progress: Progress | None,
        largest: tuple[int, int],
        pause: Callable[[], None],
    ) -> None:
        self.refused = 0  # texts
        self._store = store
        self._vectors = vectors
        self._space = space
        self._load = load
        self._largest = largest  # group: texts, characters
        self._pause = pause  # before the next vector
        self._progress = progress
        self._embedder: DocumentEmbedder | None = None

    def waiting(self) -> list[tuple[int, str]]:
        return [] if self._vectors.is_gone() else self._vectors.pending()

    def turn(self, is_to_stop: Callable[[], bool]) -> int:
        """Work through the pending memories. Return how many are done."""
        done = 0
        waiting = self.waiting()
        most = PACKAGED_READS if self._space.is_packaged else GROUP_CHARACTERS
        for start in range(0, len(waiting), EMBEDDED_AT_ONCE):
            texts = self._texts(waiting[start : start + EMBEDDED_AT_ONCE])
            for group in _in_groups(texts, most, self._largest):
                if is_to_stop() or self._vectors.is_gone():
                    return done
                done += (count := self._vectors.finish(self._made(group)))
                if self._progress:
                    self._progress(count)
        return done

    def _texts(self, chunk: list[tuple[int, str]]) -> dict[str, tuple[str, list[int]]]:
        """Return the text and the keys of each content hash. A memory that was changed or purged meanwhile is left out."""
        memories = self._store.by_seqs([self._vectors.seq_of(key) for key, _ in chunk])
        texts: dict[str, tuple[str, list[int]]] = {}
        for key, content_hash in chunk:
            memory = memories.get(self._vectors.seq_of(key))
            text, its_hash = self._vectors.text_at(key, memory) if memory is not None else ("", "")
            if its_hash == content_hash:
                texts.setdefault(content_hash, (text, []))[1].append(key)
        return texts

    def _made(self, group: list[tuple[str, str, list[int]]]) -> list[tuple[int, str, list[bytes]]]:
        made = {content_hash: self._vectors.final_vectors(content_hash) for content_hash, _, _ in group}
        new = [(content_hash, text) for content_hash, text, _ in group if not made[content_hash]]
        if new:
            vectors = self._embedded([text for _, text in new])
            made.update(zip((content_hash for content_hash, _ in new), vectors, strict=True))
        return [(key, content_hash, made[content_hash]) for content_hash, _, keys in group for key in keys]

    def _embedded(self, texts: list[str]) -> list[list[bytes]]:
        """Return the vectors of each text: the whole's, then its passages'."""
        embedder = self._embedder = self._embedder or self._load()
        parts = [[text, *embedder.passages(text)] for text in texts]
        try:
            made = iter(list(self._unhurried(embedder.embed([part for of_text in parts for part in of_text]))))
        except ModelError:
            list(embedder.embed([PLAIN]))  # fails when it is the model, not a text
            return [self._alone(embedder, of_text) for of_text in parts]
        return [list(islice(made, len(of_text))) for of_text in parts]

    def _alone(self, embedder: DocumentEmbedder, parts: list[str]) -> list[bytes]:
        whole, *its_passages = parts
        try:
            made = list(embedder.embed([whole]))
        except ModelError:
            self.refused += 1
            return [bytes(self._space.dimension)]
        try:
            return made + list(self._unhurried(embedder.embed(its_passages)))
        except ModelError:
            return made

    def _unhurried(self, vectors: Iterator[bytes]) -> Iterator[bytes]:
        for vector in vectors:
            yield vector
            self._pause()


def _in_groups(
    texts: dict[str, tuple[str, list[int]]], most: int, largest: tuple[int, int]
) -> Iterator[list[tuple[str, str, list[int]]]]:
    """Yield groups of (content hash, text, keys).

    most: characters of a text that the model reads; largest: texts and characters, about, of a group.
    """
    most_texts, most_characters = largest
    group: list[tuple[str, str, list[int]]] = []
    characters = 0
    for content_hash, (text, keys) in texts.items():
        group.append((content_hash, text, keys))
        characters += min(len(text), most) + _in_passages(text)
        if len(group) == most_texts or characters >= most_characters:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _in_passages(text: str) -> int:
    """Return about how many characters a text's passages have together."""
    if len(text) <= LENGTH_WITH_PASSAGES:
        return 0
    return min(len(text) * documents.WINDOW // documents.STEP, documents.MAX_PASSAGES * LENGTH_WITH_PASSAGES)
