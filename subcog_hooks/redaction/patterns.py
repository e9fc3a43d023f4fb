"""Patterns of some 400 vendors' secrets: a table that `scripts/redaction/catalogue.py` writes, compiled when needed.

Betterleaks' rules (MIT) and a few of Veles' (Apache-2.0), as Kingfisher's package carries them; see NOTICE beside the table.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import re2

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLE = os.path.join(os.path.dirname(__file__), "catalogue.json")


class _CatalogueRow(NamedTuple):
    kind: str
    literals: tuple[str, ...]  # in small letters; a text without any of them cannot match
    pattern: str
    group: int  # the secret's group; 0: the first group that matched, else the whole match
    entropy: float  # minimum, in bits a character


def find_vendor_secrets(text: str, data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the secrets in `text` that have a vendor's form.

    data: `text` in ASCII, one byte for each character.
    """
    for row in _candidate_rows(data.lower()):
        for match in _compile_pattern(row.pattern).finditer(data):
            groups = (row.group,) if row.group else range(1, len(match.groups()) + 1)
            group = next((group for group in groups if match.start(group) >= 0), 0)
            start, end = match.span(group)
            if end > start and _entropy(text[start:end]) >= row.entropy:
                yield start, end, row.kind


def _entropy(text: str) -> float:
    """Return the Shannon entropy of the characters of `text`, in bits a character."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def _candidate_rows(lowered: bytes) -> list[_CatalogueRow]:
    rows = _catalogue_rows()
    return [rows[index] for index in sorted(_literal_automaton().Match(lowered) or ())]


@cache
def _literal_automaton() -> re2.Set:
    literals = re2.Set.SearchSet()
    for row in _catalogue_rows():
        literals.Add("|".join(map(re2.escape, row.literals)))
    literals.Compile()
    return literals


@cache
def _catalogue_rows() -> tuple[_CatalogueRow, ...]:
    with open(_TABLE, encoding="ascii") as file:
        rows = json.load(file)
    return tuple(
        _CatalogueRow(kind, tuple(literals), pattern, group, entropy) for kind, literals, pattern, group, entropy in rows
    )


@cache
def _compile_pattern(pattern: str) -> re2._Regexp:
    return re2.compile(pattern)
