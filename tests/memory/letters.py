"""An embedding space that needs no model: a text's vector follows from its letters, the final one from its hash.

Of its own process too: tests/memory/test_vector_processes.py starts some.
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
    """The vector that a document model would give: another one."""
    return _vector("final", text)


def _vector(kind: str, text: str) -> bytes:
    return hashlib.blake2b(f"{kind} {text}".encode(), digest_size=DIMENSION).digest()
