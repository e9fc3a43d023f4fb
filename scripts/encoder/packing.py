"""Write the packed files of the two encoders, which the package reads, and check them. No downloads and no training here."""

import os
import zlib
from collections.abc import Iterable, Iterator

import numpy as np

from subcog_hooks.embed import layout, multilingual_encoder
from subcog_hooks.embed.layout import (
    BIAS,
    CONTINUES,
    EDGE,
    ENCODER_FORMAT,
    HASHED_HEAD,
    HEADER,
    LANES,
    SCALE,
    EncoderUnusable,
    PackedEncoder,
    PackedFile,
    hash_head,
)
from subcog_hooks.embed.multilingual_encoder import BEGIN, BITS, COLUMNS, LEVELS, LEVELS_BEGIN, LONGEST, NUMBERS, hash_key

Rows = np.ndarray[tuple[int, int], np.dtype[np.int8]]
Scales = np.ndarray[tuple[int], np.dtype[np.float32]]
Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]

MAX_VOCABULARY = 1 << 21  # an id is three bytes of seven bits
TOKEN_BUCKETS = 1021  # a prime; the widest has 700 bytes
PIECE_BUCKETS = 16_381  # a prime; the widest has 1,700 bytes
COSTS = 10_000  # per unit of a log probability, which the vocabulary gives with four decimals
UNKNOWN_COST = 10 * COSTS  # a character that is no piece costs this more than the rarest piece

_UNREACHABLE = "[unused"  # placeholders: a bracket is a word of its own, so no text contains them
_CUTS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # shares of a row's largest value that its columns may reach


def check_encoder(path: str, kind: type[PackedFile] = PackedEncoder) -> None:
    """Read all of a packed encoder and compare it with its checksum. Raises EncoderUnusable."""
    packed = kind(path)
    packed.close()
    with open(path, "rb") as file:
        file.seek(HEADER)
        if zlib.crc32(file.read()) != packed.checksum:
            raise EncoderUnusable(f"{path}: its checksum does not hold")


def write_encoder(
    path: str, vocabulary: dict[str, int], tokens: Rows, token_scale: Scales, bigrams: Rows, bigram_scale: Scales
) -> None:
    """Pack an encoder into the file `path`, which is replaced.

    vocabulary: token to id, continuations as `##ing`; tokens, bigrams: `(n, dimension) int8`; scales: `(n,) float32`, above 0.
    Raises ValueError when shapes, ids and scales do not fit together.
    """
    _check_rows(vocabulary, tokens, token_scale, bigrams, bigram_scale)
    stored = {stored_form(token): number for token, number in vocabulary.items() if not token.startswith(_UNREACHABLE)}
    buckets = [b""] * TOKEN_BUCKETS
    for token, number in stored.items():
        number_bytes = bytes((number >> 14, number >> 7 & 127, number & 127))
        buckets[hash_head(token[:HASHED_HEAD], TOKEN_BUCKETS)] += EDGE + token + EDGE + number_bytes
    width = max(map(len, buckets))
    body = b"".join(
        (
            *(bucket.ljust(width, b"\x00") for bucket in buckets),
            _pack_records(tokens, token_scale),
            _pack_records(bigrams, bigram_scale),
        )
    )
    longest = max(map(len, stored))
    fields = (ENCODER_FORMAT, tokens.shape[1], len(tokens), len(bigrams), TOKEN_BUCKETS, width, longest)
    _write_packed(path, layout.MAGIC, fields, body)


def _write_packed(path: str, magic: bytes, fields: Iterable[int], body: bytes) -> None:
    """Replace the file `path` by a header and `body`; the last field of the header is the checksum of `body`."""
    header = magic + b"".join(field.to_bytes(4, "little") for field in (*fields, zlib.crc32(body)))
    with open(f"{path}.{os.getpid()}", "wb") as file:
        file.write(header.ljust(HEADER, b"\x00") + body)
    os.replace(f"{path}.{os.getpid()}", path)


def _check_rows(vocabulary: dict[str, int], tokens: Rows, token_scale: Scales, bigrams: Rows, bigram_scale: Scales) -> None:
    for rows, scales in ((tokens, token_scale), (bigrams, bigram_scale)):
        if rows.dtype.name != "int8" or rows.shape != (len(scales), tokens.shape[1]) or not len(scales):
            raise ValueError(f"rows of {rows.dtype} {rows.shape} do not fit {len(scales)} scales")
        if not all(0 < scale < float("inf") for scale in scales.tolist()):
            raise ValueError("every scale must be above 0 and finite")
    if tokens.shape[1] % LANES:
        raise ValueError(f"the dimension {tokens.shape[1]} is not a multiple of {LANES}")
    if len(tokens) > MAX_VOCABULARY or not all(0 <= number < len(tokens) for number in vocabulary.values()):
        raise ValueError(f"an id of the vocabulary is outside the {len(tokens)} rows, {MAX_VOCABULARY} at most")


def stored_form(token: str) -> bytes:
    return CONTINUES + token[2:].encode() if token.startswith("##") and len(token) > 2 else token.encode()


def _pack_records(rows: Rows, scales: Scales) -> bytes:
    """Return the records of rows, as PackedEncoder.record reads them."""
    records = np.empty((len(rows), rows.shape[1] + SCALE), np.uint8)
    records[:, :-SCALE] = rows.astype(np.int16) + 128
    records[:, -SCALE:] = scales.astype("<f4").view(np.uint8).reshape(-1, SCALE)
    return records.tobytes()


def write_pieces(path: str, costs: dict[str, int], unknown: int, vectors: Vectors) -> None:
    """Pack a multilingual encoder into the file `path`, which is replaced.

    costs: by each piece, above 0; unknown: the cost of a character that is no piece; vectors: `(len(costs), dimension)`, in the
    order of the costs. Raises ValueError when they do not fit together.
    """
    if len(vectors) != len(costs) or vectors.shape[1] % COLUMNS:
        raise ValueError(f"{len(costs)} pieces and vectors {vectors.shape} do not fit together")
    unfit = [
        piece
        for piece, cost in costs.items()
        if not (0 < len(piece) <= LONGEST and 0 < cost <= unknown) or not {"\n", "\t"}.isdisjoint(piece)
    ]
    if unfit:
        raise ValueError(f"{unfit[0]!r} with cost {costs[unfit[0]]} cannot be packed")
    buckets: list[list[str]] = [[] for _ in range(PIECE_BUCKETS)]
    for piece in sorted(costs):
        buckets[hash_key(bucket_key(piece), PIECE_BUCKETS)].append(piece)
    numbers = {piece: number for number, piece in enumerate(costs)}
    order = [numbers[piece] for pieces in buckets for piece in pieces]
    contents = list(_bucket_contents(buckets, costs))
    index = np.concatenate(([0], np.cumsum([len(content) for content in contents]))).astype("<u4").tobytes()
    body = b"".join((index, *contents, _pack_rows(vectors[order])))
    _write_packed(
        path,
        multilingual_encoder.MAGIC,
        (multilingual_encoder.FORMAT, vectors.shape[1], len(costs), PIECE_BUCKETS, unknown),
        body,
    )


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
