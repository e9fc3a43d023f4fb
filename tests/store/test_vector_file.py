"""The file of a space's vectors: one that cannot be used, is shared, or is without sqlite-vec."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.vector_reader import ExtensionMissing, VectorsUnusable, vectors_path
from subcog_hooks.store.vector_store import VectorStore
from tests.store.conftest import SMALL, SMALL_DIMENSION, damage, lose_a_table, put, run_sql, vector


def fill(path: str) -> None:
    with open(path, "wb") as file:
        file.write(os.urandom(40_000))


def truncate(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2 // 4096 * 4096 + 100)


def of_another_program(path: str) -> None:
    os.unlink(path)
    run_sql(path, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")


def of_a_later_version(path: str) -> None:
    run_sql(path, "PRAGMA user_version = 99")


def of_an_earlier_version(path: str) -> None:
    run_sql(path, "PRAGMA user_version = 1")


def a_folder(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)


DAMAGES = [fill, truncate, damage, of_another_program, of_a_later_version, of_an_earlier_version, a_folder, lose_a_table]


@pytest.mark.parametrize("harm", [*DAMAGES, os.unlink])
def test_a_reader_of_a_useless_file_is_told_so(
    home: Home, vectors: VectorStore, crowd: list[Memory], harm: Callable[[str], None]
) -> None:
    vectors.close()
    harm(vectors_path(home, SMALL))
    with pytest.raises(VectorsUnusable) as raised, VectorStore.reader(home, SMALL, SMALL_DIMENSION) as reader:
        reader.nearest(vector(1), 300, None, ())
    assert vectors_path(home, SMALL) in raised.value.message
    assert raised.value.hint == "run `subcog doctor --fix`"


def test_a_file_that_is_empty_is_made_by_the_next_writer(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    vectors.close()
    os.truncate(vectors_path(home, SMALL), 0)
    with pytest.raises(StoreError, match="is empty; another process is making it"):
        VectorStore.reader(home, SMALL, SMALL_DIMENSION)
    with VectorStore.writer(home, SMALL, SMALL_DIMENSION) as anew:
        assert (anew.watermark(), anew.counts()) == (-1, (0, 0))


def test_vectors_of_another_dimension_are_refused(home: Home, vectors: VectorStore) -> None:
    for opened in (VectorStore.reader, VectorStore.writer):
        with pytest.raises(VectorsUnusable, match=r"has vectors of 64 dimensions, expected 384; run `subcog doctor --fix`"):
            opened(home, SMALL, 384)


def test_codes_that_are_lost_are_missed(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    assert vectors.problems() == []
    connection = apsw.Connection(vectors.path)
    connection.execute("DELETE FROM codes WHERE key IN (SELECT key FROM codes LIMIT 3)")
    assert vectors.problems() == ["3 vectors without a code"]
    connection.execute("DROP TABLE codes")
    connection.close()
    with pytest.raises(VectorsUnusable):
        vectors.problems()


def test_a_damaged_page_is_found(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    vectors.close()
    connection = apsw.Connection(vectors_path(home, SMALL))
    page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'pending'").fetchall()[0][0]
    connection.close()
    assert isinstance(page, int)
    with open(vectors_path(home, SMALL), "r+b") as file:
        file.seek((page - 1) * 4096 + 8)
        file.write(b"\xff" * 64)
    with VectorStore.reader(home, SMALL, SMALL_DIMENSION) as reader:
        assert reader.watermark() == -1
        assert len(reader.problems()) >= 1


def test_removed_vectors_are_gone_for_those_who_have_them_open(home: Home, vectors: VectorStore) -> None:
    assert not vectors.is_gone()
    VectorStore.remove(home, SMALL)
    assert vectors.is_gone()
    VectorStore.remove(home, SMALL)  # twice is no failure
    with VectorStore.writer(home, SMALL, SMALL_DIMENSION) as anew:
        assert (anew.is_gone(), anew.watermark()) == (False, -1)


def test_purging_erases_from_all_files_and_deletes_unreadable(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    put(vectors, crowd[:1], lambda _: vector(1))
    damaged = Path(home.index, "vectors-1-damaged.db")
    later = Path(home.index, "vectors-9-later.db")
    damaged.write_bytes(b"garbage" * 1_000)
    shutil.copy(vectors.path, later)
    of_a_later_version(str(later))
    with VectorStore.writer(home, "wider", 2 * SMALL_DIMENSION) as wider:
        put(wider, crowd, lambda seq: 2 * vector(seq))
    VectorStore.purge(home, [crowd[0].seq, crowd[1].seq])
    assert sum(vectors.counts()) == len(crowd) - 2
    assert (damaged.exists(), later.exists()) == (False, False)
    with VectorStore.reader(home, "wider", 2 * SMALL_DIMENSION) as wider:
        assert sum(wider.counts()) == len(crowd) - 2
    raw = b"".join(path.read_bytes() for path in Path(home.index).iterdir())  # while they are open
    assert vector(crowd[1].seq) not in raw
    assert vector(crowd[2].seq) in raw


def test_purging_beside_a_reader_reports_it_and_goes_on(
    home: Home, vectors: VectorStore, crowd: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subcog_hooks.store.vector_store.WRITE_WAIT_MS", 20)
    with VectorStore.writer(home, "zzz", SMALL_DIMENSION) as other:
        put(other, crowd)
    reading = apsw.Connection(vectors.path, flags=apsw.SQLITE_OPEN_READONLY)
    reading.execute("BEGIN; SELECT count(*) FROM vectors").fetchall()
    with pytest.raises(StoreBusy, match="purged, but another process still reads the old bytes"):
        VectorStore.purge(home, [crowd[0].seq])
    reading.close()
    for name in (SMALL, "zzz"):
        with VectorStore.reader(home, name, SMALL_DIMENSION) as opened:
            assert sum(opened.counts()) == len(crowd) - 1
    VectorStore.purge(home, [])
    assert vector(crowd[0].seq) not in b"".join(path.read_bytes() for path in Path(home.index).iterdir())


def test_one_writer_at_a_time_and_readers_never_wait(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    with vectors.transaction():
        with (
            VectorStore.writer(home, SMALL, SMALL_DIMENSION, busy_ms=10) as second,
            pytest.raises(StoreBusy),
            second.transaction(),
        ):
            pass
        with VectorStore.reader(home, SMALL, SMALL_DIMENSION, busy_ms=0) as reader:
            assert len(reader.nearest(vector(1), 10, None, ())) == 10


def test_without_sqlite_vec_the_vectors_say_what_to_install(
    home: Home, vectors: VectorStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apsw, "__file__", str(tmp_path / "apsw" / "__init__.py"))
    for opened in (VectorStore.reader, VectorStore.writer):
        with pytest.raises(ExtensionMissing) as raised:
            opened(home, SMALL, SMALL_DIMENSION)
        assert str(raised.value) == "sqlite-vec is not installed; search is by words alone; pip install sqlite-vec"
