"""The multilingual query encoder: a sum of the vectors of pieces of words, in the space of English memories.

A text in any of its languages gets a vector near MiniLM's of the English original. It needs no model and no library.

Its packed file has pieces of words with their costs, and a row for each:

    header   64 bytes: magic, then little-endian uint32 fields: format, dimension, pieces, buckets, unknown, checksum
    index    buckets + 1 uint32: where each bucket begins in the vocabulary, and where the last one ends
    buckets  the vocabulary as UTF-8: the row of the first piece, then for each piece a line feed, itself, a tab and its cost
    rows     one record for each piece: its columns in four bits each, 7.5 above the value, the lower half of a byte first, and
             the float32 scale; pieces of one bucket lie together

A number in a bucket is one character, NUMBERS above it. The pieces of a bucket are sorted, so that str.find meets a piece
before longer ones with the same beginning; taking buckets apart doubled the time. A piece lies in the bucket of its first
characters, 1 to 6 by LEVELS: 300 characters read some 200 buckets of 80 bytes. Costs are whole numbers: two ways to cut a word
that cost the same do so in any order of adding up. With columns of four bits a text's vector has a cosine of .99 to its exact
one; half the columns in eight bits, in the same room, give .94.
"""

from __future__ import annotations

import os
import sys

from subcog_hooks.embed import layout
from subcog_hooks.embed.layout import HEADER, SCALE, PackedFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = 1  # raised when the layout changes: a file of another format is refused
MAGIC = b"subcogME"
BITS = 4  # of a column
NUMBERS = 0x10000  # the character of the number 0, behind surrogates
BEGIN = "\u2581"  # begins a word
LONGEST = 16  # characters of a piece
# The first characters that a piece is found by, and the longest piece found so; of pieces that begin a word, and of others
LEVELS_BEGIN = ((1, 1), (2, 3), (4, 5), (6, LONGEST))
LEVELS = ((1, 2), (3, LONGEST))

_OFFSET = 4  # bytes
COLUMNS = 8  # in a lane of `layout.sum_records`

PACKAGED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "multilingual-encoder.bin")
MAX_TOKENS = 256  # of a text, as many as the English encoder reads
MAX_CHARACTERS = MAX_TOKENS * LONGEST  # of a text; the rest costs nothing

_STRETCH = 64  # characters of a word without blanks, after which finished pieces are counted
_MAX_BUCKETS = 1 << 20  # in a file that is not damaged
_MAX_CACHED = 100_000  # words, and beginnings; some 20 MB
_FAR = sys.maxsize  # more than any way to cut a word costs


def hash_key(key: str, buckets: int) -> int:
    return int.from_bytes(key.encode("utf-8", "surrogatepass"), "little") % buckets


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


class MultilingualEncoder(PackedFile):
    """An open packed multilingual encoder.

    dimension: of the vectors; pieces: number of rows; unknown: cost of a character that is no piece.
    """

    __slots__ = ("_buckets", "_index", "_record", "_rows", "_segmenter", "_vocabulary", "dimension", "pieces", "unknown")

    magic, version, fields, packaged = MAGIC, FORMAT, 6, PACKAGED

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._segmenter = Segmenter(self.bucket, self.unknown)

    def _use_fields(self, fields: list[int]) -> int:
        self.dimension, self.pieces, self._buckets, self.unknown = fields
        if self._buckets > _MAX_BUCKETS:
            return -1
        self._index = self.read_bytes(_OFFSET * (self._buckets + 1), HEADER)
        self._vocabulary = HEADER + len(self._index)
        self._rows = self._vocabulary + int.from_bytes(self._index[-_OFFSET:], "little")
        self._record = self.dimension * BITS // 8 + SCALE
        return -1 if self.dimension % COLUMNS else self._rows + self.pieces * self._record

    def bucket(self, key: str) -> str:
        """Return the bucket of a piece's first characters, "" for an empty one. Raises EncoderUnusable."""
        number = hash_key(key, self._buckets) * _OFFSET
        start = int.from_bytes(self._index[number : number + _OFFSET], "little")
        end = int.from_bytes(self._index[number + _OFFSET : number + 2 * _OFFSET], "little")
        return self.read_bytes(end - start, self._vocabulary + start).decode()

    def row(self, number: int) -> bytes:
        """Return the record of a piece. Raises EncoderUnusable."""
        return self.read_bytes(self._record, self._rows + number * self._record)

    def encode(self, text: str) -> bytes:
        """Return the vector of `text` as `dimension` signed bytes, the largest of them 127; b"" without a piece.

        Its length means nothing. Later pieces than MAX_TOKENS are ignored. Raises EncoderUnusable.
        """
        return layout.to_int8(self._sums(text))

    def _sums(self, text: str) -> list[float]:
        """Return the sum of the text's rows in fixed point; [] without rows, or where they cancel out."""
        try:
            rows = self._segmenter.piece_rows(text, MAX_TOKENS)
            return layout.sum_records([self.row(row) for row in rows], BITS) if rows else []
        except (ArithmeticError, ValueError, IndexError) as error:
            raise self.damage() from error
