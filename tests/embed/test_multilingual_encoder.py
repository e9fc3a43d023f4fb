"""The multilingual encoder: pieces as `tokenizers` cuts them, vectors near English in meaning, damage is named."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from scripts.encoder import packing, pieces
from subcog_hooks.embed import layout, multilingual_encoder
from subcog_hooks.embed.multilingual_encoder import MAX_TOKENS, MultilingualEncoder, Segmenter, normalise
from subcog_hooks.embed.static_encoder import StaticEncoder
from tests.embed import material

ROOT = Path(__file__).parents[2]


TEXTS = [
    "Wie drehen wir die Signaturschlüssel des Release-Dienstes, ohne den Bau anzuhalten?",
    "¿Cómo renovamos las claves de firma del servicio de publicación sin detener la compilación?",
    "Où est configurée la taille maximale d'une pièce jointe, et qui l'a décidée ?",
    "Por que a fila de mensagens não tenta de novo depois de uma falha da rede?",
    "Почему очередь заданий останавливается после обновления базы данных?",
    "リリースサービスの署名鍵はどうやって更新しますか。カタカナと漢字とﾊﾝｶｸです",
    "为什么消息队列在数据库升级后停止？部署脚本在哪里配置？",
    "데이터베이스를 업그레이드한 뒤 작업 대기열이 멈추는 이유는 무엇입니까?",
    "snake_case --no-verify src/app/db.py HTTP 503\tÜBER ﬁle ½ ＡＢＣ İstanbul ΣΊΣΥΦΟΣ 😀👩‍👧 \ue000 ▁a▁b",
]


PAIRS = [  # a need in a language, and English notes, of which the first one answers it
    ("wie lange werden sicherungen der datenbank aufbewahrt", "Backups of the database are kept for thirty days."),
    ("¿dónde se guarda la contraseña del usuario?", "User passwords are stored in the keyring, never in a file."),
    ("comment désactiver les mises à jour automatiques", "Automatic updates can be disabled in the settings."),
    ("почему не удаётся подключиться к серверу", "The connection to the server fails when the port is blocked."),
    ("画像のファイル形式を変更する", "Change the file format of an image with the export dialog."),
    ("如何打印文档", "To print a document, choose the printer first."),
]


def scored_pieces() -> list[tuple[str, float]]:
    """Pieces of the texts: every second character and many stretches, some of which other pieces make up at a lower cost."""
    chance = np.random.default_rng(1)
    words = [word for text in TEXTS for word in normalise(text.replace("\ue000", ""))]
    stretches = {word[start : start + length] for word in words for start in range(len(word)) for length in (1, 2, 3, 4, 6, 9)}
    chosen = [piece for piece in sorted(stretches) if len(piece) > 1 or ord(piece) % 2 or piece == multilingual_encoder.BEGIN]
    return [(piece, -round(float(score), 1)) for piece, score in zip(chosen, chance.uniform(3, 18, len(chosen)), strict=True)]


PIECES = scored_pieces()


ROWS = np.random.default_rng(3).normal(size=(len(PIECES), material.DIMENSION)).astype(np.float32)


def library() -> Tokenizer:
    """The library's tokenizer of the same pieces. It adds up scores, which are exact when they are whole numbers."""
    costs = [(piece, float(round(packing.COSTS * score))) for piece, score in PIECES]
    unknown = min(score for _, score in costs) - packing.UNKNOWN_COST  # the library's is 10 below the lowest score
    return Tokenizer(models.Unigram([("<unk>", 0.0), *costs, ("\ue000" * 9, unknown + 10)], unk_id=0, byte_fallback=False))


LIBRARY = library()


def pieces_of_library(text: str) -> list[str]:
    encoded = [LIBRARY.encode(word) for word in normalise(text)]
    words = [[piece for piece, number in zip(one.tokens, one.ids, strict=True) if number] for one in encoded]
    return [piece for word in words if word != [multilingual_encoder.BEGIN] for piece in word][:MAX_TOKENS]


def packed_names(packed: MultilingualEncoder) -> dict[int, str]:
    """The piece of each row."""
    names = {}
    for piece, _ in PIECES:
        bucket = packed.bucket(packing.bucket_key(piece))
        offset = bucket.find(f"\n{piece}\t")
        if offset >= 0:
            names[ord(bucket[0]) - multilingual_encoder.NUMBERS + bucket.count("\n", 0, offset)] = piece
    return names


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("encoder") / "multilingual.bin")
    pieces.pack(made, PIECES, ROWS)
    return made


