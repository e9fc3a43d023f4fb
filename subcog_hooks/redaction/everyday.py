"""Everyday secrets: known by a noun, a tool or a header beside them, in sentences, configuration and command lines.

In a sentence a secret stands behind a noun for it ("the password of the admin", "das Passwort für den Server") and a verb
or a colon, in seven languages. A word that describes a password ("is required") is none: see `secret_values.is_stated`.
"""

from __future__ import annotations

import os
import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import re2

from subcog_hooks.core.tables import read_rows
from subcog_hooks.redaction import secret_values
from subcog_hooks.redaction.prefixes import BESIDE, WHOLE_WORD
from subcog_hooks.redaction.secret_values import MARKER, is_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A text is searched in a copy in Latin-1 and of the same length: for all of Unicode, RE2 takes ten times as long.
_COPIED = {'"': "“”„‹›", "'": "‘’‚", "-": "–—", ">": "→", ":": "：", "=": "＝", ",": "、。，；", " ": "\u2009\u202f"}
_LATIN = bytes.maketrans("\t\u00a0ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜ".encode("latin-1"), "  àáâãäåçèéêëìíîïñòóôõöùúûü".encode("latin-1"))
_PART = re.compile(r"<([a-z ]+)>")
_TAIL = ".:!?)]}*\\"  # what may follow a value in a sentence
_LONGEST_JUDGED = 500  # characters of a value: as many as a wallet's 24 words may have
_WORDS_OF_A_PHRASE = range(12, 25)


class EverydayRow(NamedTuple):
    """A pattern whose groups are secrets where their judges agree; the last judge also judges the groups behind its own."""

    kind: str
    beside: tuple[str, ...]  # kinds of `prefixes.BESIDE`: a text with none of their words is not searched
    pattern: str
    judges: tuple[Callable[[str], bool], ...]
    items: str  # where the first group is a list: a pattern of its items, whose groups are judged


def _read_patterns() -> tuple[EverydayRow, ...]:
    judges = {**vars(secret_values), "isdigit": str.isdigit}
    return tuple(
        EverydayRow(kind, tuple(beside.split("|")), pattern, tuple(judges[name] for name in names.split()), "".join(items))
        for kind, beside, pattern, names, *items in read_rows(__file__, "everyday.tsv")
    )


def _read_parts() -> dict[str, str]:
    parts: dict[str, str] = {}
    for name, pattern in read_rows(__file__, "everyday_parts.tsv"):
        parts[name] = f"{parts[name]}|{pattern}" if name in parts else pattern
    return parts


ROWS = _read_patterns()
_PARTS = _read_parts()


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the everyday secrets in `text`, in linear time.

    >>> text = "Die PIN der Tür lautet 4711."
    >>> [text[start:end] for start, end, _ in find(text)]
    ['4711']
    """
    yield from _find_wallets(text)
    kinds = {_KINDS[index] for index in _beside().Match(text.lower().replace("’", "'").encode("latin-1", "replace")) or ()}
    if not kinds:
        return
    data = _copied(text)
    for row in ROWS:
        if kinds.isdisjoint(row.beside):
            continue
        for start, end, judge in _values(row, data):
            value = text[start:end].rstrip(_TAIL)
            if value and MARKER not in value and judge(value[:_LONGEST_JUDGED]):
                yield start, start + len(value), row.kind


def _copied(text: str) -> bytes:
    if not text.isascii():
        for letter, others in _COPIED.items():
            for other in others:
                text = text.replace(other, letter)
    return text.encode("latin-1", "replace").translate(_LATIN)


def _values(row: EverydayRow, data: bytes) -> Iterator[tuple[int, int, Callable[[str], bool]]]:
    """Yield where in `data` each value of a row begins and ends, and what judges it."""
    for match in _compiled(row.pattern).finditer(data):
        for item in _compiled(row.items).finditer(data, *match.span(1)) if row.items else (match,):
            for group in range(1, len(item.groups()) + 1):
                if item.start(group) >= 0:
                    yield *item.span(group), row.judges[min(group, len(row.judges)) - 1]


def _find_wallets(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the phrases of wallets that nothing announces: twelve words in a row of the list that wallets draw from."""
    words = text.replace(",", " ").split()
    listed = _wallet_words()
    sixth = [position for position in range(5, len(words), 6) if words[position] in listed]
    if not any(listed.issuperset(words[position : position + 7]) for position in sixth):
        return
    run: list[re.Match[str]] = []
    for word in chain(re.finditer(r"[^\s,.;]+", text), [None]):
        if word and word[0] in listed:
            run.append(word)
            continue
        if len(run) in _WORDS_OF_A_PHRASE and is_seed(text[run[0].start() : run[-1].end()]):
            yield run[0].start(), run[-1].end(), "seed phrase"
        run = []


@cache
def _wallet_words() -> frozenset[str]:
    with open(os.path.join(os.path.dirname(__file__), "wallet_words.txt"), encoding="ascii") as file:
        return frozenset(file.read().split())


_KINDS = tuple(BESIDE)


@cache
def _beside() -> re2.Set:
    """Return one automaton that tells in one pass of which kinds a text has words."""
    words = re2.Set.SearchSet(_options())
    for kind in _KINDS:
        words.Add(_words(kind).encode("latin-1"))
    words.Compile()
    return words


@cache
def _compiled(pattern: str) -> re2._Regexp:
    """Return a pattern with its parts written out, compiled."""
    while (part := _PART.search(pattern)) is not None:
        pattern = pattern.replace(part[0], _PARTS.get(part[1]) or _words(part[1]))
    options = _options()
    options.case_sensitive = False
    return re2.compile(pattern.encode("latin-1"), options)


def _words(kind: str) -> str:
    """Return a pattern of the words of a kind: short ones by themselves, and for a blank any joint."""
    words = [(word, re2.escape(word).replace(r"\ ", "[ _-]")) for word in BESIDE[kind]]
    return "(?:" + "|".join(rf"\b{pattern}s?\b" if len(word) <= WHOLE_WORD else pattern for word, pattern in words) + ")"


def _options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return options
