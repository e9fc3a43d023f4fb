"""Stores of other programs with flip_bytes bytes: read, or refused in one line that says where the file is damaged."""

import random
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from subcog_hooks.capture import importing
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.sources import catalogue, foreign_database
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.project import Project
from tests.rival_stores import DATABASES

FLIPS = 200  # damaged files of a source
PAGE = 4_096  # bytes; a page's beginning describes its layout
INTERIOR = 5  # the first byte of a page that only points to others
SMALL_PAGE = 512  # bytes
MANY_LEVELS = 12  # levels of pages
LIMIT_S = 1.0
SHOP = catalogue.SourceContext("", Project("github.com/acme/shop", "/home/ada/shop", "/home/ada/shop"), {})


def flip_bytes(whole: bytes, chance: random.Random) -> bytes:
    """Return a file with some other bytes, half of them at the beginnings of pages; one in ten is cut, too."""
    damaged = bytearray(whole)
    for _ in range(chance.choice((1, 1, 3, 20))):
        at_beginning = chance.randrange(0, len(whole), PAGE) + chance.randrange(200)
        damaged[chance.choice((at_beginning, chance.randrange(len(whole))))] = chance.randrange(256)
    return bytes(damaged[: chance.randrange(len(whole))] if chance.random() < 0.1 else damaged)


def read(name: str, path: Path) -> int:
    reading = catalogue.read_source(name, str(path), SHOP)
    return importing.import_reading(reading.rows, ImportReport(), None, ImportOptions(), lambda _: None).added


@pytest.mark.parametrize("case", DATABASES)
def test_flipped_bytes_are_one_line_that_says_where(tmp_path: Path, case: str) -> None:
    name, make = DATABASES[case]
    path = make(tmp_path)
    whole, chance, refusals = path.read_bytes(), random.Random(case), []
    assert read(name, path) > 0
    for _ in range(FLIPS):
        path.write_bytes(flip_bytes(whole, chance))
        try:
            read(name, path)
        except UsageError as refusal:
            refusals.append(refusal)
    damages = [refusal.message for refusal in refusals if "is damaged" in refusal.message]
    assert len(damages) > FLIPS / 10
    assert all(message.startswith(f"{path} is damaged ") for message in damages)
    assert all(refusal.hint for refusal in refusals)
    path.write_bytes(whole)
    assert read(name, path) > 0


def point_all_to(page: memoryview, child: int) -> None:
    """Let every pointer of an interior page lead to one page. https://www.sqlite.org/fileformat2.html#b_tree_pages"""
    page[8:12] = child.to_bytes(4)
    for number in range(int.from_bytes(page[3:5])):
        cell = int.from_bytes(page[12 + 2 * number : 14 + 2 * number])
        page[cell : cell + 4] = child.to_bytes(4)


def test_a_table_whose_pages_lead_to_each_other_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    palace = DATABASES["mempalace"][1](tmp_path)
    with closing(sqlite3.connect(palace)) as database:
        database.execute(f"PRAGMA page_size = {SMALL_PAGE}")
        database.execute("VACUUM")
        rows = ((number, "no key of ours " * 20, "") for number in range(5_000))
        database.executemany("INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", rows)
        database.commit()
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'embedding_metadata'").fetchone()
    file = bytearray(palace.read_bytes())
    pages = [memoryview(file)[start : start + SMALL_PAGE] for start in range(0, len(file), SMALL_PAGE)]
    below_root = int.from_bytes(pages[root - 1][8:12])
    interior = [number for number, page in enumerate(pages, 1) if page[0] == INTERIOR and number not in (1, root, below_root)]
    levels = [root, *interior[:MANY_LEVELS]]
    for upper, lower in pairwise(levels):
        point_all_to(pages[upper - 1], lower)
    palace.write_bytes(file)
    monkeypatch.setattr(foreign_database, "MAX_FOREIGN_S", LIMIT_S)
    with pytest.raises(UsageError, match="takes more than 1 s to read"):
        read("mempalace", palace)
