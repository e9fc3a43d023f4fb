"""The static encoder for many texts at once, with numpy. For the terminal; the hook never loads it.

The ids come from our own WordPiece. With its cache of words it splits 10,000 texts of 40 words in .2 to .7 s. The `tokenizers`
library needs 1.1 to 1.4 s on one core, and would have to be kept equal to it.
"""

from __future__ import annotations

import numpy as np

from subcog_hooks.embed.layout import INT8, PackedEncoder
from subcog_hooks.embed.query_encoder import MAX_TOKENS, OF_FIRST, OF_SECOND, PACKAGED, token_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_CACHED_WORDS = 100_000  # words; some 20 MB


def encode_many(texts: Iterable[str], path: str = PACKAGED) -> list[bytes]:
    """Return the vectors of the texts, equal to StaticEncoder.encode up to a unit of rounding in a value.

    Each is `dimension` signed bytes, or b"". Raises EncoderUnusable.
    """
    packed = PackedEncoder(path)
    try:
        values, scales = packed.all_rows()
        ids_by_word: dict[str, list[int]] = {}
        encoded = []
        for text in texts:
            if len(ids_by_word) > MAX_CACHED_WORDS:
                ids_by_word.clear()
            ids = np.array(token_ids(text, packed.match, MAX_TOKENS, ids_by_word), np.int64)
            if not len(ids):
                encoded.append(b"")
                continue
            pairs = (ids[:-1] * OF_FIRST + ids[1:] * OF_SECOND) % packed.bigrams
            rows = np.concatenate((ids, packed.tokens + pairs))
            sums = scales[rows] @ values[rows].astype(np.float32)
            peak = np.abs(sums).max()
            encoded.append(np.rint(sums * (INT8 / peak)).astype(np.int8).tobytes() if peak else b"")
        return encoded
    finally:
        packed.close()
