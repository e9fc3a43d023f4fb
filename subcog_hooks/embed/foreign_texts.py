"""The vectors of texts in other languages than English, at rest: of many texts, and of long ones with their passages."""

from __future__ import annotations

import re

from subcog_hooks.embed.documents import passage_spans
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
from subcog_hooks.text.languages import is_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    EncodeAll = Callable[[Sequence[str]], Sequence[bytes | None]]  # texts to int8 vectors, None for a text without one

# About a token of the document model: two characters of a script without blanks, or five of another.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}|\w{1,5}|\S")


def encode_all(texts: Sequence[str], encode_english: EncodeAll) -> list[bytes | None]:
    """Return the vectors of whole texts: of English ones by `encode_english`, of others by the multilingual encoder."""
    foreign_texts = [text for text in texts if is_foreign(text)]
    if not foreign_texts:
        return list(encode_english(texts))
    english_vectors = iter(encode_english([text for text in texts if not is_foreign(text)]))
    encoder = MultilingualEncoder.open()
    try:
        return [(encoder.encode(text) or None) if is_foreign(text) else next(english_vectors) for text in texts]
    finally:
        encoder.close()


def encode_with_passages(texts: Sequence[str]) -> Iterator[list[bytes]]:
    """Yield the final vectors of each text, which is not English: the whole text's, then its passages'."""
    encoder = MultilingualEncoder.open()
    try:
        for text in texts:
            spans = passage_spans([match.span() for match in _TOKEN.finditer(text)])
            parts = (text, *(text[start:end] for start, end in spans))
            yield [encoder.encode(part) or bytes(encoder.dimension) for part in parts]
    finally:
        encoder.close()
