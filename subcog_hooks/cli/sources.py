"""What `search` reads: the index and the vectors, and which model gives the query its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from subcog_hooks.cli import session
from subcog_hooks.config import Settings
from subcog_hooks.embed import models
from subcog_hooks.embed.static import StaticEncoder
from subcog_hooks.errors import ModelError, StoreError
from subcog_hooks.memory import sync
from subcog_hooks.memory.index import IndexUnusable
from subcog_hooks.memory.store import Filter, Store
from subcog_hooks.memory.vector_file import ExtensionMissing
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall import pipeline, semantic
from subcog_hooks.recall.candidates import HYBRID, Sources
from subcog_hooks.recall.hits import LEXICAL, Answer


@contextmanager
def opened(store: Store, settings: Settings, mode: str = HYBRID, *, fast: bool) -> Iterator[Sources]:
    """What recall reads, brought up to date. fast: as the hook does, else the query is embedded by a neural model.

    The model of the user's choice, where it can not answer the packaged one, where that can not the static encoder: the best
    that there is answers, and the answer says what was missing.
    """
    index = session.index_of(store)
    alpha = float(settings["fusion.alpha"])
    if mode == LEXICAL:
        yield Sources(index, store, None, alpha)
        return
    space, note = _space(store, settings, fast=fast)
    if space is None:
        yield Sources(index, store, None, alpha, note)
        return
    with space.vectors:
        yield Sources(index, store, space, alpha, note)


def _space(store: Store, settings: Settings, *, fast: bool) -> tuple[semantic.Channel | None, str | None]:
    """The best space that there is, and in one sentence why it is not a better one."""
    missed: list[str] = []
    ways: list[Callable[[], semantic.Channel]] = []
    if not fast:
        try:
            chosen = models.find(session.home(), str(settings[models.SETTING]))
        except ModelError as error:
            missed.append(error.message)
            chosen = models.PACKAGED
        ways = [partial(_neural, store, space) for space in dict.fromkeys((chosen, models.PACKAGED))]
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
    """What to say of vectors that another process is still bringing up to date."""
    if vectors.watermark() >= store.revision():
        return None
    return "the vectors have not followed yet; the newest memories are found by words alone"


def _neural(store: Store, space: models.Space) -> semantic.Channel:
    """A space whose query is embedded by its neural model, which is loaded when all the rest is there.

    Raises StoreError, ModelError: of the user's choice also while some memories are not embedded in it.
    """
    if lacking := models.missing(space):
        raise ModelError(f"the model {space.model} lacks {lacking[0]}", space.remedy)
    vectors = session.vectors_of(store, space)
    try:
        final, pending = vectors.counts()
        if pending and not space.is_packaged:  # only there the others have provisional ones
            raise ModelError(f"{pending} of {final + pending} memories are not embedded with {space.name} yet")
        return semantic.Channel(vectors, _query_of(space))
    except BaseException:
        vectors.close()
        raise


def _query_of(space: models.Space) -> Callable[[str], bytes]:
    from subcog_hooks.embed.documents import DocumentEmbedder  # 600 ms with its libraries

    try:
        return DocumentEmbedder(space).query
    except ModelError as error:
        raise ModelError(f"the model {space.model} can not be loaded (`subcog doctor` says why)") from error


def _static(store: Store) -> semantic.Channel:
    encoder = StaticEncoder.open()
    return semantic.Channel(session.vectors_of(store, models.PACKAGED), encoder.encode)


def search(text: str, of: Sources, wanted: Filter, limit: int, offset: int, mode: str) -> Answer:
    """A page of hits; an index that turns out to be damaged is rebuilt on the way. Raises StoreError."""
    try:
        answer = pipeline.search(text, of, wanted, limit, offset, mode)
    except IndexUnusable:
        of.index = sync.rebuild(session.home(), of.store)
        answer = pipeline.search(text, of, wanted, limit, offset, mode)
    if of.index.watermark() < of.store.revision() and answer.note is None:
        answer.note = "the index is being written by another process; the newest memories may be missing"
    return answer
