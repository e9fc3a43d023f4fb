"""The static encoder: vectors of its recipe, without numpy, for any text; and the encoder of a text's language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.encoder import packing
from subcog_hooks.core.errors import EXIT_MODEL, SubcogError
from subcog_hooks.embed import layout, neural_encoder, static_encoder
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
from subcog_hooks.embed.neural_encoder import encode_many
from subcog_hooks.embed.static_encoder import MAX_TOKENS, StaticEncoder, encode_by_language
from tests.embed import material

Recipe = Callable[[str], np.ndarray[tuple[int], np.dtype[np.float32]]]


TEXTS = [*material.texts(11, 300), "ქართული ენა ᠮᠣᠩᠭᠣᠯ", "😀" * 50, "the " * 1000, "a" * 500]


TOKENIZER = material.library()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("encoder") / "encoder.bin")
    vocabulary = material.vocabulary()
    packing.write_encoder(
        made, vocabulary, *material.random_rows(1, len(vocabulary)), *material.random_rows(2, material.BIGRAMS)
    )
    return made


@pytest.fixture(scope="module")
def encoder(path: str) -> Iterator[StaticEncoder]:
    opened = StaticEncoder.open(path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    """The published recipe in numpy's arithmetic, on the ids of `tokenizers`; not a number where there is no token."""
    tokens = dequantise(*material.random_rows(1, len(material.vocabulary())))
    bigrams = dequantise(*material.random_rows(2, material.BIGRAMS))

    def vector(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        ids = TOKENIZER.encode(text, add_special_tokens=False).ids[:MAX_TOKENS]
        total = tokens[ids].sum(axis=0)
        for a, b in pairwise(ids):
            total += bigrams[(a * 1000003 + b * 7919) % material.BIGRAMS]
        with np.errstate(invalid="ignore"):
            return np.asarray(total / np.linalg.norm(total), np.float32)

    return vector


def dequantise(rows: packing.Rows, scales: packing.Scales) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return rows * scales[:, None]


def signed_values(encoded: bytes) -> list[int]:
    return memoryview(encoded).cast("b").tolist()


def small(path: Path, tokens: list[list[int]], scales: list[float]) -> StaticEncoder:
    """An encoder of four dimensions with the tokens a, b, c ... and no bigrams to speak of."""
    vocabulary = {chr(ord("a") + i): i for i in range(len(tokens))}
    nothing = np.zeros((1, 4), np.int8), np.array([1e-30], np.float32)
    packing.write_encoder(str(path), vocabulary, np.array(tokens, np.int8), np.array(scales, np.float32), *nothing)
    return StaticEncoder.open(str(path))


def test_vectors_are_those_of_the_recipe(encoder: StaticEncoder, recipe: Recipe) -> None:
    for text in TEXTS:
        actual, expected = material.unit_vector(encoder, text), recipe(text)
        if actual:
            assert np.abs(actual - expected).max() < 1e-5, ascii(text)
        else:
            assert np.isnan(expected).all(), ascii(text)


def test_bytes_are_the_vector_with_its_largest_value_at_127(encoder: StaticEncoder) -> None:
    for text in TEXTS:
        vector, encoded = np.array(material.unit_vector(encoder, text)), signed_values(encoder.encode(text))
        assert len(vector) == len(encoded)
        if encoded:
            assert max(map(abs, encoded)) == 127
            assert np.abs(vector * (127 / np.abs(vector).max()) - encoded).max() < 0.5 + 1e-9, ascii(text)


def test_many_texts_at_once_give_the_same_bytes_but_for_rounding(encoder: StaticEncoder, path: str) -> None:
    texts = [*TEXTS, "lone \ud800 surrogate \udfff[MA\ud800SK]", ""]
    for text, encoded in zip(texts, encode_many(texts, path), strict=True):
        values = signed_values(encoder.encode(text))
        assert len(values) == len(signed_values(encoded))
        assert all(abs(a - b) <= 1 for a, b in zip(values, signed_values(encoded), strict=True)), ascii(text)
    assert encode_many([], path) == []


def test_a_text_without_a_token_has_no_vector(encoder: StaticEncoder) -> None:
    for text in ("", " \n\t", "\x00\x07\x1b", "\u200b\ufeff", "\u0301", "\ud800"):
        assert (encoder.encode(text), material.unit_vector(encoder, text)) == (b"", [])


def test_any_characters_have_a_vector_or_none(encoder: StaticEncoder) -> None:
    for start in range(0, 0x110000, 0x1000):
        assert len(encoder.encode("".join(map(chr, range(start, start + 0x1000))))) in (0, material.DIMENSION)


def test_tokens_behind_the_first_256_are_not_looked_at(encoder: StaticEncoder) -> None:
    start = "tenant " * MAX_TOKENS
    assert encoder.encode(start + "and a deadlock") == encoder.encode(start)
    assert encoder.encode("tenant and a deadlock", max_tokens=1) == encoder.encode("tenant")


def test_no_sum_overflows_and_scales_of_any_size_add_up(tmp_path: Path) -> None:
    for extreme in ([127, -128, 127, -128], [-128] * 4, [127] * 4):
        encoder = small(tmp_path / "e", [extreme], [0.5])
        expected = np.array(extreme) / np.linalg.norm(extreme)
        assert material.unit_vector(encoder, "a " * MAX_TOKENS) == pytest.approx(expected.tolist(), abs=1e-6)
        encoder.close()
    encoder = small(tmp_path / "e", [[100, 0, 0, 0], [0, 50, 0, 0], [0, 0, 80, 0]], [1e30, 1e30, 1e-30])
    assert material.unit_vector(encoder, "a b c") == pytest.approx([2 / 5**0.5, 1 / 5**0.5, 0, 0], abs=1e-5)
    encoder.close()


ENGLISH = b"english"


FOREIGN = ("Wie drehen wir die Schlüssel?", "署名鍵はどこですか", "где лежат ключи", "우리 서명 키는 어디에 있나요")


def test_a_text_is_read_by_the_encoder_of_its_language() -> None:
    encode, multilingual = encode_by_language(lambda _: ENGLISH), MultilingualEncoder.open()
    assert [encode(text) for text in ("How are the keys rotated?", "café 42")] == [ENGLISH] * 2
    assert [encode(text) for text in FOREIGN] == [multilingual.encode(text) for text in FOREIGN]
    assert all(map(multilingual.encode, FOREIGN))
    assert [encode(text) for text in ("...", "🦀", "")] == [None] * 3  # without a word


def test_many_texts_keep_their_order() -> None:
    texts = ["one", FOREIGN[0], "two", FOREIGN[1]]
    encode = encode_by_language(StaticEncoder.open().encode)
    assert neural_encoder.encode_provisionally(texts) == [encode(text) for text in texts]


def test_a_long_text_has_passages_of_whole_characters() -> None:
    short, long = neural_encoder.encode_with_passages(["鍵は毎月更新する。", "鍵は毎月更新する。" * 60])
    assert len(short) == 1
    assert len(long) > 2
    assert all(len(vector) == len(short[0]) for vector in long)


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
def small_path(tmp_path: Path) -> str:
    made = str(tmp_path / "encoder.bin")
    packing.write_encoder(made, VOCABULARY, *TOKENS, *BIGRAMS)
    return made


def match(small_path: str, piece: bytes) -> tuple[int, int]:
    packed = layout.PackedEncoder(small_path)
    try:
        return packed.match(piece)
    finally:
        packed.close()


@pytest.mark.parametrize("read", [layout._read_at, layout._seek_and_read])
def test_rows_are_read_as_they_were_written(
    read: Callable[..., bytes], small_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "_read_at", read)
    packed = layout.PackedEncoder(small_path)
    assert (packed.dimension, packed.tokens, packed.bigrams) == (8, len(VOCABULARY), 5)
    rows, scales = np.concatenate((TOKENS[0], BIGRAMS[0])), np.concatenate((TOKENS[1], BIGRAMS[1]))
    for number, (row, scale) in enumerate(zip(rows, scales, strict=True)):
        record = packed.record(number)
        assert [value - 128 for value in record[:8]] == row.tolist()
        assert np.frombuffer(record[8:], "<f4") == scale
    assert packed.all_records() == b"".join(map(packed.record, range(len(rows))))
    packed.close()


def test_the_longest_token_that_a_piece_begins_with_is_found(small_path: str) -> None:
    cases = [
        *(("token", (5, 2)), ("tokens", (5, 2)), ("tokenization", (12, 4)), ("tokenizations", (12, 4))),
        *(("tokenizatio", (5, 2)), ("toke", (3, 5)), ("to", (0, 0)), ("é", (2, 6)), ("éa", (2, 6)), ("東京", (3, 7))),
        *(("京", (0, 0)), ("", (0, 0)), ("[unused0]", (0, 0)), ("##token", (2, 9))),
    ]
    assert [(piece, actual) for piece, expected in cases if (actual := match(small_path, piece.encode())) != expected] == []
    assert match(small_path, layout.CONTINUES + b"tokens") == (6, 3)  # continuations are apart from beginnings
    assert match(small_path, layout.CONTINUES + b"a") == (0, 0)


def test_every_token_of_the_vocabulary_is_found(tmp_path: Path) -> None:
    small_path, vocabulary = str(tmp_path / "encoder.bin"), material.vocabulary()
    packing.write_encoder(small_path, vocabulary, *material.random_rows(1, len(vocabulary), 4), *material.random_rows(2, 1, 4))
    packed = layout.PackedEncoder(small_path)
    wrong = [
        token
        for token, number in vocabulary.items()
        if packed.match(stored := packing.stored_form(token)) != (len(stored), number) and not token.startswith("[unused")
    ]
    packed.close()
    assert not wrong


def test_a_file_that_is_no_encoder_is_refused(small_path: str) -> None:
    content = Path(small_path).read_bytes()
    foreign = (b"", b"PK\x03\x04" + content, content[:8], content[:40], bytes(len(content)))
    no_dimension = content[:12] + bytes(4) + content[16:]
    cases = [
        *((damaged, "is not a packed query encoder") for damaged in foreign),
        *((cut, "its header speaks of") for cut in (content[: layout.HEADER], content[:-1], content + b"\0", no_dimension)),
        (content[:8] + b"\x02" + content[9:], "has format 2, this version reads 1"),
    ]
    for damaged, message in cases:
        Path(small_path).write_bytes(damaged)
        with pytest.raises(layout.EncoderUnusable, match=message) as refused:
            layout.PackedEncoder(small_path)
        assert isinstance(refused.value, SubcogError)
        assert (refused.value.exit_code, refused.value.hint) == (EXIT_MODEL, "reinstall subcog")
        assert small_path in refused.value.message


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for location in (tmp_path / "nowhere.bin", tmp_path):
        with pytest.raises(layout.EncoderUnusable, match="cannot be"):
            layout.PackedEncoder(str(location))


def test_rows_without_a_scale_are_damage(small_path: str) -> None:
    content = Path(small_path).read_bytes()
    rows = StaticEncoder.open(small_path).all_records()
    Path(small_path).write_bytes(content.replace(rows, bytes(len(rows))))
    with pytest.raises(layout.EncoderUnusable, match="is damaged; reinstall subcog"):
        StaticEncoder.open(small_path).encode("token")


TEXT = st.text(st.characters(codec="utf-8").filter(material.is_stable))


MIXED = st.lists(TEXT | st.sampled_from(["##", "[", "e\u0301", "東", "don't"])).map("".join)


@pytest.fixture(scope="module")
def packed_encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[layout.PackedEncoder]:
    path = tmp_path_factory.mktemp("encoder") / "encoder.bin"
    vocabulary = material.vocabulary()
    packing.write_encoder(str(path), vocabulary, *material.random_rows(1, len(vocabulary), 4), *material.random_rows(2, 1, 4))
    opened = layout.PackedEncoder(str(path))
    yield opened
    opened.close()


def of_library(text: str) -> list[int]:
    return list(TOKENIZER.encode(text, add_special_tokens=False).ids)


def differing(texts: list[str], packed_encoder: layout.PackedEncoder) -> list[str]:
    encoded = TOKENIZER.encode_batch(texts, add_special_tokens=False)
    return [
        text
        for text, expected in zip(texts, encoded, strict=True)
        if static_encoder.token_ids(text, packed_encoder.match) != expected.ids
    ]


@pytest.mark.parametrize("between", [" {} ", "a{}b"])
def test_every_character_gives_what_the_library_gives(between: str, packed_encoder: layout.PackedEncoder) -> None:
    alike = (
        *range(0x3400, 0xD7A0, 89),
        *range(0xE000, 0xF900, 89),
        *range(0x20000, 0x110000, 89),
    )  # ideographs, Hangul, private
    codes = (*range(0x3400), *range(0x9FF0, 0xAC00), *range(0xF900, 0x20000), *alike)
    characters = [c for c in map(chr, codes) if material.is_stable(c)]
    chunks = [characters[start : start + 500] for start in range(0, len(characters), 500)]
    wrong = [chunk for chunk in chunks if differing([" ".join(map(between.format, chunk))], packed_encoder)]
    assert not differing([between.format(c) for chunk in wrong for c in chunk], packed_encoder)


def test_thousands_of_texts_tokenise_as_in_the_library(packed_encoder: layout.PackedEncoder) -> None:
    assert not differing(material.texts(1, 4_000), packed_encoder)


@given(MIXED)
def test_any_text_gives_what_the_library_gives(packed_encoder: layout.PackedEncoder, text: str) -> None:
    assert static_encoder.token_ids(text, packed_encoder.match) == of_library(text)


def test_words_are_lower_case_and_split_at_signs() -> None:
    cases = [
        ("Does OAuth2 use PKCE?", ["does", "oauth2", "use", "pkce", "?"]),
        ("src/app/db.py:42", ["src", "/", "app", "/", "db", ".", "py", ":", "42"]),
        ("Ångström’s CAFÉ", ["angstrom", "’", "s", "cafe"]),
        ("キャッシュにRedis", ["キャッシュにredis"]),
        ("東京で", ["東", "京", "て"]),
        ("a\u200bb\x00c\ufffdd\u00ade", ["abcde"]),
        ("a\u2028b\u3000c", ["a", "b", "c"]),
        ("≠", ["="]),
        ("a [MASK]", ["a", "[", "mask", "]"]),
    ]
    assert [(text, actual) for text, words in cases if (actual := static_encoder.split_words(text)) != words] == []


def test_a_word_above_a_hundred_characters_is_unknown(packed_encoder: layout.PackedEncoder) -> None:
    unknown = [material.vocabulary()["[UNK]"]]
    assert static_encoder.token_ids("a" * 101, packed_encoder.match) == unknown == of_library("a" * 101)
    assert static_encoder.token_ids("a" * 100, packed_encoder.match) == of_library("a" * 100) != unknown


@given(text=MIXED, limit=st.integers(0, 20))
def test_a_limit_gives_the_first_ids(packed_encoder: layout.PackedEncoder, text: str, limit: int) -> None:
    assert static_encoder.token_ids(text, packed_encoder.match, limit) == of_library(text)[:limit]


def test_half_a_million_characters_give_what_the_library_gives(
    packed_encoder: layout.PackedEncoder, subtests: pytest.Subtests
) -> None:
    """The library is asked about a part that has as many: a word above a hundred characters is one token, however long."""
    cases = [
        *("a", "a ", "word ", "word\n", "😀", "東", "한", "é", "か", ".", "[", "\x00"),
        *("\u200b", "\u0301\u0327", "\u302e\U0001d165"),
    ]
    for piece in cases:
        with subtests.test(piece=piece):
            text = piece * (500_000 // len(piece))
            assert static_encoder.token_ids(text, packed_encoder.match, 256) == of_library(text[:20_000])[:256]


def test_texts_are_cut_into_stretches_only_where_words_end(packed_encoder: layout.PackedEncoder) -> None:
    texts = ["".join(material.texts(seed, 400)) for seed in range(2, 4)]
    assert min(map(len, texts)) > 2 * static_encoder._STRETCH
    assert not differing(texts, packed_encoder)
