"""An embedding space that needs no model: a text's vector follows from its letters, the final ones from its hash.

A text of more than ten letters has passages.

Of its own process too: tests/store/test_vector_sync.py starts some.
"""

import hashlib
from collections.abc import Sequence

SPACE = "letters"
DIMENSION = 64
MADE_BY = ("model", "encoder")


def encode(texts: Sequence[str]) -> list[bytes | None]:
    """Provisional vectors, `(DIMENSION,) int8`."""
    return [_vector("provisional", text) for text in texts]


def final(text: str) -> bytes:
    """The vector that a document model would give, unlike the provisional one."""
    return _vector("final", text)


def finals(text: str) -> list[bytes]:
    """The vectors that a document model would give for a memory: the whole text's, then its passages'."""
    return [final(text), *(final(text[start : start + 10]) for start in (range(0, len(text), 10) if len(text) > 10 else ()))]


def _vector(kind: str, text: str) -> bytes:
    return hashlib.blake2b(f"{kind} {text}".encode(), digest_size=DIMENSION).digest()
