"""The static encoder's packed file: vocabulary and rows, read in small pieces at computed offsets. No tokenising.

    header   64 bytes: magic, then the little-endian uint32 fields of _FIELDS
    buckets  the vocabulary, hashed into buckets of equal width; one read gives all tokens with the same beginning
    rows     one record for each token, then one for each hashed bigram: int8[dimension] + 128 as bytes, then the float32 scale

A continuation `##ing` lies in its bucket as FE `ing`, an entry is FF token FF and its id in three bytes of seven bits; FE and
FF do not occur in UTF-8. For 50 words and their 109 rows a cold process needs .44 ms with os.pread, .51 with seek and read, .60
with mmap (its import, the page faults) and 2.6 with SQLite through apsw (medians of 30 on Linux; pieces looked up one by one).
"""

from __future__ import annotations

import os

from subcog_hooks.core.errors import ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

ENCODER_FORMAT = 1  # raised when the layout changes: a file of another format is refused
MAGIC = b"subcogQE"
HEADER = 64  # bytes
SCALE = 4  # bytes behind the row of a record
LANES = 4  # a row is summed in four interleaved lanes
CONTINUES = b"\xfe"  # the prefix of a piece that continues a word
HASHED_HEAD = 6  # bytes for hashing a piece: 12 SHA-1 sums take 3.2 ms; 17 ms with a lookup for each length

_FIELDS = ("format", "dimension", "tokens", "bigrams", "buckets", "width", "longest", "checksum")
EDGE = b"\xff"

_FIX = "reinstall subcog"

INT8 = 127  # the largest value of a quantised vector
BIAS = {8: 128.0, 4: 7.5}  # taken from a stored value, by its bits: rows are stored without a sign

_LANE = 32  # bits
_WEIGHT_SUM = 1 << 24  # the limit of the weights in sum: 255 times it is below 2**32, so no lane overflows


class EncoderUnusable(ModelError):
    """The packed encoder is missing, truncated, damaged or of another format."""


def _seek_and_read(fd: int, length: int, offset: int, /) -> bytes:
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, length)


_read_at: Callable[[int, int, int], bytes] = getattr(os, "pread", _seek_and_read)  # Windows has no pread


class PackedFile:
    """An open packed file. Its header: a magic, then little-endian uint32 fields, the last one the checksum of the rest."""

    __slots__ = ("_fd", "checksum", "path")

    magic: bytes
    version: int  # of the layout
    fields: int  # number of them
    packaged: str  # the path of the encoder that is a part of subcog

    @classmethod
    def open(cls, path: str = "") -> Self:
        """Return the encoder packed in `path`, the packaged one for "". Raises EncoderUnusable."""
        return cls(path or cls.packaged)

    def __init__(self, path: str) -> None:
        """Open `path`. Raises EncoderUnusable."""
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise EncoderUnusable(f"{path} cannot be read: {error.strerror}", _FIX) from error
        try:
            self._read_header()
        except BaseException:
            self.close()
            raise

    def _read_header(self) -> None:
        try:
            header, size = _read_at(self._fd, HEADER, 0), os.fstat(self._fd).st_size
        except OSError as error:  # for instance a folder
            raise EncoderUnusable(f"{self.path} cannot be read: {error.strerror}", _FIX) from error
        if header[: len(self.magic)] != self.magic or len(header) < HEADER:
            raise EncoderUnusable(f"{self.path} is not a packed query encoder", _FIX)
        start = len(self.magic)
        version, *fields, self.checksum = [
            int.from_bytes(header[offset : offset + 4], "little") for offset in range(start, start + 4 * self.fields, 4)
        ]
        if version != self.version:
            raise EncoderUnusable(f"{self.path} has format {version}, this version reads {self.version}", _FIX)
        expected = self._use_fields(fields)
        if size != expected or not all(fields):
            raise EncoderUnusable(f"{self.path} has {size} bytes, its header speaks of {expected}", _FIX)

    def _use_fields(self, fields: list[int]) -> int:
        """Take the fields between version and checksum; return the size of a whole file, -1 if they contradict each other."""
        raise NotImplementedError

    def close(self) -> None:
        os.close(self._fd)

    def damage(self) -> EncoderUnusable:
        """Return the error for an encoder file whose rows cannot be added up."""
        return EncoderUnusable(f"{self.path} is damaged", _FIX)

    def read_bytes(self, length: int, offset: int) -> bytes:
        """Return the bytes of one part of the file. Raises EncoderUnusable."""
        try:
            data = _read_at(self._fd, length, offset)
        except OSError as error:
            raise EncoderUnusable(f"{self.path} cannot be read: {error.strerror}", _FIX) from error
        if len(data) != length:
            raise EncoderUnusable(f"{self.path} was truncated", _FIX)
        return data


