"""The spaces that memories are embedded in, and the first vectors there. models.py lists the models."""

from __future__ import annotations

from subcog_hooks.core.errors import ModelError
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store import vector_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed.space import Space
    from subcog_hooks.settings.defaults import Settings
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import Encode, Progress, VectorStore

_MANY = 50  # texts; from there on numpy is worth its import and reading all rows


def spaces_in_use(home: Home, settings: Settings) -> list[Space]:
    """Return the packaged space, which the hook uses, and the user's space if its model is installed."""
    try:
        chosen = models.chosen_space(home, settings)
    except ModelError:  # a search raises it
        chosen = PACKAGED
    return [PACKAGED] if chosen.is_packaged else [PACKAGED, chosen]


def open_vectors(
    home: Home,
    store: Store,
    space: Space,
    progress: Progress | None = None,
    *,
    anew: bool = False,
    parts: bool = False,
    wait_ms: int | None = None,
) -> VectorStore:
    """Return the vectors of a space, brought to the store's revision by `vector_store.open_following`. Raises StoreError."""
    return vector_store.open_following(
        home,
        store,
        space.name,
        space.dimension,
        provisional_encoder(space),
        progress,
        made_by=models.vector_makers(space),
        anew=anew,
        parts=parts,
        wait_ms=wait_ms,
    )


def provisional_encoder(space: Space) -> Encode:
    """Return the encoder that gives a space's new memories their first vectors.

    It is the static encoder in the packaged space; others get None.
    """
    if not space.is_packaged:
        return lambda texts: [None] * len(texts)

    def encode_english(texts: Sequence[str]) -> list[bytes | None]:
        if len(texts) >= _MANY:
            from subcog_hooks.embed.bulk import encode_many  # with numpy, 65 ms

            return [vector or None for vector in encode_many(texts)]
        from subcog_hooks.embed.query_encoder import StaticEncoder  # most callers have no new texts

        encoder = StaticEncoder.open()
        try:
            return [encoder.encode(text) or None for text in texts]
        finally:
            encoder.close()

    def encode(texts: Sequence[str]) -> list[bytes | None]:
        from subcog_hooks.embed import documents  # most callers have no new texts

        return documents.encode_all(texts, encode_english)

    return encode
