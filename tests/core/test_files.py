"""A file is put in place whole, also beside other writers of the same file."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import subcog_hooks
from subcog_hooks.core.files import WholeFile, read_rows, read_weights, read_words

WRITES = """
import sys
from subcog_hooks.core.files import WholeFile
with WholeFile(sys.argv[1]) as whole:
    whole.file.write("half of it")
    whole.file.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""


def start_writer(target: Path) -> subprocess.Popen[bytes]:
    """A process that is in the middle of writing a file, until its input ends."""
    process = subprocess.Popen([sys.executable, "-c", WRITES, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"begun"
    return process


def test_the_file_takes_the_place_of_the_old_one_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "config.toml"
    target.write_text("old", encoding="utf-8")
    with WholeFile(str(target)) as whole:
        whole.file.write("new\n")
        assert target.read_text(encoding="utf-8") == "old"
    assert target.read_bytes() == b"new\n"
    assert os.listdir(tmp_path) == ["config.toml"]
    assert os.name == "nt" or stat.S_IMODE(target.stat().st_mode) == 0o600


def test_nothing_is_left_of_a_file_that_fails(tmp_path: Path) -> None:
    with pytest.raises(TypeError), WholeFile(str(tmp_path / "config.toml")) as whole:
        whole.file.write(7)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


def test_two_writers_of_one_file_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    target = tmp_path / "config.toml"
    with start_writer(target) as first:
        with WholeFile(str(target)) as whole:
            whole.file.write("all of it")
        assert target.read_text(encoding="utf-8") == "all of it"
        first.communicate()
    assert first.returncode == 0
    assert target.read_text(encoding="utf-8") == "half of it"
    assert os.listdir(tmp_path) == ["config.toml"]


def test_a_file_that_is_being_read_is_replaced_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses while a process has the file open."""
    refusals, replace = [PermissionError(13, "in use")] * 5, os.replace

    def refused_at_first(old: str, new: str) -> None:
        if refusals:
            raise refusals.pop()
        replace(old, new)

    monkeypatch.setattr(os, "replace", refused_at_first)
    with WholeFile(str(tmp_path / "config.toml")) as whole:
        whole.file.write("all of it")
    assert os.listdir(tmp_path) == ["config.toml"]


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
