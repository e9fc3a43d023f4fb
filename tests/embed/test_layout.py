"""The packed encoder: written files read back equal, and damage is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scripts.encoder import packing
from subcog_hooks.core.errors import EXIT_MODEL, SubcogError
from subcog_hooks.embed import layout
from tests.embed import material

VOCABULARY = {
    "[UNK]": 0,
    "[unused0]": 1,
    "token": 2,
    "##token": 3,
    "tokenization": 4,
    "tok": 5,
    "é": 6,
    "東": 7,
    "a": 8,
    "##": 9,
}
TOKENS = material.random_rows(3, len(VOCABULARY), 8)
BIGRAMS = material.random_rows(4, 5, 8)


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "encoder.bin")
    packing.write_encoder(made, VOCABULARY, *TOKENS, *BIGRAMS)
    return made


def match(path: str, piece: bytes) -> tuple[int, int]:
    packed = layout.PackedEncoder(path)
    try:
        return packed.match(piece)
    finally:
        packed.close()


@pytest.mark.parametrize("read", [layout._read_at, layout._seek_and_read])
def test_rows_are_read_as_they_were_written(read: Callable[..., bytes], path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_read_at", read)
    packed = layout.PackedEncoder(path)
    assert (packed.dimension, packed.tokens, packed.bigrams) == (8, len(VOCABULARY), 5)
    rows, scales = np.concatenate((TOKENS[0], BIGRAMS[0])), np.concatenate((TOKENS[1], BIGRAMS[1]))
    for number, (row, scale) in enumerate(zip(rows, scales, strict=True)):
        record = packed.record(number)
        assert [value - 128 for value in record[:8]] == row.tolist()
        assert np.frombuffer(record[8:], "<f4") == scale
    read_rows, read_scales = packed.all_rows()
    assert read_rows.tolist() == rows.tolist()
    assert read_scales.tolist() == scales.tolist()
    packed.close()


def test_the_longest_token_that_a_piece_begins_with_is_found(path: str) -> None:
    cases = [
        *(("token", (5, 2)), ("tokens", (5, 2)), ("tokenization", (12, 4)), ("tokenizations", (12, 4))),
        *(("tokenizatio", (5, 2)), ("toke", (3, 5)), ("to", (0, 0)), ("é", (2, 6)), ("éa", (2, 6)), ("東京", (3, 7))),
        *(("京", (0, 0)), ("", (0, 0)), ("[unused0]", (0, 0)), ("##token", (2, 9))),
    ]
    assert [(piece, actual) for piece, expected in cases if (actual := match(path, piece.encode())) != expected] == []
    assert match(path, layout.CONTINUES + b"tokens") == (6, 3)  # continuations are apart from beginnings
    assert match(path, layout.CONTINUES + b"a") == (0, 0)


def test_every_token_of_the_vocabulary_is_found(tmp_path: Path) -> None:
    path, vocabulary = str(tmp_path / "encoder.bin"), material.vocabulary()
    packing.write_encoder(path, vocabulary, *material.random_rows(1, len(vocabulary), 4), *material.random_rows(2, 1, 4))
    packed = layout.PackedEncoder(path)
    wrong = [
        token
        for token, number in vocabulary.items()
        if packed.match(stored := packing.stored_form(token)) != (len(stored), number) and not token.startswith("[unused")
    ]
    packed.close()
    assert not wrong


def test_a_file_that_is_no_encoder_is_refused(path: str) -> None:
    content = Path(path).read_bytes()
    foreign = (b"", b"PK\x03\x04" + content, content[:8], content[:40], bytes(len(content)))
    no_dimension = content[:12] + bytes(4) + content[16:]
    cases = [
        *((damaged, "is not a packed query encoder") for damaged in foreign),
        *((cut, "its header speaks of") for cut in (content[: layout.HEADER], content[:-1], content + b"\0", no_dimension)),
        (content[:8] + b"\x02" + content[9:], "has format 2, this version reads 1"),
    ]
    for damaged, message in cases:
        Path(path).write_bytes(damaged)
        with pytest.raises(layout.EncoderUnusable, match=message) as refused:
            layout.PackedEncoder(path)
        assert isinstance(refused.value, SubcogError)
        assert (refused.value.exit_code, refused.value.hint) == (EXIT_MODEL, "reinstall subcog")
        assert path in refused.value.message


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for location in (tmp_path / "nowhere.bin", tmp_path):
        with pytest.raises(layout.EncoderUnusable, match="cannot be"):
            layout.PackedEncoder(str(location))


def test_a_file_that_shrinks_while_it_is_open_is_said(path: str) -> None:
    packed = layout.PackedEncoder(path)
    os.truncate(path, layout.HEADER)
    with pytest.raises(layout.EncoderUnusable, match="truncated while it was open"):
        packed.record(0)
    packed.close()


def test_an_id_that_has_no_row_is_damage(path: str) -> None:
    content = Path(path).read_bytes()
    Path(path).write_bytes(content.replace(b"\xfftoken\xff\x00\x00\x02", b"\xfftoken\xff\x00\x00\x7f"))
    with pytest.raises(layout.EncoderUnusable, match="there is no token 127"):
        match(path, b"token")


def test_any_changed_byte_is_found_by_the_check(path: str) -> None:
    packing.check_encoder(path)
    content = bytearray(Path(path).read_bytes())
    content[-20] ^= 1
    Path(path).write_bytes(content)
    with pytest.raises(layout.EncoderUnusable, match="its checksum does not hold"):
        packing.check_encoder(path)


@pytest.mark.parametrize(
    ("vocabulary", "tokens", "bigrams", "message"),
    [
        ({"a": 10}, TOKENS, BIGRAMS, "an id of the vocabulary is outside the 10 rows"),
        (VOCABULARY, TOKENS, material.random_rows(1, 5, 4), "do not fit"),
        (VOCABULARY, TOKENS, (BIGRAMS[0], BIGRAMS[1][:4]), "do not fit"),
        (VOCABULARY, (TOKENS[0].astype(np.int16), TOKENS[1]), BIGRAMS, "rows of int16"),
        (VOCABULARY, (TOKENS[0], TOKENS[1] * 0), BIGRAMS, "every scale must be above 0"),
        (VOCABULARY, (TOKENS[0], TOKENS[1] * np.float32(np.nan)), BIGRAMS, "every scale must be above 0"),
        (VOCABULARY, (TOKENS[0][:, :6], TOKENS[1]), (BIGRAMS[0][:, :6], BIGRAMS[1]), "not a multiple of 4"),
    ],
)
def test_what_does_not_fit_together_is_not_written(
    vocabulary: dict[str, int],
    tokens: tuple[layout.Rows, layout.Scales],
    bigrams: tuple[layout.Rows, layout.Scales],
    message: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(ValueError, match=message):
        packing.write_encoder(str(tmp_path / "encoder.bin"), vocabulary, *tokens, *bigrams)
    assert not os.listdir(tmp_path)
