"""The static query encoder: a text's vector as the normalised sum of its tokens' and bigrams' rows, without numpy.

Rows are summed as integers of 384 bytes with four interleaved lanes of 32 bits: 1.3 µs a row, where a list of sums takes 17 and
widening each row into 32-bit lanes before int.from_bytes 2.0.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from subcog_hooks.embed.layout import LANES, Packed
from subcog_hooks.embed.wordpiece import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

PACKAGED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "query-encoder.bin")
SPACE = "minilm"  # the embedding space that the vectors lie in
MAX_TOKENS = 256  # of a text, as many as the packaged document model reads
INT8 = 127  # the largest value of a quantised vector
OF_FIRST, OF_SECOND = 1000003, 7919  # what two neighbouring ids are multiplied with to find their row among the bigrams'

_BIAS = 128  # rows are stored as bytes without a sign
_WEIGHT_SUM = 1 << 24  # the weights of a text's rows add up to at most this: 255 times it is below 2**32, no lane overflows


class StaticEncoder:
    """An open encoder."""

    __slots__ = ("_packed",)

    def __init__(self, packed: Packed) -> None:
        self._packed = packed

    @classmethod
    def open(cls, path: str = PACKAGED) -> StaticEncoder:
        """Return the encoder packed in `path`. Raises EncoderUnusable."""
        return cls(Packed(path))

    def close(self) -> None:
        self._packed.close()

    @property
    def dimension(self) -> int:
        return self._packed.dimension

    @property
    def checksum(self) -> int:
        """Of all that is packed: another encoder has another."""
        return self._packed.checksum

    def encode(self, text: str, max_tokens: int = MAX_TOKENS) -> bytes:
        """Return the vector of `text` as `dimension` signed bytes, the largest of them 127; b"" when the text has no token.

        Its length means nothing, its direction is `vector`'s. max_tokens: those behind them are not looked at. Raises
        EncoderUnusable.
        """
        sums = self._sums(text, max_tokens)
        if not sums:
            return b""
        factor = INT8 / max(map(abs, sums))
        return bytes([round(value * factor) & 255 for value in sums])

    def vector(self, text: str, max_tokens: int = MAX_TOKENS) -> list[float]:
        """Return the vector of `text`, `(dimension,)`, of length 1; [] when the text has no token. Raises EncoderUnusable."""
        sums = self._sums(text, max_tokens)
        if not sums:
            return []
        length = sum([value * value for value in sums]) ** 0.5
        return [value / length for value in sums]

    def _sums(self, text: str, max_tokens: int) -> list[float]:
        """Return the sum of the text's rows in fixed point; [] when there is nothing to sum or all of it cancels out."""
        packed = self._packed
        found = ids(text, packed.match, max_tokens)
        if not found:
            return []
        rows = found + [packed.tokens + (a * OF_FIRST + b * OF_SECOND) % packed.bigrams for a, b in pairwise(found)]
        records = [packed.record(row) for row in rows]
        dimension = packed.dimension
        scales = _numbers(b"".join([record[dimension:] for record in records]), "f")
        total = sum(scales)
        if not 0.0 < total < float("inf") or min(scales) <= 0.0:
            raise packed.bad_scale()
        point = (_WEIGHT_SUM - len(rows)) / total
        weights = [int(scale * point + 0.5) for scale in scales]
        lanes = _weighted_lanes(records, weights, dimension)
        bias = _BIAS * sum(weights)
        sums = [0.0] * dimension
        for lane, values in enumerate(lanes):
            sums[lane::LANES] = [value - bias for value in values]
        return sums if any(sums) else []


def _weighted_lanes(records: list[bytes], weights: list[int], dimension: int) -> list[Sequence[float]]:
    """Return the weighted sums of the rows, as LANES lists of dimension // LANES whole numbers.

    List k holds those of k, k + LANES ...
    """
    mask = int.from_bytes(b"\xff\x00\x00\x00" * (dimension // LANES), "little")  # cuts the scale off too
    first = second = third = fourth = 0
    for record, weight in zip(records, weights, strict=True):
        row = int.from_bytes(record, "little")
        first += (row & mask) * weight
        second += (row >> 8 & mask) * weight
        third += (row >> 16 & mask) * weight
        fourth += (row >> 24 & mask) * weight
    return [_numbers(lane.to_bytes(dimension, "little"), "I") for lane in (first, second, third, fourth)]


def _numbers(little_endian: bytes, kind: Literal["f", "I"]) -> Sequence[float]:
    """Return the 4-byte numbers in `little_endian`; `import struct` alone costs .26 ms."""
    if sys.byteorder == "little":
        return memoryview(little_endian).cast(kind).tolist()
    return memoryview(little_endian[::-1]).cast(kind).tolist()[::-1]
