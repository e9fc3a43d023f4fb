"""The spaces that memories are embedded in, and their first vectors there. What models there are is in models.py."""

from __future__ import annotations

from subcog_hooks.core.errors import ModelError
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store import vector_sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed.space import Space
    from subcog_hooks.settings.loading import Settings
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import VectorStore
    from subcog_hooks.store.vector_sync import Encode, Progress

_MANY = 50  # texts from which numpy is worth its import and the reading of all rows


def in_use(home: Home, settings: Settings) -> list[Space]:
    """Return the packaged space, which the hook uses, and the one that the user has chosen, when its model is there."""
    try:
        chosen = models.chosen(home, settings)
    except ModelError:  # whoever searches is told
        chosen = PACKAGED
    return [PACKAGED] if chosen.is_packaged else [PACKAGED, chosen]


def open_following(
    home: Home,
    store: Store,
    space: Space,
    progress: Progress | None = None,
    *,
    anew: bool = False,
    parts: bool = False,
    wait_ms: int | None = None,
) -> VectorStore:
    """Return the vectors of a space, brought to the store's revision by `vector_sync.open_following`. Raises StoreError."""
    return vector_sync.open_following(
        home,
        store,
        space.name,
        space.dimension,
        provisional(space),
        progress,
        made_by=models.made_by(space),
        anew=anew,
        parts=parts,
        wait_ms=wait_ms,
    )


def provisional(space: Space) -> Encode:
    """Return the encoder that gives a space's new memories their first vectors.

    It is the static encoder in the packaged space, None elsewhere.
    """
    if not space.is_packaged:
        return lambda texts: [None] * len(texts)

    def encode(texts: Sequence[str]) -> list[bytes | None]:
        if len(texts) >= _MANY:
            from subcog_hooks.embed.bulk import encode_many  # with numpy, 65 ms

            return [vector or None for vector in encode_many(texts)]
        from subcog_hooks.embed.static import StaticEncoder  # most callers have nothing new

        encoder = StaticEncoder.open()
        try:
            return [encoder.encode(text) or None for text in texts]
        finally:
            encoder.close()

    return encode
