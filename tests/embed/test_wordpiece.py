"""WordPiece: the same ids as the `tokenizers` library, for any text."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.encoder import packing
from subcog_hooks.embed import layout, query_encoder
from tests.embed import material

TOKENIZER = material.library()
TEXT = st.text(st.characters(codec="utf-8"))
MIXED = st.lists(TEXT | st.sampled_from([*query_encoder.SPECIAL, "##", "[", "e\u0301", "東", "don't"])).map("".join)


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
        if query_encoder.token_ids(text, packed_encoder.match) != expected.ids
    ]


@pytest.mark.parametrize("between", [" {} ", "a{}b"])
def test_every_character_gives_what_the_library_gives(between: str, packed_encoder: layout.PackedEncoder) -> None:
    """Unassigned characters count, too: the tables of newer marks hold under every Python."""
    alike = (
        *range(0x3400, 0xD7A0, 89),
        *range(0xE000, 0xF900, 89),
        *range(0x20000, 0x110000, 89),
    )  # ideographs, Hangul, private
    characters = [chr(code) for code in (*range(0x3400), *range(0x9FF0, 0xAC00), *range(0xF900, 0x20000), *alike)]
    chunks = [characters[start : start + 500] for start in range(0, len(characters), 500)]
    wrong = [chunk for chunk in chunks if differing([" ".join(map(between.format, chunk))], packed_encoder)]
    assert not differing([between.format(c) for chunk in wrong for c in chunk], packed_encoder)


def test_thousands_of_texts_tokenise_as_in_the_library(packed_encoder: layout.PackedEncoder) -> None:
    assert not differing(material.texts(1, 4_000), packed_encoder)


@given(MIXED)
def test_any_text_gives_what_the_library_gives(packed_encoder: layout.PackedEncoder, text: str) -> None:
    assert query_encoder.token_ids(text, packed_encoder.match) == of_library(text)


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
    ]
    assert [(text, actual) for text, words in cases if (actual := query_encoder.split_words(text)) != words] == []


def test_a_word_above_a_hundred_characters_is_unknown(packed_encoder: layout.PackedEncoder) -> None:
    unknown = [material.vocabulary()["[UNK]"]]
    assert query_encoder.token_ids("a" * 101, packed_encoder.match) == unknown == of_library("a" * 101)
    assert query_encoder.token_ids("a" * 100, packed_encoder.match) == of_library("a" * 100) != unknown


@given(text=MIXED, limit=st.integers(0, 20))
def test_a_limit_gives_the_first_ids(packed_encoder: layout.PackedEncoder, text: str, limit: int) -> None:
    assert query_encoder.token_ids(text, packed_encoder.match, limit) == of_library(text)[:limit]


def test_lone_surrogates_count_for_nothing(packed_encoder: layout.PackedEncoder) -> None:
    assert query_encoder.token_ids("tab\ud800le \udfff [MA\ud800SK]", packed_encoder.match) == of_library("table [MA\x00SK]")


def test_half_a_million_characters_give_what_the_library_gives(
    packed_encoder: layout.PackedEncoder, subtests: pytest.Subtests
) -> None:
    """The library is asked about a part that has as many: a word above a hundred characters is one token, however long."""
    cases = [
        *("a", "a ", "word ", "word\n", "😀", "東", "한", "é", "か", ".", "[", "[PAD", "[MASK]", "\x00"),
        *("\u200b", "\u0301\u0327", "\u1df6\u302e"),
    ]
    for piece in cases:
        with subtests.test(piece=piece):
            text = piece * (500_000 // len(piece))
            assert query_encoder.token_ids(text, packed_encoder.match, 256) == of_library(text[:20_000])[:256]


def test_texts_are_cut_into_stretches_only_where_words_end(packed_encoder: layout.PackedEncoder) -> None:
    texts = ["".join(material.texts(seed, 400)) for seed in range(2, 4)]
    assert min(map(len, texts)) > 2 * query_encoder._STRETCH
    assert not differing(texts, packed_encoder)
