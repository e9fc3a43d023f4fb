"""The sources that `search` reads: the index and the vectors, and which model gives the query its own."""

import _thread
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import ModelError, StoreError
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.embed.static import StaticEncoder
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall import tuning
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import HYBRID, Request, Sources
from subcog_hooks.recall.hits import LEXICAL, Answer
from subcog_hooks.settings.loading import Settings
from subcog_hooks.store import index_sync
from subcog_hooks.store.index import IndexUnusable
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_file import ExtensionMissing
from subcog_hooks.store.vector_store import VectorStore

LOADING_SHARE = 0.8  # of the time of a search, for loading a model: the rest is for searching without it
Encode = Callable[[str], bytes]  # a text to its vector


class Loading:
    """The milliseconds that a neural model is waited for at most, and those that it has taken."""

    __slots__ = ("most_ms", "taken_ms")

    def __init__(self, search_ms: float) -> None:
        self.most_ms = LOADING_SHARE * search_ms
        self.taken_ms = 0.0


@contextmanager
def opened(
    store: Store, settings: Settings, mode: str = HYBRID, *, fast: bool, loading: Loading | None = None
) -> Iterator[Sources]:
    """Yield what recall reads, brought up to date.

    fast: as the hook does, else the query is embedded by a neural model, which is waited for without end where `loading` does
    not bound it.

    The model of the user's choice, where it can not answer the packaged one, where that can not the static encoder: the best
    that there is answers, and the answer says what was missing.
    """
    index = context.index_of(store)
    numbers = tuning.tuning_from_settings(settings)
    if mode == LEXICAL or (mode == HYBRID and numbers.alpha == 0.0):  # no model is loaded for what has no share
        yield Sources(index, store, None, numbers)
        return
    space, note = _space(store, settings, fast=fast, loading=loading)
    if space is None:
        yield Sources(index, store, None, numbers, note)
        return
    with space.vectors:
        yield Sources(index, store, space, numbers, note)


def _space(
    store: Store, settings: Settings, *, fast: bool, loading: Loading | None
) -> tuple[recall_vectors.SearchSpace | None, str | None]:
    """Return the best space that there is, and in one sentence why it is not a better one."""
    missed: list[str] = []
    ways: list[Callable[[], recall_vectors.SearchSpace]] = []
    if not fast:
        try:
            chosen = models.find_space(context.home(), str(settings[models.SETTING]))
        except ModelError as error:
            missed.append(error.message)
            chosen = PACKAGED
        ways = [partial(_neural, store, space, loading) for space in dict.fromkeys((chosen, PACKAGED))]
    ways.append(partial(_static, store))
    for way in ways:
        try:
            space = way()
            return space, missed[0] if missed else _lag(space.vectors, store)
        except ExtensionMissing as error:  # no other model can do without it
            return None, error.message
        except (StoreError, ModelError) as error:
            missed.append(error.message)
    return None, f"found by words alone: {missed[-1]}"


def _lag(vectors: VectorStore, store: Store) -> str | None:
    """Return what to say of vectors that another process is still bringing up to date."""
    if vectors.watermark() >= store.revision():
        return None
    return "the vectors have not followed yet; the newest memories are found by words alone"


def _neural(store: Store, space: Space, loading: Loading | None) -> recall_vectors.SearchSpace:
    """Return a space whose query is embedded by its neural model, which is loaded when all the rest is there.

    Raises StoreError, ModelError: of the user's choice also while some memories are not embedded in it.
    """
    if lacking := models.missing_files(space):
        raise ModelError(f"the model {space.model} lacks {lacking[0]}", space.remedy)
    vectors = context.vectors_of(store, space)
    try:
        final, pending = vectors.counts()
        if pending and not space.is_packaged:  # only there the others have provisional ones
            raise ModelError(f"{pending} of {final + pending} memories are not embedded with {space.name} yet")
        encode = _query_of(space) if loading is None else _query_in_time(space, loading)
        return recall_vectors.SearchSpace(vectors, recall_vectors.latin_only(encode) if space.is_packaged else encode)
    except BaseException:
        vectors.close()
        raise


def _query_in_time(space: Space, loading: Loading) -> Encode:
    """Return what embeds a query. Raises ModelError also when the time is over before the model is there.

    Then it goes on being loaded, and the process must not wait for that.
    """
    loaded: list[Encode] = []
    failed: list[Exception] = []
    is_over = _thread.allocate_lock()
    is_over.acquire()

    def load() -> None:
        try:
            loaded.append(_query_of(space))
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            failed.append(error)
        finally:
            is_over.release()

    started = time.perf_counter()
    terminal.has_left_work = True  # until it has been waited for: Ctrl-C ends the process meanwhile
    _thread.start_new_thread(load, ())
    is_there = is_over.acquire(timeout=max(0.0, loading.most_ms - loading.taken_ms) / 1000.0)
    loading.taken_ms += (time.perf_counter() - started) * 1000.0
    if not is_there:
        raise ModelError(f"the model {space.model} took too long to load; `search.timeout_ms` gives it more time")
    terminal.has_left_work = False
    if failed:
        raise failed[0]
    return loaded[0]


def _query_of(space: Space) -> Encode:
    from subcog_hooks.embed.documents import DocumentEmbedder  # 200 ms with its libraries

    try:
        return DocumentEmbedder(space).query
    except ModelError as error:
        raise ModelError(f"the model {space.model} can not be loaded (`subcog doctor` says why)") from error


def _static(store: Store) -> recall_vectors.SearchSpace:
    encoder = StaticEncoder.open()
    return recall_vectors.SearchSpace(context.vectors_of(store, PACKAGED), recall_vectors.latin_only(encoder.encode))


def search(request: Request, of: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Return a page of hits; an index that turns out to be damaged is rebuilt on the way. Raises StoreError."""
    try:
        answer = recall_search.search_memories(request, of, deadline, limit, offset)
    except IndexUnusable:
        of.index = index_sync.rebuild(context.home(), of.store)
        answer = recall_search.search_memories(request, of, deadline, limit, offset)
    if of.index.watermark() < of.store.revision():
        lag = "the index is being written by another process; the newest memories may be missing"
        answer.note = "; ".join(filter(None, (answer.note, lag)))
        answer.is_degraded = True
    return answer
