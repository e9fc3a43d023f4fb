"""The multilingual encoder's packed file: pieces of words with their costs, and a row for each. No segmentation.

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

from subcog_hooks.embed.layout import HEADER, SCALE, PackedFile, write_packed
from subcog_hooks.embed.row_sums import BIAS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]

FORMAT = 1  # raised when the layout changes: a file of another format is refused
MAGIC = b"subcogME"
BITS = 4  # of a column
BUCKETS = 16_381  # a prime; the widest has 1,700 bytes
COSTS = 10_000  # per unit of a log probability, which the vocabulary gives with four decimals
NUMBERS = 0x10000  # the character of the number 0, behind surrogates
BEGIN = "\u2581"  # begins a word
LONGEST = 16  # characters of a piece
# The first characters that a piece is found by, and the longest piece found so; of pieces that begin a word, and of others
LEVELS_BEGIN = ((1, 1), (2, 3), (4, 5), (6, LONGEST))
LEVELS = ((1, 2), (3, LONGEST))

_OFFSET = 4  # bytes
_COLUMNS = 8  # in a lane of row_sums
_CUTS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # shares of a row's largest value that its columns may reach
_MAX_BUCKETS, _MAX_BUCKET = 1 << 20, 1 << 16  # buckets, and bytes of a bucket, in a file that is not damaged
UNKNOWN_COST = 10 * COSTS  # a character that is no piece costs this more than the rarest piece


class PackedPieces(PackedFile):
    """An open packed multilingual encoder.

    dimension: of the vectors; pieces: number of rows; unknown: cost of a character that is no piece.
    """

    __slots__ = ("_buckets", "_index", "_record", "_rows", "_vocabulary", "dimension", "pieces", "unknown")

    magic, version, fields = MAGIC, FORMAT, 6

    def _use_fields(self, fields: list[int]) -> int:
        self.dimension, self.pieces, self._buckets, self.unknown = fields
        if self._buckets > _MAX_BUCKETS:
            return -1
        self._index = self.read_bytes(_OFFSET * (self._buckets + 1), HEADER)
        self._vocabulary = HEADER + len(self._index)
        self._rows = self._vocabulary + int.from_bytes(self._index[-_OFFSET:], "little")
        self._record = self.dimension * BITS // 8 + SCALE
        return -1 if self.dimension % _COLUMNS else self._rows + self.pieces * self._record

    def bucket(self, key: str) -> str:
        """Return the bucket of a piece's first characters, "" for an empty one. Raises EncoderUnusable."""
        number = _hash(key, self._buckets) * _OFFSET
        start = int.from_bytes(self._index[number : number + _OFFSET], "little")
        end = int.from_bytes(self._index[number + _OFFSET : number + 2 * _OFFSET], "little")
        if start == end:
            return ""
        if not start < end <= start + _MAX_BUCKET:
            raise self.damage("a part of its vocabulary has no end")
        try:
            return self.read_bytes(end - start, self._vocabulary + start).decode()
        except UnicodeDecodeError as error:
            raise self.damage("a part of its vocabulary is not text") from error

    def row(self, number: int) -> bytes:
        """Return the record of a piece. Raises EncoderUnusable."""
        if not 0 <= number < self.pieces:
            raise self.damage(f"there is no piece {number}")
        return self.read_bytes(self._record, self._rows + number * self._record)


def _hash(key: str, buckets: int) -> int:
    return int.from_bytes(key.encode("utf-8", "surrogatepass"), "little") % buckets


def write_pieces(path: str, costs: dict[str, int], unknown: int, vectors: Vectors) -> None:
    """Pack a multilingual encoder into the file `path`, which is replaced.

    costs: by each piece, above 0; unknown: the cost of a character that is no piece; vectors: `(len(costs), dimension)`, in the
    order of the costs. Raises ValueError when they do not fit together.
    """
    import numpy as np  # only where an encoder is built

    if len(vectors) != len(costs) or vectors.shape[1] % _COLUMNS:
        raise ValueError(f"{len(costs)} pieces and vectors {vectors.shape} do not fit together")
    unfit = [
        piece
        for piece, cost in costs.items()
        if not (0 < len(piece) <= LONGEST and 0 < cost <= unknown) or not {"\n", "\t"}.isdisjoint(piece)
    ]
    if unfit:
        raise ValueError(f"{unfit[0]!r} with cost {costs[unfit[0]]} cannot be packed")
    buckets: list[list[str]] = [[] for _ in range(BUCKETS)]
    for piece in sorted(costs):
        buckets[_hash(bucket_key(piece), BUCKETS)].append(piece)
    numbers = {piece: number for number, piece in enumerate(costs)}
    order = [numbers[piece] for pieces in buckets for piece in pieces]
    contents = list(_bucket_contents(buckets, costs))
    index = np.concatenate(([0], np.cumsum([len(content) for content in contents]))).astype("<u4").tobytes()
    body = b"".join((index, *contents, _pack_rows(vectors[order])))
    write_packed(path, MAGIC, (FORMAT, vectors.shape[1], len(costs), BUCKETS, unknown), body)


def bucket_key(piece: str) -> str:
    """Return the first characters that a piece is found by.

    >>> bucket_key("schlüssel"), bucket_key("▁schlüssel")
    ('sch', '▁schlü')
    """
    levels = LEVELS_BEGIN if piece.startswith(BEGIN) else LEVELS
    return piece[: max(length for length, _ in levels if length <= len(piece))]


def _bucket_contents(buckets: list[list[str]], costs: dict[str, int]) -> Iterator[bytes]:
    first = 0
    for pieces in buckets:
        lines = "".join(f"\n{piece}\t{chr(NUMBERS + costs[piece])}" for piece in pieces)
        yield (chr(NUMBERS + first) + lines).encode() if pieces else b""
        first += len(pieces)


def _pack_rows(vectors: Vectors) -> bytes:
    """Return the records of vectors, each with the scale that loses least: its largest values may be cut."""
    import numpy as np  # only where an encoder is built

    peaks = np.maximum(np.abs(vectors).max(1), 1e-6)
    best = np.full(len(vectors), np.inf)
    columns, scales = np.zeros(vectors.shape, np.uint8), np.zeros(len(vectors), "<f4")
    for share in _CUTS:
        tried = (peaks * (share / BIAS[BITS])).astype("<f4")
        values = np.rint(vectors / tried[:, None] + BIAS[BITS]).clip(0, (1 << BITS) - 1)
        loss = (((values - BIAS[BITS]) * tried[:, None] - vectors) ** 2).sum(1)
        better = loss < best
        best[better], columns[better], scales[better] = loss[better], values[better], tried[better]
    halves = columns[:, ::2] | columns[:, 1::2] << BITS
    return np.hstack((halves, scales.view(np.uint8).reshape(-1, SCALE))).tobytes()
