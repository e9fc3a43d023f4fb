"""The static query encoder: a sum of the vectors of WordPiece tokens, and the choice of an encoder by language."""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from subcog_hooks.embed import layout
from subcog_hooks.embed.layout import CONTINUES, PackedEncoder, to_int8
from subcog_hooks.text.languages import is_foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder

    Match = Callable[[bytes], tuple[int, int]]  # layout.PackedEncoder.match
    Encode = Callable[[str], bytes | None]  # a text to its (dimension,) int8 vector, None without a word

MAX_WORD = 100  # characters; a longer word is unknown
UNKNOWN = b"[UNK]"

_STRETCH = 2000  # characters split at once, so that the rest of a long text costs nothing after enough ids

_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_BREAKS = frozenset(_PUNCTUATION + " \t\n\r")

# The table of ASCII for str.translate. It is a list, because each missing key of a dict costs an exception.
_ASCII: list[str | None] = [None] * 128
for _code in range(33, 127):
    _ASCII[_code] = f" {chr(_code)} " if chr(_code) in _PUNCTUATION else chr(_code).lower()
for _blank in " \t\n\r":
    _ASCII[ord(_blank)] = " "

_IDEOGRAPHS = (  # code points that are single words; the gap before 2B920 is the library's
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_DROPPED = ("Cc", "Cf", "Co", "Cs", "Mn")
_UNKNOWN_MARK = "\ufffc"  # it replaces a mark that stays: no token has one, so the word is unknown either way


def token_ids(text: str, match: Match, limit: int = sys.maxsize, ids_by_word: dict[str, list[int]] | None = None) -> list[int]:
    """Return at most `limit` ids of a text. Lone surrogates, which the library refuses, count for nothing.

    match: the longest token that a piece begins with, as (length, id); ids_by_word: a cache of split words for several texts.
    Takes time linear in the text.
    """
    ids: list[int] = []
    ids_by_word = {} if ids_by_word is None else ids_by_word
    for stretch in _stretches(text):
        for word in split_words(stretch):
            pieces = ids_by_word.get(word)
            if pieces is None:
                ids_by_word[word] = pieces = _piece_ids(word, match)
            ids += pieces
            if len(ids) >= limit:
                return ids[:limit]
    return ids


def split_words(text: str) -> list[str]:
    """Return the words for WordPiece: cleaned, without accents, in lower case, punctuation and ideographs alone.

    >>> split_words("Don't\\tcafé_2 東京!")
    ['don', "'", 't', 'cafe', '_', '2', '東', '京', '!']
    """
    if text.isascii():
        return text.translate(_ASCII).split()
    from unicodedata import normalize  # .2 ms, and most text is ASCII

    return normalize("NFD", text.translate(_CLEANED)).translate(_FOLDED).split()


def _piece_ids(word: str, match: Match) -> list[int]:
    """Return the ids of one word: its longest token, then the longest continuation, and so on."""
    # A character that continues no token makes the word unknown. Checked first, 256 such words cost 4 ms instead of 120.
    if len(word) > MAX_WORD or not (word.isascii() or all(match(CONTINUES + c.encode())[0] for c in word if c > "\x7f")):
        return [match(UNKNOWN)[1]]
    rest = word.encode()
    ids: list[int] = []
    marker = 0
    while len(rest) > marker:
        length, token_id = match(rest)
        if not length:
            return [match(UNKNOWN)[1]]
        ids.append(token_id)
        rest = CONTINUES + rest[length:]
        marker = 1
    return ids


def _stretches(text: str) -> Iterator[str]:
    """Yield `text` in pieces of about _STRETCH characters, cut before blanks, punctuation and ideographs."""
    start, length = 0, len(text)
    while length - start > _STRETCH:
        end = start + _STRETCH
        while end < length and text[end] not in _BREAKS and not "\u4e00" <= text[end] <= "\u9fff":
            end += 1
        yield text[start:end]
        start = end
    if start < length:
        yield text[start:]


class _CleanedForms(dict[int, str]):
    """A cache of the form of characters before decomposition: nothing, a blank, or itself, ideographs between blanks.

    Marks are removed here: `normalize` sorts a run of them in quadratic time, 40,000 in 1.2 s.
    """

    def __missing__(self, code: int) -> str:
        from unicodedata import category, combining  # see `split_words`

        c = chr(code)
        kind = category(c)
        if c in "\t\n\r":
            become = " "
        elif c == "\ufffd" or kind in _DROPPED:
            become = ""
        elif c.isspace():
            become = " "
        elif combining(c):
            become = _UNKNOWN_MARK
        else:
            become = f" {c} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else c
        self[code] = become
        return become


class _FoldedForms(dict[int, str]):
    """A cache of the form of characters after decomposition: nothing for a mark, spaced punctuation, else lower case."""

    def __missing__(self, code: int) -> str:
        from unicodedata import category  # see `split_words`

        c = chr(code)
        kind = category(c)
        if code < 128:
            become = _ASCII[code] or ""
        elif kind[0] == "P":
            become = f" {c} "
        elif kind == "Mn":
            become = ""
        else:
            become = c.lower()
        self[code] = become
        return become


_CLEANED = _CleanedForms()
_FOLDED = _FoldedForms()

PACKAGED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "query-encoder.bin")
SPACE = "minilm"  # the embedding space of the vectors
MAX_TOKENS = 256  # of a text; the packaged document model reads as many
OF_FIRST, OF_SECOND = 1000003, 7919  # factors of two neighbouring ids for hashing them to a row of bigrams


class StaticEncoder(PackedEncoder):
    """An open encoder."""

    __slots__ = ()

    packaged = PACKAGED

    def encode(self, text: str, max_tokens: int = MAX_TOKENS) -> bytes:
        """Return the vector of `text` as `dimension` signed bytes, the largest of them 127; b"" without a token.

        Its length means nothing. max_tokens: later tokens are ignored. Raises EncoderUnusable.
        """
        return to_int8(self._sums(text, max_tokens))

    def _sums(self, text: str, max_tokens: int = MAX_TOKENS) -> list[float]:
        """Return the sum of the text's rows in fixed point; [] without rows, or where they cancel out."""
        ids = token_ids(text, self.match, max_tokens)
        if not ids:
            return []
        rows = ids + [self.tokens + (a * OF_FIRST + b * OF_SECOND) % self.bigrams for a, b in pairwise(ids)]
        try:
            return layout.sum_records([self.record(row) for row in rows])
        except (ArithmeticError, ValueError) as error:
            raise self.damage() from error


_opened: list[MultilingualEncoder] = []  # one for the process: opening costs .2 ms, and most texts are English


def encode_by_language(encode_english: Encode) -> Encode:
    """Return an encoder for texts of all languages that uses `encode_english` for English ones.

    A text without a letter or digit has no vector: to a model of English an emoji is near to any other unreadable text.
    """

    def encode(text: str) -> bytes | None:
        if is_foreign(text):
            if not _opened:
                from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder

                _opened.append(MultilingualEncoder.open())
            return _opened[0].encode(text) or None
        return encode_english(text) if any(map(str.isalnum, text)) else None

    return encode
