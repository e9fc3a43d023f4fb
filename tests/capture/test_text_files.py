"""Text files in the encodings that people's editors and shells write."""

import codecs
from pathlib import Path

import pytest

from subcog_hooks.capture.repository_files import MAX_MARKDOWN_LINES, decode_text, read_text_file

TEXT = "# Größe\n\nDie Tür des Lagers schließt um sechs; “danach” kostet es 5 €.\n"


@pytest.mark.parametrize(
    ("raw", "remark"),
    [
        (TEXT.encode(), ""),
        (codecs.BOM_UTF8 + TEXT.encode(), ""),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "is read as UTF-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "is read as UTF-16"),
        (TEXT.encode("cp1252"), "is read as Windows-1252"),
    ],
)
def test_each_common_encoding_gives_the_same_text(raw: bytes, remark: str) -> None:
    assert decode_text(raw) == (TEXT, remark)


def test_bytes_that_are_no_letter_stand_out_and_cost_no_more(tmp_path: Path) -> None:
    remark = "has bytes that are not UTF-8: 1, shown as U+FFFD"
    assert decode_text(TEXT.encode().replace("ü".encode(), b"\xc3")) == (TEXT.replace("ü", "\ufffd"), remark)
    assert decode_text(codecs.BOM_UTF8 + b"caf\xe9") == ("caf\ufffd", remark)
    assert decode_text(b"first\0line") == ("first\0line", "")
    (tmp_path / "a.md").write_text(TEXT, encoding="cp1252", newline="")
    changed_ms = int((tmp_path / "a.md").stat().st_mtime * 1000)
    assert read_text_file(str(tmp_path / "a.md")) == (TEXT, changed_ms, "is read as Windows-1252")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0" * 9, "is a binary file"),
        (b"\x7fELF\2\1\1" + bytes(900), "is a binary file"),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "is a binary file"),
        ("Мы храним цены в копейках.".encode("cp1251"), "is neither UTF-8 nor UTF-16 nor Windows-1252; save it as UTF-8"),
        ("価格はセントで保存します。".encode("shift-jis"), "is neither UTF-8 nor UTF-16 nor Windows-1252; save it as UTF-8"),
    ],
)
def test_binary_files_and_other_alphabets_are_refused(raw: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(raw)
    assert read_text_file(str(tmp_path / "a.md")) == reason


def test_files_that_cannot_be_read_have_a_reason(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("\n" * (MAX_MARKDOWN_LINES + 1))
    assert read_text_file(str(tmp_path / "long.md")) == "has more than 100,000 lines; split it"
    assert read_text_file(str(tmp_path / "none.md")) == "cannot be read: No such file or directory"
    assert isinstance(read_text_file(str(tmp_path)), str)
