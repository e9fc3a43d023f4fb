"""A recall in the hook: the files that it reads, and its hits about files that are gone or loaded by the client."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import SubcogError
from subcog_hooks.embed import query_encoder
from subcog_hooks.embed.query_encoder import encode_by_language
from subcog_hooks.recall import tuning
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import is_loaded_by_client
from subcog_hooks.store.vector_file import ExtensionMissing, vectors_path
from subcog_hooks.store.vector_reader import VectorReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.recall.hits import Hit

VECTORS_WAIT_MS = 20.0  # Recall works by words where another process has locked the vectors longer.

_left_open: list[VectorReader | query_encoder.StaticEncoder] = []  # Closing costs a millisecond, and the process ends anyway.


def close_left_open() -> None:
    """Close the files that searches in this process have left open, where the process goes on."""
    while _left_open:
        _left_open.pop().close()


def open_sources(call: HookCall) -> Sources:
    """Open the index, the store and the vectors. Recall works without vectors; `doctor` reports why."""
    numbers = tuning.tuning_from_settings(call.settings)
    index = LexicalIndex.open(call.home)
    store = call.store
    if numbers.alpha == 0.0 or not os.path.exists(vectors_path(call.home, query_encoder.SPACE)):
        return Sources(index, store, None, numbers)
    try:
        encoder = query_encoder.StaticEncoder.open()
        _left_open.append(encoder)
        vectors = VectorReader.reader(call.home, query_encoder.SPACE, encoder.dimension, VECTORS_WAIT_MS)
    except ExtensionMissing:
        return Sources(index, store, None, numbers)
    except SubcogError as error:
        call.log(f"recall by words alone: {error}")
        return Sources(index, store, None, numbers)
    _left_open.append(vectors)
    return Sources(index, store, recall_vectors.SearchSpace(vectors, encode_by_language(encoder.encode)), numbers)


def discount_absent(hits: Sequence[Hit], call: HookCall) -> None:
    """Discount the hits about missing files, and mark the hits that the client has loaded."""
    if any(hit.memory.paths or is_loaded_by_client(hit.memory.source) for hit in hits):
        from subcog_hooks.hook import absent_files  # .2 ms, and few memories have paths or are the client's own.

        absent_files.discount_absent(hits, call)
