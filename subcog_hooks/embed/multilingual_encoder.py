"""The multilingual query encoder: a sum of the vectors of pieces of words, in the space of English memories.

A text in any of its languages gets a vector near MiniLM's of the English original. It needs no model and no library.
"""

from __future__ import annotations

import os
import sys

from subcog_hooks.embed import row_sums
from subcog_hooks.embed.multilingual_layout import BEGIN, BITS, LEVELS, LEVELS_BEGIN, LONGEST, NUMBERS, PackedPieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "multilingual-encoder.bin")
MAX_TOKENS = 256  # of a text, as many as the English encoder reads
MAX_CHARACTERS = MAX_TOKENS * LONGEST  # of a text; the rest costs nothing

_STRETCH = 64  # characters of a word without blanks, after which finished pieces are counted
_MAX_CACHED = 100_000  # words, and beginnings; some 20 MB
_FAR = sys.maxsize  # more than any way to cut a word costs


def normalise(text: str) -> list[str]:
    """Return the words of a text in lower case and compatible forms (NFKC), BEGIN in front of each.

    >>> normalise("Der  ﬁnale\\tTest")
    ['▁der', '▁finale', '▁test']
    """
    text = text[:MAX_CHARACTERS]
    if not text.isascii():
        from unicodedata import normalize  # .2 ms

        text = normalize("NFKC", text).replace(BEGIN, " ")
    return [BEGIN + word for word in text.lower().split()]


class Segmenter:
    """Cuts words into the pieces of least cost, by Viterbi's algorithm; remembers the buckets and words that it has met."""

    __slots__ = ("_buckets", "_read_bucket", "_rows_by_word", "_unknown")

    def __init__(self, read_bucket: Callable[[str], str], unknown: int) -> None:
        self._read_bucket = read_bucket
        self._unknown = unknown
        self._buckets: dict[str, str] = {}
        self._rows_by_word: dict[str, list[int]] = {}

    def piece_rows(self, text: str, limit: int) -> list[int]:
        """Return the rows of at most `limit` pieces of a text. A character that is no piece counts for nothing.

        Of several ways to cut a word that cost the same, the longest last piece counts. A word without any piece counts for
        nothing either. Raises EncoderUnusable.
        """
        if max(len(self._rows_by_word), len(self._buckets)) > _MAX_CACHED:
            self._rows_by_word.clear()
            self._buckets.clear()
        rows: list[int] = []
        for word in normalise(text):
            word_rows = self._rows_by_word.get(word)
            if word_rows is None:
                word_rows = self._cut_word(word, limit)
                if len(word) <= _STRETCH:  # a longer one may be cut at the limit
                    self._rows_by_word[word] = word_rows
            rows += word_rows
            if len(rows) >= limit:
                return rows[:limit]
        return rows

    def _cut_word(self, word: str, limit: int) -> list[int]:
        bucket = self._bucket(word[: max(length for length, _ in LEVELS_BEGIN if length <= len(word))])
        offset = bucket.find(f"\n{word}\t")
        if offset >= 0:  # no packed piece has a cheaper way
            return [_row_of(bucket, offset)]
        costs = [0, *[_FAR] * len(word)]  # of the cheapest way to each boundary
        steps = [(0, -1)] * (len(word) + 1)  # the last piece on that way: its start and its row, -1 for no piece
        rows: list[int] = []
        start = reach = 0  # the boundary up to which pieces are settled; the furthest end of any piece
        for position in range(len(word)):
            if position == reach and position - start > _STRETCH:  # no piece leads over this boundary
                rows += _walk_back(steps, start, position)
                start = position
                if len(rows) >= limit:
                    return rows
            reach = max(reach, self._step(word, position, costs, steps))
        rows += _walk_back(steps, start, len(word))
        return rows if rows != [steps[1][1]] else []  # BEGIN alone says nothing

    def _step(self, word: str, position: int, costs: list[int], steps: list[tuple[int, int]]) -> int:
        """Enter the pieces that begin in a position; return the furthest end of one."""
        base, reach = costs[position] - NUMBERS, position + 1
        if costs[position] + self._unknown < costs[reach]:  # a piece of this one character, if there is one, costs less
            costs[reach], steps[reach] = costs[position] + self._unknown, (position, -1)
        for length, limit in LEVELS if position else LEVELS_BEGIN:
            first = position + length
            if first > len(word):
                break
            bucket = self._bucket(word[position:first])
            for end in range(first, min(position + limit, len(word)) + 1):
                offset = bucket.find("\n" + word[position:end])
                if offset < 0:
                    break
                tab = offset + end - position + 1
                if bucket[tab] == "\t":  # the piece itself; without it a longer piece is first
                    reach = max(reach, end)
                    cost = base + ord(bucket[tab + 1])
                    if cost < costs[end]:
                        costs[end], steps[end] = cost, (position, _row_of(bucket, offset))
        return reach

    def _bucket(self, key: str) -> str:
        bucket = self._buckets.get(key)
        if bucket is None:
            self._buckets[key] = bucket = self._read_bucket(key)
        return bucket


def _row_of(bucket: str, offset: int) -> int:
    return ord(bucket[0]) - NUMBERS + bucket.count("\n", 0, offset)


def _walk_back(steps: list[tuple[int, int]], start: int, end: int) -> list[int]:
    """Return the rows on the cheapest way from one boundary to another."""
    rows = []
    while end > start:
        end, row = steps[end]
        if row >= 0:
            rows.append(row)
    return rows[::-1]


class MultilingualEncoder:
    """An open encoder."""

    __slots__ = ("_packed", "_segmenter")

    def __init__(self, packed: PackedPieces) -> None:
        self._packed = packed
        self._segmenter = Segmenter(packed.bucket, packed.unknown)

    @classmethod
    def open(cls, path: str = PACKAGED) -> MultilingualEncoder:
        """Return the encoder packed in `path`. Raises EncoderUnusable."""
        return cls(PackedPieces(path))

    def close(self) -> None:
        self._packed.close()

    @property
    def dimension(self) -> int:
        return self._packed.dimension

    @property
    def checksum(self) -> int:
        """The checksum of the packed file, which identifies the encoder."""
        return self._packed.checksum

    def encode(self, text: str, max_tokens: int = MAX_TOKENS) -> bytes:
        """Return the vector of `text` as `dimension` signed bytes, the largest of them 127; b"" without a piece.

        Its length means nothing, its direction is `vector`'s. max_tokens: later pieces are ignored. Raises EncoderUnusable.
        """
        return row_sums.to_int8(self._sums(text, max_tokens))

    def vector(self, text: str, max_tokens: int = MAX_TOKENS) -> list[float]:
        """Return the vector of `text`, `(dimension,)`, of length 1; [] without a piece. Raises EncoderUnusable."""
        return row_sums.to_unit_length(self._sums(text, max_tokens))

    def _sums(self, text: str, max_tokens: int) -> list[float]:
        """Return the sum of the text's rows in fixed point; [] without rows, or where they cancel out."""
        packed = self._packed
        try:
            rows = self._segmenter.piece_rows(text, max_tokens)
        except IndexError as error:
            raise packed.damage("a piece of its vocabulary has no cost") from error
        return row_sums.sum_records([packed.row(row) for row in rows], packed, BITS) if rows else []