@pytest.fixture(scope="module")
def packed(path: str) -> Iterator[MultilingualEncoder]:
    opened = MultilingualEncoder(path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def packaged() -> Iterator[MultilingualEncoder]:
    opened = MultilingualEncoder.open()
    yield opened
    opened.close()


@pytest.fixture
def copy(path: str, tmp_path: Path) -> Path:
    copied = tmp_path / "copy.bin"
    copied.write_bytes(Path(path).read_bytes())
    return copied


def cut(packed: MultilingualEncoder, text: str) -> list[str]:
    names = packed_names(packed)
    return [names[row] for row in Segmenter(packed.bucket, packed.unknown).piece_rows(text, MAX_TOKENS)]


def test_texts_of_every_kind_are_cut_as_by_the_library(packed: MultilingualEncoder) -> None:
    names, segmenter = packed_names(packed), Segmenter(packed.bucket, packed.unknown)
    without_blanks = TEXTS[5] * 60
    assert len(pieces_of_library(without_blanks)) == MAX_TOKENS
    for text in (*TEXTS, without_blanks, *material.texts(12, 300)):
        assert [names[row] for row in segmenter.piece_rows(text, MAX_TOKENS)] == pieces_of_library(text), ascii(text)


@settings(deadline=None)
@given(st.lists(st.sampled_from([piece for piece, _ in PIECES] + [" ", "\ue000"])).map("".join))
def test_any_pieces_side_by_side_are_cut_as_by_the_library(path: str, text: str) -> None:
    packed = MultilingualEncoder(path)
    assert cut(packed, text) == pieces_of_library(text)
    packed.close()


def test_vectors_are_sums_of_the_rows_of_pieces(path: str, packed: MultilingualEncoder) -> None:
    encoder = MultilingualEncoder.open(path)
    rows = {piece: row for (piece, _), row in zip(PIECES, pieces.weigh_rows(PIECES, ROWS), strict=True)}
    for text in TEXTS:
        total = np.sum([rows[piece] for piece in cut(packed, text)], axis=0)
        vector, encoded = np.array(material.unit_vector(encoder, text)), np.frombuffer(encoder.encode(text), np.int8)
        assert vector @ total / np.linalg.norm(total) > 0.98, text
        assert np.abs(encoded).max() == 127
        assert np.abs(vector * (127 / np.abs(vector).max()) - encoded).max() < 0.5 + 1e-9
    encoder.close()


def test_only_pieces_of_the_beginning_give_a_vector(packaged: MultilingualEncoder) -> None:
    for text in ("", " \n\t", "\ue000\ue001", "\ud800"):
        assert (packaged.encode(text), material.unit_vector(packaged, text)) == (b"", [])
    for part in ("a", "größe ", "設定を変更する", "한국어 ", "\u0301"):
        text = part * (500_000 // len(part))
        assert packaged.encode(text) == packaged.encode(text[:10_000])


def test_needs_in_other_languages_lie_near_english_notes(packaged: MultilingualEncoder) -> None:
    english = StaticEncoder.open()
    notes = np.array([material.unit_vector(english, note) for _, note in PAIRS])
    nearest = [int(np.argmax(notes @ material.unit_vector(packaged, need))) for need, _ in PAIRS]
    english.close()
    assert nearest == list(range(len(PAIRS)))
    assert packaged.dimension == notes.shape[1]


def test_the_packaged_file_is_whole() -> None:
    from subcog_hooks.embed.multilingual_encoder import PACKAGED

    packing.check_encoder(PACKAGED, MultilingualEncoder)
    assert os.path.getsize(PACKAGED) < 13_500_000


@pytest.mark.parametrize(
    ("start", "end", "content", "message"),
    [
        (0, 8, b"subcogQE", "is not a packed query encoder"),
        (0, 40, b"", "is not a packed query encoder"),
        (64, -9, b"", "truncated"),
        (8, 9, b"\x02", "has format 2, this version reads 1"),
        (12, 16, bytes(4), "its header speaks of"),
        (20, 24, b"\xff\xff\x00\x00", "its header speaks of"),
        (-1, None, b"", "its header speaks of"),
    ],
)
def test_a_damaged_file_is_refused(start: int, end: int | None, content: bytes, message: str, copy: Path) -> None:
    whole = copy.read_bytes()
    copy.write_bytes(whole[:start] + content + (whole[end:] if end else b""))
    with pytest.raises(layout.EncoderUnusable, match=message) as refused:
        MultilingualEncoder.open(str(copy))
    assert refused.value.hint == "reinstall subcog"
    assert str(copy) in refused.value.message


def test_a_damaged_vocabulary_is_named(copy: Path) -> None:
    whole = copy.read_bytes()
    start = layout.HEADER + 4 * (packing.PIECE_BUCKETS + 1)
    copy.write_bytes(whole[:start] + b"\xff" * 8_000 + whole[start + 8_000 :])
    with pytest.raises(layout.EncoderUnusable, match="is damaged; reinstall subcog"):
        MultilingualEncoder.open(str(copy)).encode(" ".join(TEXTS))
    with pytest.raises(layout.EncoderUnusable, match="its checksum does not hold"):
        packing.check_encoder(str(copy), MultilingualEncoder)


def test_encoding_loads_only_its_own_modules() -> None:
    code = """
import sys
bare = set(sys.modules)
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
assert MultilingualEncoder.open().encode("wo liegt die größte Datei?")
print(sorted(set(sys.modules) - bare))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    own = {"subcog_hooks", "subcog_hooks.core", "subcog_hooks.core.errors", "subcog_hooks.embed", "unicodedata"}
    own |= {f"subcog_hooks.embed.{name}" for name in ("layout", "multilingual_encoder")}
    assert set(ast.literal_eval(done.stdout.decode())) - {"__future__"} == own