class PackedEncoder(PackedFile):
    """An open packed encoder. dimension: of the vectors; tokens, bigrams: the number of their rows, bigrams behind tokens."""

    __slots__ = ("_buckets", "_record", "_rows", "_width", "bigrams", "dimension", "longest", "tokens")

    magic, version, fields = MAGIC, ENCODER_FORMAT, len(_FIELDS)

    def _use_fields(self, fields: list[int]) -> int:
        self.dimension, self.tokens, self.bigrams, self._buckets, self._width, self.longest = fields
        self._record = self.dimension + SCALE
        self._rows = HEADER + self._buckets * self._width
        return -1 if self.dimension % LANES else self._rows + (self.tokens + self.bigrams) * self._record

    def match(self, piece: bytes) -> tuple[int, int]:
        """Return the longest token that `piece` begins with, as (length in bytes, id); (0, 0) without one.

        piece: UTF-8, with CONTINUES in front when it continues a word. Both ends of a match lie between characters, because the
        vocabulary is whole UTF-8 too. Raises EncoderUnusable.
        """
        length = min(len(piece), self.longest)
        if length > HASHED_HEAD:
            head = piece[:HASHED_HEAD]
            bucket = self._bucket(head)
            start = bucket.find(EDGE + head)
            if start < 0:
                length = HASHED_HEAD - 1
            while length >= HASHED_HEAD:
                offset = bucket.find(b"\xff%b\xff" % piece[:length], start)
                if offset >= 0:
                    return length, _id_at(bucket, offset + length + 2)
                length -= 1
        while length:
            token = piece[:length]
            bucket = self._bucket(token)
            offset = bucket.find(b"\xff%b\xff" % token)
            if offset >= 0:
                return length, _id_at(bucket, offset + length + 2)
            length -= 1
        return 0, 0

    def _bucket(self, head: bytes) -> bytes:
        return self.read_bytes(self._width, HEADER + hash_head(head, self._buckets) * self._width)

    def record(self, row: int) -> bytes:
        """Return the record of a row: its int8 values + 128 as bytes, and the float32 scale. Raises EncoderUnusable."""
        return self.read_bytes(self._record, self._rows + row * self._record)

    def all_records(self) -> bytes:
        """Return the records of all rows, of tokens and then of bigrams. Raises EncoderUnusable."""
        return self.read_bytes((self.tokens + self.bigrams) * self._record, self._rows)


def _id_at(bucket: bytes, offset: int) -> int:
    high, middle, low = bucket[offset : offset + 3]
    return high << 14 | middle << 7 | low


def hash_head(head: bytes, buckets: int) -> int:
    return int.from_bytes(head, "little") % buckets


def sum_records(records: list[bytes], bits: int = 8) -> list[float]:
    """Return the sum of rows in fixed point; [] where they cancel out.

    records: of one width, each the values of a row, `bits` wide, and its float32 scale.
    """
    width = len(records[0]) - SCALE
    scales = memoryview(b"".join([record[width:] for record in records])).cast("f").tolist()
    point = (_WEIGHT_SUM - len(records)) / sum(scales)
    weights = [int(scale * point + 0.5) for scale in scales]
    rows = [int.from_bytes(record, "little") for record in records]
    mask = int.from_bytes(((1 << bits) - 1).to_bytes(4, "little") * (width // 4), "little")  # cuts the scale off too
    lanes = _LANE // bits
    bias = BIAS[bits] * sum(weights)
    sums = [0.0] * (width * 8 // bits)
    for lane in range(lanes):  # it holds the columns lane, lane + lanes ...
        shift = bits * lane
        column_sums = sum([(row >> shift & mask) * weight for row, weight in zip(rows, weights, strict=True)])
        columns = memoryview(column_sums.to_bytes(width, "little")).cast("I")  # `import struct` alone costs .26 ms.
        sums[lane::lanes] = [value - bias for value in columns.tolist()]
    return sums if any(sums) else []


def to_int8(sums: list[float]) -> bytes:
    """Return sums as signed bytes, the largest of them 127.

    >>> to_int8([2.0, -1.0]), to_int8([])
    (b'\\x7f\\xc0', b'')
    """
    if not sums:
        return b""
    factor = INT8 / max(map(abs, sums))
    return bytes([round(value * factor) & 255 for value in sums])
