"""Forms that look random and are public: public keys, certificates, fingerprints, names of classes.

Facts from the formats' own documentation. Only a guess gives way to them: a vendor's token stays a secret wherever it stands.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import re2

from subcog_hooks.core.tables import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

_JWK = re2.compile(r"\{[^{}]*\"kty\"[^{}]*\}")
_PRIVATE_PART = re.compile(r"\"(?:d|k|p|q|dp|dq|qi)\"")


def find_public(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of public values in a text of ASCII, one byte for each character.

    >>> [(start, end) for start, end in find_public(b"push with ssh-ed25519 AAAAC3Nz ada@host")]
    [(10, 30)]
    """
    for match in _public_forms().finditer(data):
        yield match.span()
    for match in _JWK.finditer(data):
        if not _PRIVATE_PART.search(match[0].decode("ascii")):
            yield match.span()


@cache
def _public_forms() -> re2._Regexp:
    return re2.compile("|".join(f"(?:{form})" for (form,) in read_rows(__file__, "public_forms.tsv")))
