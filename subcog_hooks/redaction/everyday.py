"""Everyday secrets: known by a noun, a tool or a header beside them, in sentences, configuration and command lines.

In a sentence a secret stands behind a noun for it ("the password of the admin", "das Passwort für den Server") and a verb
or a colon, in seven languages. A word that describes a password ("is required") is no secret: see `secret_values.is_stated`.
"""

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import re2

from subcog_hooks.core.tables import read_rows
from subcog_hooks.redaction import secret_values
from subcog_hooks.redaction.masking import MAX_WHOLE_WORD, SECRET_NOUNS
from subcog_hooks.redaction.secret_values import MARKER, is_seed

# The search runs on a Latin-1 copy of the same length: for all of Unicode, RE2 takes ten times as long.
_REPLACEMENTS = {'"': "“”„‹›", "'": "‘’‚", "-": "–—", ">": "→", ":": "：", "=": "＝", ",": "、。，；", " ": "\u2009\u202f"}
_LOWERED = bytes.maketrans(
    "\t\u00a0ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜ".encode("latin-1"), "  àáâãäåçèéêëìíîïñòóôõöùúûü".encode("latin-1")
)
_PART = re.compile(r"<([a-z ]+)>")
_TAIL = ".:!?)]}*\\"  # These signs may follow a value in a sentence.
_MAX_JUDGED = 500  # characters of a value; a wallet's 24 words may have as many
_PHRASE_WORDS = range(12, 25)


class EverydayRow(NamedTuple):
    """A pattern whose groups are secrets if their judges agree. The last judge also judges the groups behind its own."""

    kind: str
    nouns: tuple[str, ...]  # kinds of `prefixes.SECRET_NOUNS`; a text without their words is not searched
    pattern: str
    judges: tuple[Callable[[str], bool], ...]
    items: str  # The first group is a list, and this pattern's groups in it are judged.


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


def find_everyday(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the everyday secrets in `text`, in linear time.

    >>> text = "Die PIN der Tür lautet 4711."
    >>> [text[start:end] for start, end, _ in find_everyday(text)]
    ['4711']
    """
    yield from _find_wallets(text)
    lowered = text.lower().replace("’", "'").encode("latin-1", "replace")
    kinds = {_KINDS[index] for index in _noun_automaton().Match(lowered) or ()}
    if not kinds:
        return
    data = _copy_in_latin1(text)
    for row in ROWS:
        if kinds.isdisjoint(row.nouns):
            continue
        for start, end, judge in _candidate_values(row, data):
            value = text[start:end].rstrip(_TAIL)
            if value and MARKER not in value and judge(value[:_MAX_JUDGED]):
                yield start, start + len(value), row.kind


def _copy_in_latin1(text: str) -> bytes:
    if not text.isascii():
        for letter, others in _REPLACEMENTS.items():
            for other in others:
                text = text.replace(other, letter)
    return text.encode("latin-1", "replace").translate(_LOWERED)


def _candidate_values(row: EverydayRow, data: bytes) -> Iterator[tuple[int, int, Callable[[str], bool]]]:
    for match in _compile_pattern(row.pattern).finditer(data):
        for item in _compile_pattern(row.items).finditer(data, *match.span(1)) if row.items else (match,):
            for group in range(1, len(item.groups()) + 1):
                if item.start(group) >= 0:
                    yield *item.span(group), row.judges[min(group, len(row.judges)) - 1]


def _find_wallets(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the unannounced phrases of wallets: twelve words in a row of the wallets' word list."""
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
        if len(run) in _PHRASE_WORDS and is_seed(text[run[0].start() : run[-1].end()]):
            yield run[0].start(), run[-1].end(), "seed phrase"
        run = []


@cache
def _wallet_words() -> frozenset[str]:
    with open(os.path.join(os.path.dirname(__file__), "wallet_words.txt"), encoding="ascii") as file:
        return frozenset(file.read().split())


_KINDS = tuple(SECRET_NOUNS)


@cache
def _noun_automaton() -> re2.Set:
    words = re2.Set.SearchSet(_re2_options())
    for kind in _KINDS:
        words.Add(_words_pattern(kind).encode("latin-1"))
    words.Compile()
    return words


@cache
def _compile_pattern(pattern: str) -> re2._Regexp:
    while (part := _PART.search(pattern)) is not None:
        pattern = pattern.replace(part[0], _PARTS.get(part[1]) or _words_pattern(part[1]))
    options = _re2_options()
    options.case_sensitive = False
    return re2.compile(pattern.encode("latin-1"), options)


def _words_pattern(kind: str) -> str:
    words = [(word, re2.escape(word).replace(r"\ ", "[ _-]")) for word in SECRET_NOUNS[kind]]
    return "(?:" + "|".join(rf"\b{pattern}s?\b" if len(word) <= MAX_WHOLE_WORD else pattern for word, pattern in words) + ")"


def _re2_options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return options
