"""Everyday secrets: known by a noun, a tool or a header beside them, in sentences, configuration and command lines.

A statement has a noun for a secret, a link (a verb, a colon) and a value, in any order and in many languages: "the password of
the admin is …", "… ist das Passwort". A word that describes a password ("is required") is no secret: `secret_values.is_stated`.
"""

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import re2

from subcog_hooks.core.files import read_rows
from subcog_hooks.redaction import secret_values
from subcog_hooks.redaction.masking import MAX_WHOLE_WORD, SECRET_NOUNS
from subcog_hooks.redaction.secret_values import MARKER, is_key, is_mixture, is_seed, names_topic

# The search runs on a Latin-1 copy of the same length: for all of Unicode, RE2 takes ten times as long.
_REPLACEMENTS = ('"“”„‹›「」『』', "'‘’‚", "-–—", ">→", ":：", "=＝", ",、。，；", "(（", ")）", " \u2009\u202f")
_LOWERED = bytes.maketrans(
    "\t\u00a0ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜ".encode("latin-1"), "  àáâãäåçèéêëìíîïñòóôõöùúûü".encode("latin-1")
)
# In the copy, a byte that few texts have stands for a noun beyond Latin-1, and the signs below for links and letters.
_SIGNS = {kind: chr(0x80 + index) for index, kind in enumerate(SECRET_NOUNS)}
_SIGNS_OF_WORDS = {word: sign for kind, sign in _SIGNS.items() for word in SECRET_NOUNS[kind] if max(word) > "\xff"}
_IS_SIGN, _LETTER_SIGN, _IDEOGRAM_SIGN = "\x9f", "ÿ", "\x7f"
_FOREIGN_NOUN = re.compile(
    f"(?=[{''.join({word[0] + word[0].upper() for word in _SIGNS_OF_WORDS})}])("  # It skips most positions at once.
    + "|".join(re.escape(word).replace(r"\ ", "[ _-]") for word in sorted(_SIGNS_OF_WORDS, key=len, reverse=True))
    + r")(?:( ?(?:[はが是为為은는이가를을]|改成|改为|换成|设置为|设为|設定は))|です|だ|입니다|이다)?(?![^\W\d_a-zA-Z])",
    re.IGNORECASE,
)
_FOREIGN_IS = re.compile(r"(?<=[!-~])( ?)[はが是为為은는이가](?![^\W\d_a-zA-Z] )")
_IDEOGRAM = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTER = re.compile("[\u0100-\u1fff]")
_PART = re.compile(r"<([a-z ]+)>")
_TAIL = ".:!?)]}*\\"  # These signs may follow a value in a sentence.
_MARK = re.compile(re.escape(MARKER) + r"[^\]]*\]")  # Its kind is no noun.
_NEXT_FIELD = re.compile(r"[&;](?=[\w.-]+=)")
_NEAR_KINDS = frozenset(("password", "secret", "key", "login", "ssid", "backup code", "second factor", "name"))
_MAX_SENTENCE = 400  # characters
_SENTENCE = re.compile(r"(?:[^\n.!?。]|[.!?](?!\s))+")
_NEAR_WORD = re.compile(
    r"[^\s\"'`()\[\],:=→、。，「」（）：|!?*—-][^\s\"'`()\[\],:=→、。，「」（）：|]{4,}[^\s\"'`()\[\],:=→、。，「」（）：|.!?*—-]"
)
_PIN_KINDS = frozenset(("pin", "code"))
_NEAR_PIN = re.compile(r"(?<![\w.,:/#-])(?!(?:19|20)\d\d\b)\d{4,8}(?![\w/%]|[.,:-]\d)")
_INNER_DIGIT = re.compile(r"[a-z]{2}\d[a-z]{3}|[a-z]\d\d-[A-Z]")  # as in raspb3rry-jam
# Code, and words near which a random-looking word is something else; paths, file names, constants, versions and short hashes.
_NO_STATEMENT = re.compile(
    r"[{}<>`&\\]|=\S|\w_\w| = [\"']"
    r"|\b(?:commit|hash|sha\d*|revision|checksum|digest|fingerprint|version|branch|issue|example|uuid|arn|image|tag)\b",
    re.IGNORECASE,
)
_IS_NAME = re.compile(r"[/_]|^\$|\.\w+$|^[A-Z0-9_]+$|^v?\d+(?:\.\d+)+|-v?\d{1,2}$|^[0-9a-f]{6,9}$|^[0-9a-f]{40}$|^\D+$")
_HARMLESS = re.compile(
    r"^#?[a-z]+(?:[_-][a-z]+)*_[a-z]*\d?$|^#[a-z]|@\d|-(?:19|20)\d\d$|^v\d|^\d+x\d|^\d+-(?:char|car|digit|bit|word)"
    r"|^(?:CVE|HTTP|ISO|RFC|[EHPR]S|A|AES|SHA)-?\d|ARM64"
)
_COUNTED = re.compile(
    r" ?(?:%|(?:bytes?|chars?|characters|columns?|days|digits|entries|files|fixture|fields?|hours|items|lines|loc|minutes|ms"
    r"|points|requests|rows|seconds|tests?|times|tokens|users|words|[kmg]i?b)\b)",
    re.IGNORECASE,
)
_MAX_JUDGED = 500  # characters of a value; a wallet's 24 words may have as many
_PHRASE_WORDS = range(12, 25)


