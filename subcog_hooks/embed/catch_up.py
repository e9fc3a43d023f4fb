"""The final vectors of memories: one process at a time replaces provisional ones in each space, also in the background."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice

from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ModelError, StoreBusy, StoreError, SubcogError
from subcog_hooks.core.records import record
from subcog_hooks.embed import models, neural_encoder
from subcog_hooks.settings import loading
from subcog_hooks.store import vector_store
from subcog_hooks.store.home_files import ProcessLock, is_held
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore, texts_of
from subcog_hooks.text.languages import is_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed.neural_encoder import DocumentEmbedder
    from subcog_hooks.embed.space import Space

    Progress = Callable[[int], None]

# A group is embedded and written at once, so a kill costs one: about a second on one core, at 185 texts of 40 words.
GROUP_TEXTS = 128
GROUP_CHARACTERS = 40_000  # for a model of unknown length: 128 texts of 300 characters
QUIET_TEXTS, QUIET_CHARACTERS = 32, 8_000  # a group in the background: about a quarter of a second
MEMORIES_AT_ONCE = 512
PACKAGED_READS = 1_500  # characters of about 256 tokens
LENGTH_WITH_PASSAGES = 400  # characters of about 110 tokens; longer texts have passages
PLAIN_TEXT = "The gate is shut."  # a text that every model takes


@record
class Patience:
    """Sharing of the work with other processes."""

    wait_ms: int  # for another process at work
    is_urgent: bool  # That process gives way, within a group.


FOREGROUND = Patience(120_000, is_urgent=True)  # the process at work gives way within its group
BACKGROUND = Patience(1_000, is_urgent=False)  # the process at work does our memories as well


def lock_of(home: Home, space: Space) -> str:
    """Return the file that a process working on a space locks."""
    return os.path.join(home.index, f"vectors-{space.name}.lock")


def _urgent_lock_of(home: Home, space: Space) -> str:
    return os.path.join(home.index, f"vectors-{space.name}.urgent.lock")


@contextmanager
def exclusive_work(home: Home, space: Space) -> Iterator[None]:
    """Hold the work on a space for this process alone. Raises StoreBusy, StoreError."""
    with (
        ProcessLock(_urgent_lock_of(home, space), FOREGROUND.wait_ms, "embedding"),
        ProcessLock(lock_of(home, space), FOREGROUND.wait_ms, "embedding"),
    ):
        yield


def remove_locks(home: Home, space: Space) -> None:
    """Delete the lock files of a removed space. Raises OSError."""
    for path in (lock_of(home, space), _urgent_lock_of(home, space), vector_store.lock_path(home, space.name)):
        try:
            os.unlink(path)
        except FileNotFoundError:  # it never existed, or another process deletes it, too
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
    """Embed every pending memory of a space: its text, its passages and its questions. Return the number of texts.

    Vectors are written group by group: a kill loses one group, and no written text is embedded again. A text that the model
    refuses gets the zero vector, which is near to nothing, and is counted in the log. load: makes the model, called when there
    is a text to embed. progress: called after each group with its number of texts. is_wanted: asked before each group; the work
    ends when it returns False. So it does when `pace` says so, which is also asked for a pause before each vector. Raises
    StoreBusy when another process works for longer than `patience`, StoreError, ModelError when the model fails on a plain text
    too.
    """
    urgent_lock = _urgent_lock_of(home, space)

    def is_awaited() -> bool:
        return not patience.is_urgent and is_held(urgent_lock)

    def is_to_stop() -> bool:
        return not pace.goes_on(is_awaited) or is_awaited() or not is_wanted()

    largest = (GROUP_TEXTS, GROUP_CHARACTERS) if patience.is_urgent else (QUIET_TEXTS, QUIET_CHARACTERS)
    work = _Work(store, vectors, space, load, progress, largest, lambda: pace.pause(is_awaited))
    try:
        with ProcessLock(urgent_lock, patience.wait_ms, "embedding") if patience.is_urgent else nullcontext():
            done = 0
            before: list[tuple[int, str]] = []
            # Work in turns until nothing is left: a writer that found the lock taken leaves its memories to us.
            while (waiting := work.waiting()) and waiting != before and not is_to_stop():
                before = waiting  # the remaining memories wait for the vectors to follow the store
                with ProcessLock(lock_of(home, space), patience.wait_ms, "embedding"):
                    done += work.turn(is_to_stop)
            return done
    finally:
        if work.refused:
            log.write_line(home, f"texts that {space.model} refused: {work.refused}; they are found by words alone")


@record
class _Work:
    """The work of one process on one space.

    load: makes the model; largest: texts and characters of a group; pause: called before the next vector; refused: texts.
    """

    store: Store
    vectors: VectorStore
    space: Space
    load: Callable[[], DocumentEmbedder]
    progress: Progress | None
    largest: tuple[int, int]
    pause: Callable[[], None]
    refused: int = 0
    embedder: DocumentEmbedder | None = None

    def waiting(self) -> list[tuple[int, str]]:
        return [] if self.vectors.is_gone() else self.vectors.pending()

    def turn(self, is_to_stop: Callable[[], bool]) -> int:
        """Embed the pending memories. Return the number of texts."""
        done = 0
        waiting = self.waiting()
        max_read = PACKAGED_READS if self.space.is_packaged else GROUP_CHARACTERS
        for start in range(0, len(waiting), MEMORIES_AT_ONCE):
            texts = self._texts(waiting[start : start + MEMORIES_AT_ONCE])
            for group in _split_in_groups(texts, max_read, self.largest):
                if is_to_stop() or self.vectors.is_gone():
                    return done
                done += (count := self.vectors.finish(self._vectors_of_group(group)))
                if self.progress:
                    self.progress(count)
        return done

    def _texts(self, chunk: list[tuple[int, str]]) -> dict[str, tuple[str, list[int]]]:
        """Return the text and the keys of each content hash, without memories that were changed or purged meanwhile."""
        memories = self.store.by_seqs([self.vectors.seq_of(key) for key, _ in chunk])
        texts: dict[str, tuple[str, list[int]]] = {}
        for key, content_hash in chunk:
            memory = memories.get(self.vectors.seq_of(key))
            text, its_hash = texts_of(memory).get(key, ("", "")) if memory is not None else ("", "")
            if its_hash == content_hash:
                texts.setdefault(content_hash, (text, []))[1].append(key)
        return texts

    def _vectors_of_group(self, group: list[tuple[str, str, list[int]]]) -> list[tuple[int, str, list[bytes]]]:
        vectors_by_hash = {content_hash: self.vectors.final_vectors(content_hash) for content_hash, _, _ in group}
        new = [(content_hash, text) for content_hash, text, _ in group if not vectors_by_hash[content_hash]]
        if self.space.is_packaged and (foreign := [(content_hash, text) for content_hash, text in new if is_foreign(text)]):
            its_vectors = neural_encoder.encode_with_passages([text for _, text in foreign])
            for (content_hash, _), vectors in zip(foreign, its_vectors, strict=True):
                vectors_by_hash[content_hash] = vectors
                self.pause()
            new = [(content_hash, text) for content_hash, text in new if not vectors_by_hash[content_hash]]
        if new:
            new_vectors = self._embed_texts([text for _, text in new])
            vectors_by_hash.update(zip((content_hash for content_hash, _ in new), new_vectors, strict=True))
        return [(key, content_hash, vectors_by_hash[content_hash]) for content_hash, _, keys in group for key in keys]

    def _embed_texts(self, texts: list[str]) -> list[list[bytes]]:
        embedder = self.embedder = self.embedder or self.load()
        parts = [[text, *embedder.passages(text)] for text in texts]
        try:
            vectors = iter(list(self._with_pauses(embedder.embed([part for of_text in parts for part in of_text]))))
        except ModelError:
            list(embedder.embed([PLAIN_TEXT]))  # it fails if the model is at fault, not a text
            return [self._embed_text_alone(embedder, of_text) for of_text in parts]
        return [list(islice(vectors, len(of_text))) for of_text in parts]

    def _embed_text_alone(self, embedder: DocumentEmbedder, parts: list[str]) -> list[bytes]:
        try:
            vectors = list(embedder.embed(parts[:1]))
        except ModelError:
            self.refused += 1
            return [bytes(self.space.dimension)]
        with suppress(ModelError):  # Then the whole text stands for its passages, too.
            vectors += list(self._with_pauses(embedder.embed(parts[1:])))
        return vectors

    def _with_pauses(self, vectors: Iterator[bytes]) -> Iterator[bytes]:
        for vector in vectors:
            yield vector
            self.pause()


def _split_in_groups(
    texts: dict[str, tuple[str, list[int]]], max_read: int, largest: tuple[int, int]
) -> Iterator[list[tuple[str, str, list[int]]]]:
    """Yield groups of (content hash, text, keys), of about the `largest` texts and characters. max_read: of a text."""
    max_texts, max_characters = largest
    group: list[tuple[str, str, list[int]]] = []
    characters = 0
    for content_hash, (text, keys) in texts.items():
        group.append((content_hash, text, keys))
        characters += min(len(text), max_read)
        if len(text) > LENGTH_WITH_PASSAGES:
            in_passages = len(text) * neural_encoder.WINDOW // neural_encoder.STEP
            characters += min(in_passages, neural_encoder.MAX_PASSAGES * LENGTH_WITH_PASSAGES)
        if len(group) == max_texts or characters >= max_characters:
            yield group
            group, characters = [], 0
    if group:
        yield group


def is_embedding_due(home: Home) -> bool:
    """Return whether a memory waits for its final vector. An error goes to the log, and counts as not due."""
    if not os.path.exists(home.memories_db):
        return False
    try:
        return any(_is_space_due(home, space) for space in models.spaces_in_use(home, loading.load(home)))
    except (SubcogError, OSError) as error:
        log.write_line(home, f"memories without vectors could not be counted: {error}")
        return False


def _is_space_due(home: Home, space: Space) -> bool:
    """Return whether a memory waits, and no process works on it. It takes 2 ms."""
    if is_held(lock_of(home, space)):
        return False
    try:
        with VectorStore.reader(home, space.name, space.dimension) as vectors:
            if vectors.pending(1):
                return True
            embedded_revision = vectors.watermark()
    except ExtensionMissing:
        return False
    except StoreError:
        embedded_revision = -1  # there are no vectors yet, or they have to be made anew
    with Store.reader(home) as store:
        return embedded_revision < store.revision()


def embed_all_pending(homes: Iterable[Home], pace: Pace = FULL_PACE) -> int:
    """Make the pending vectors of every space in these homes, with the pauses and the end that `pace` gives.

    Return the number of texts. A space that fails does not stop the others; its error is raised at the end.
    """
    done = 0
    failure: Exception | None = None
    for home in homes:
        try:
            models.chosen_space(home, loading.load(home))
        except SubcogError as error:
            log.write_line(home, str(error))
        for space in _spaces_in_use(home):
            if not pace.goes_on():
                break
            try:
                done += _embed_space(home, space, pace)
            except Exception as error:  # noqa: BLE001 - it is raised below
                failure = error
            if not any(space.name == installed.name for installed in models.installed_spaces(home)):
                VectorStore.remove(home, space.name)  # made here just after `models remove` had deleted them
                remove_locks(home, space)  # made anew as well
    if failure:
        raise failure
    return done


def _embed_space(home: Home, space: Space, pace: Pace) -> int:
    """Make a space's pending vectors. Return the number of texts."""
    try:
        with Store.reader(home) as store, models.open_vectors(home, store, space, wait_ms=vector_store.LONG_WAIT_MS) as vectors:
            return embed_pending(
                home,
                store,
                vectors,
                space,
                lambda: neural_encoder.DocumentEmbedder(space),
                BACKGROUND,
                is_wanted=lambda: _is_in_use(home, space),
                pace=pace,
            )
    except StoreBusy:
        return 0  # another process works on it
    except Exception:
        if _is_in_use(home, space):
            raise
        return 0  # it was removed meanwhile


def _spaces_in_use(home: Home) -> list[Space]:
    return models.spaces_in_use(home, loading.load(home))


def _is_in_use(home: Home, space: Space) -> bool:
    return any(space.name == wanted.name for wanted in _spaces_in_use(home))
