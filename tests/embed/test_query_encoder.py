"""The static encoder: vectors of its recipe, without numpy, for any text; and the encoder of a text's language."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from scripts.encoder import packing
from subcog_hooks.embed import documents, layout
from subcog_hooks.embed.documents import encode_many
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
from subcog_hooks.embed.query_encoder import MAX_TOKENS, StaticEncoder, encode_by_language
from tests.embed import material

Recipe = Callable[[str], np.ndarray[tuple[int], np.dtype[np.float32]]]
ROOT = Path(__file__).parents[2]
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


def dequantise(rows: layout.Rows, scales: layout.Scales) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
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


def test_tokens_behind_the_first_256_are_not_looked_at(encoder: StaticEncoder) -> None:
    start = "tenant " * MAX_TOKENS
    assert encoder.encode(start + "and a deadlock") == encoder.encode(start)
    assert encoder.encode("tenant and a deadlock", max_tokens=1) == encoder.encode("tenant")


def test_half_a_million_characters_have_a_vector(encoder: StaticEncoder, recipe: Recipe) -> None:
    for piece in ("a", "word ", "😀", "東", "."):
        text = piece * (500_000 // len(piece))
        assert np.abs(material.unit_vector(encoder, text) - recipe(text)).max() < 1e-5


def test_no_sum_overflows_and_scales_of_any_size_add_up(tmp_path: Path) -> None:
    for extreme in ([127, -128, 127, -128], [-128] * 4, [127] * 4):
        encoder = small(tmp_path / "e", [extreme], [0.5])
        expected = np.array(extreme) / np.linalg.norm(extreme)
        assert material.unit_vector(encoder, "a " * MAX_TOKENS) == pytest.approx(expected.tolist(), abs=1e-6)
        encoder.close()
    encoder = small(tmp_path / "e", [[100, 0, 0, 0], [0, 50, 0, 0], [0, 0, 80, 0]], [1e30, 1e30, 1e-30])
    assert material.unit_vector(encoder, "a b c") == pytest.approx([2 / 5**0.5, 1 / 5**0.5, 0, 0], abs=1e-5)
    encoder.close()


def test_rows_that_cancel_out_give_no_vector(tmp_path: Path) -> None:
    encoder = small(tmp_path / "e", [[100, 0, 0, -5], [-100, 0, 0, 5]], [1, 1])
    assert encoder.encode("a b") == b""
    assert encode_many(["a b"], str(tmp_path / "e")) == [b""]
    encoder.close()


def test_a_scale_that_is_no_number_above_zero_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "e"
    small(path, [[1, 2, 3, 4]], [1]).close()
    content = path.read_bytes()
    for scale in (b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\x00\x00\x00\x00", b"\x00\x00\x80\xbf"):
        path.write_bytes(content[:-12] + scale + content[-8:])  # the last record but one, which is the token's
        encoder = StaticEncoder.open(str(path))
        with pytest.raises(layout.EncoderUnusable, match="damaged"):
            encoder.encode("a")
        with pytest.raises(layout.EncoderUnusable, match="damaged"):
            encode_many(["a"], str(path))
        encoder.close()


def test_a_missing_encoder_is_said() -> None:
    with pytest.raises(layout.EncoderUnusable, match=r"nowhere\.bin cannot be opened"):
        StaticEncoder.open("nowhere.bin")
    with pytest.raises(layout.EncoderUnusable, match=r"nowhere\.bin cannot be opened"):
        encode_many(["a"], "nowhere.bin")


def test_encoding_ascii_loads_no_library(path: str) -> None:
    code = f"""
import sys
bare = set(sys.modules)
from subcog_hooks.embed.query_encoder import StaticEncoder
assert StaticEncoder.open({path!r}).encode("how do we handle deadlocks?")
print(sorted(set(sys.modules) - bare))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    loaded = {name for name in ast.literal_eval(done.stdout.decode()) if not name.startswith("subcog_hooks")}
    assert loaded <= {"__future__", "itertools"}


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
    assert documents.encode_provisionally(texts) == [encode(text) for text in texts]


def test_a_long_text_has_passages_of_whole_characters() -> None:
    short, long = documents.encode_with_passages(["鍵は毎月更新する。", "鍵は毎月更新する。" * 60])
    assert len(short) == 1
    assert len(long) > 2
    assert all(len(vector) == len(short[0]) for vector in long)
