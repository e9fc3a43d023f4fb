"""The sources that `search` reads: the index and the vectors, and which model gives the query its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from subcog_hooks.cli.support import session
from subcog_hooks.deadline import Deadline
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.embed.static import StaticEncoder
from subcog_hooks.errors import ModelError, StoreError
from subcog_hooks.memory import sync
from subcog_hooks.memory.index import IndexUnusable
from subcog_hooks.memory.store import Store
from subcog_hooks.memory.vector_file import ExtensionMissing
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall import cascade, semantic, tuning
from subcog_hooks.recall.candidates import HYBRID, Request, Sources
from subcog_hooks.recall.hits import LEXICAL, Answer
from subcog_hooks.settings.loading import Settings


@contextmanager
def opened(store: Store, settings: Settings, mode: str = HYBRID, *, fast: bool) -> Iterator[Sources]:
    """Yield what recall reads, brought up to date. fast: as the hook does, else the query is embedded by a neural model.

    The model of the user's choice, where it can not answer the packaged one, where that can not the static encoder: the best
    that there is answers, and the answer says what was missing.
    """
    index = session.index_of(store)
    numbers = tuning.from_settings(settings)
    if mode == LEXICAL or (mode == HYBRID and numbers.alpha == 0.0):  # no model is loaded for what has no share
        yield Sources(index, store, None, numbers)
        return
    space, note = _space(store, settings, fast=fast)
    if space is None:
        yield Sources(index, store, None, numbers, note)
        return
    with space.vectors:
        yield Sources(index, store, space, numbers, note)


def _space(store: Store, settings: Settings, *, fast: bool) -> tuple[semantic.SearchSpace | None, str | None]:
    """Return the best space that there is, and in one sentence why it is not a better one."""
    missed: list[str] = []
    ways: list[Callable[[], semantic.SearchSpace]] = []
    if not fast:
        try:
            chosen = models.find(session.home(), str(settings[models.SETTING]))
        except ModelError as error:
            missed.append(error.message)
            chosen = PACKAGED
        ways = [partial(_neural, store, space) for space in dict.fromkeys((chosen, PACKAGED))]
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


def _neural(store: Store, space: Space) -> semantic.SearchSpace:
    """Return a space whose query is embedded by its neural model, which is loaded when all the rest is there.

    Raises StoreError, ModelError: of the user's choice also while some memories are not embedded in it.
    """
    if lacking := models.missing(space):
        raise ModelError(f"the model {space.model} lacks {lacking[0]}", space.remedy)
    vectors = session.vectors_of(store, space)
    try:
        final, pending = vectors.counts()
        if pending and not space.is_packaged:  # only there the others have provisional ones
            raise ModelError(f"{pending} of {final + pending} memories are not embedded with {space.name} yet")
        encode = _query_of(space)
        return semantic.SearchSpace(vectors, semantic.in_latin(encode) if space.is_packaged else encode)
    except BaseException:
        vectors.close()
        raise


def _query_of(space: Space) -> Callable[[str], bytes]:
    from subcog_hooks.embed.documents import DocumentEmbedder  # 200 ms with its libraries

    try:
        return DocumentEmbedder(space).query
    except ModelError as error:
        raise ModelError(f"the model {space.model} can not be loaded (`subcog doctor` says why)") from error


def _static(store: Store) -> semantic.SearchSpace:
    encoder = StaticEncoder.open()
    return semantic.SearchSpace(session.vectors_of(store, PACKAGED), semantic.in_latin(encoder.encode))


def search(request: Request, of: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Return a page of hits; an index that turns out to be damaged is rebuilt on the way. Raises StoreError."""
    try:
        answer = cascade.search(request, of, deadline, limit, offset)
    except IndexUnusable:
        of.index = sync.rebuild(session.home(), of.store)
        answer = cascade.search(request, of, deadline, limit, offset)
    if of.index.watermark() < of.store.revision():
        lag = "the index is being written by another process; the newest memories may be missing"
        answer.note = "; ".join(filter(None, (answer.note, lag)))
        answer.is_degraded = True
    return answer