class EverydayRow(NamedTuple):
    """A pattern whose groups are secrets if their judges agree. The last judge also judges the groups behind its own."""

    kind: str
    nouns: tuple[str, ...]  # kinds of `prefixes.SECRET_NOUNS`; a text without their words is not searched
    pattern: str
    judges: tuple[Callable[[str], bool], ...]
    items: str  # The first group is a list, and this pattern's groups in it are judged.

    @property
    def is_statement(self) -> bool:
        return any(part in self.pattern for part in ("<said>", "<is noun>", "<is>", "<digits>"))


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
    """Yield start, end and kind of the everyday secrets in `text`, some of them twice, in linear time.

    >>> text = "Die PIN der Tür lautet 4711."
    >>> {text[start:end] for start, end, _ in find_everyday(text)}
    {'4711'}
    """
    yield from _find_wallets(text)
    data = _copy_in_latin1(text)
    kinds = _find_kinds(data)
    for row in ROWS:
        if kinds.isdisjoint(row.nouns):
            continue
        for match, start, end, judge in _candidate_values(row, data):
            value = _NEXT_FIELD.split(text[start : end + 1], maxsplit=1)[0][: end - start].rstrip(_TAIL)
            if value and MARKER not in value and judge(value[:_MAX_JUDGED]):
                beside = text[match.start() : start] + text[end : match.end()]
                if not row.is_statement or not (names_topic(beside) or _is_harmless(value, text[start + len(value) :])):
                    yield start, start + len(value), row.kind

    if not kinds.isdisjoint(_NEAR_KINDS | _PIN_KINDS):
        yield from _find_near(text, data)


def _find_near(text: str, data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield generated words and lone PINs in a sentence with a noun for a secret: "the token, mind you: 5d0c9e…"."""
    for sentence in _SENTENCE.finditer(text):
        if len(sentence[0]) > _MAX_SENTENCE or _NO_STATEMENT.search(sentence[0]):
            continue
        found = _find_kinds(data[sentence.start() : sentence.end()])
        if not _NEAR_KINDS.isdisjoint(found):
            for word in _NEAR_WORD.finditer(text, *sentence.span()):
                if _is_generated(word[0]) and not (_IS_NAME.search(word[0]) or _HARMLESS.search(word[0])):
                    yield *word.span(), "secret"
        if not _PIN_KINDS.isdisjoint(found):
            numbers = [*_NEAR_PIN.finditer(text, *sentence.span())]
            if len(numbers) == 1 and not names_topic(sentence[0]) and not _COUNTED.match(text, numbers[0].end()):
                yield *numbers[0].span(), "PIN"


def _is_generated(word: str) -> bool:
    is_random = is_key(word) and (is_mixture(word) or word.count("-") > 1)
    return is_random or (_INNER_DIGIT.search(word) is not None and is_mixture(word))


def _is_harmless(value: str, behind: str) -> bool:
    """Return whether a value names a version, a standard, a column or a year, or counts the noun behind it."""
    return _HARMLESS.search(value) is not None or _COUNTED.match(behind) is not None


def names_secret(text: str) -> bool:
    """Return whether a noun for a secret stands in `text`."""
    return bool(_find_kinds(_copy_in_latin1(text)))


def _find_kinds(data: bytes) -> set[str]:
    return {_KINDS[index] for index in _noun_automaton().Match(data.lower()) or ()}


def _blank(match: re.Match[str]) -> str:
    return _IDEOGRAM_SIGN * len(match[0])


def _copy_in_latin1(text: str) -> bytes:
    if MARKER in text:
        text = _MARK.sub(_blank, text)
    if not text.isascii():
        for signs in _REPLACEMENTS:
            for other in signs[1:]:
                text = text.replace(other, signs[0])
        if _IDEOGRAM.search(text) or _LETTER.search(text):
            text, count = _FOREIGN_NOUN.subn(_replace_noun, text)
            text = _FOREIGN_IS.sub(rf"\1{_IS_SIGN}", text) if count else text
            text = _LETTER.sub(_LETTER_SIGN, _IDEOGRAM.sub(_IDEOGRAM_SIGN, text))
    return text.encode("latin-1", "replace").translate(_LOWERED)


def _replace_noun(match: re.Match[str]) -> str:
    """Return the sign of a noun, and a colon for the particle that makes it the subject, in as many characters."""
    sign = _SIGNS_OF_WORDS[re.sub("[ _-]", " ", match[1].lower())]
    return (sign + (":" if match[2] else "")).ljust(len(match[0]))


def _candidate_values(row: EverydayRow, data: bytes) -> Iterator[tuple[re2._Match, int, int, Callable[[str], bool]]]:
    for match in _compile_pattern(row.pattern, row.nouns).finditer(data):
        for item in _compile_pattern(row.items).finditer(data, *match.span(1)) if row.items else (match,):
            for group in range(1, len(item.groups()) + 1):
                if item.start(group) >= 0:
                    yield match, *item.span(group), row.judges[min(group, len(row.judges)) - 1]


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
def _compile_pattern(pattern: str, nouns: tuple[str, ...] = ()) -> re2._Regexp:
    while (part := _PART.search(pattern)) is not None:
        kinds = nouns if part[1] == "noun" else (part[1],)
        pattern = pattern.replace(part[0], _PARTS.get(part[1]) or f"(?:{'|'.join(map(_words_pattern, kinds))})")
    options = _re2_options()
    options.case_sensitive = False
    return re2.compile(pattern.encode("latin-1"), options)


def _words_pattern(kind: str) -> str:
    """Return the pattern of a kind's nouns: a short one is a whole word, and a sign stands for those beyond Latin-1."""
    words = [(word, re2.escape(word).replace(r"\ ", "[ _-]")) for word in SECRET_NOUNS[kind] if word not in _SIGNS_OF_WORDS]
    patterns = [rf"\b{pattern}s?\b" if len(word) <= MAX_WHOLE_WORD else pattern for word, pattern in words]
    return f"(?:{'|'.join([*patterns, _SIGNS[kind]])})"


def _re2_options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return options
