"""Tables: rows, words and weights as they stand in a file, and every table of the package read without a broken row."""

from pathlib import Path

import pytest

import subcog_hooks
from subcog_hooks.core.files import read_rows, read_weights, read_words

TABLES = sorted(Path(subcog_hooks.__file__).parent.rglob("*.tsv"))


@pytest.fixture
def module_file(tmp_path: Path) -> str:
    return str(tmp_path / "module.py")


def test_rows_are_read_without_comments(module_file: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"# name\tpattern\nfirst\t\\b<x> y\\b\r\n\nsecond\t\xc3\xbc\n")
    assert read_rows(module_file, "a.tsv") == [["first", "\\b<x> y\\b"], ["second", "\u00fc"]]


def test_words_and_weights_have_the_names_of_their_rows(module_file: str, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("colours\tred blue\nnone\t\n")
    (tmp_path / "weights.tsv").write_text("a sign\t-0.5\t2\n")
    assert read_words(module_file, "words.tsv") == {"colours": frozenset(("red", "blue")), "none": frozenset()}
    assert read_weights(module_file, "weights.tsv") == {"a sign": (-0.5, 2.0)}


def test_no_row_of_the_package_ends_in_blanks() -> None:
    """Editors take blanks off, and with them a cell or a part of a pattern."""
    texts = [table.read_text("utf-8") for table in TABLES]
    assert len(texts) > 10
    assert [line for text in texts for line in text.split("\n") if line != line.rstrip()] == []
    assert [text.splitlines() for text in texts] == [text.removesuffix("\n").split("\n") for text in texts]
