"""Which encoder reads a text, by its language; and texts in other languages among the memories."""

from subcog_hooks.embed import documents
from subcog_hooks.embed.by_language import encode_by_language
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder

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
    vectors = documents.encode_all(texts, lambda english: [text.encode() for text in english])
    assert [vectors[0], vectors[2]] == [b"one", b"two"]
    assert vectors[1::2] == [encode_by_language(lambda _: ENGLISH)(text) for text in texts[1::2]]


def test_a_long_text_has_passages_of_whole_characters() -> None:
    short, long = documents.encode_with_passages(["鍵は毎月更新する。", "鍵は毎月更新する。" * 60])
    assert len(short) == 1
    assert len(long) > 2
    assert all(len(vector) == len(short[0]) for vector in long)
