"""Weighted sums of quantised rows without numpy: columns add up in interleaved lanes of large whole numbers."""

from __future__ import annotations

import sys

from subcog_hooks.embed.layout import SCALE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from subcog_hooks.embed.layout import PackedFile

INT8 = 127  # the largest value of a quantised vector
BIAS = {8: 128.0, 4: 7.5}  # taken from a stored value, by its bits: rows are stored without a sign

_LANE = 32  # bits
_WEIGHT_SUM = 1 << 24  # the limit of the weights in sum: 255 times it is below 2**32, so no lane overflows


def sum_records(records: list[bytes], packed: PackedFile, bits: int = 8) -> list[float]:
    """Return the sum of rows in fixed point; [] where they cancel out.

    records: of one width, each the values of a row, `bits` wide, and its float32 scale. Raises EncoderUnusable.
    """
    width = len(records[0]) - SCALE
    scales = _numbers(b"".join([record[width:] for record in records]), "f")
    total = sum(scales)
    if not 0.0 < total < float("inf") or min(scales) <= 0.0:
        raise packed.bad_scale()
    point = (_WEIGHT_SUM - len(records)) / total
    weights = [int(scale * point + 0.5) for scale in scales]
    rows = [int.from_bytes(record, "little") for record in records]
    mask = int.from_bytes(((1 << bits) - 1).to_bytes(4, "little") * (width // 4), "little")  # cuts the scale off too
    lanes = _LANE // bits
    bias = BIAS[bits] * sum(weights)
    sums = [0.0] * (width * 8 // bits)
    for lane in range(lanes):  # it holds the columns lane, lane + lanes ...
        shift = bits * lane
        column_sums = sum([(row >> shift & mask) * weight for row, weight in zip(rows, weights, strict=True)])
        sums[lane::lanes] = [value - bias for value in _numbers(column_sums.to_bytes(width, "little"), "I")]
    return sums if any(sums) else []


def _numbers(little_endian: bytes, kind: Literal["f", "I"]) -> Sequence[float]:
    """Return the 4-byte numbers in `little_endian`; `import struct` alone costs .26 ms."""
    if sys.byteorder == "little":
        return memoryview(little_endian).cast(kind).tolist()
    return memoryview(little_endian[::-1]).cast(kind).tolist()[::-1]


def to_int8(sums: list[float]) -> bytes:
    """Return sums as signed bytes, the largest of them 127.

    >>> to_int8([2.0, -1.0]), to_int8([])
    (b'\\x7f\\xc0', b'')
    """
    if not sums:
        return b""
    factor = INT8 / max(map(abs, sums))
    return bytes([round(value * factor) & 255 for value in sums])


def to_unit_length(sums: list[float]) -> list[float]:
    """Return sums divided by their length.

    >>> to_unit_length([3.0, -4.0]), to_unit_length([])
    ([0.6, -0.8], [])
    """
    length = sum([value * value for value in sums]) ** 0.5
    return [value / length for value in sums]
