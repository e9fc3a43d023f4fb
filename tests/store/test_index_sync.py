"""The index follows the store: after writes, after crashes, after damage, beside other writers."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import tantivy

from subcog_hooks.core.paths import Home
from subcog_hooks.store import index_writer
from subcog_hooks.store.index import IndexUnusable, LexicalIndex
from subcog_hooks.store.store import Store
from tests.conftest import Maker


def search(home: Home, store: Store, word: str) -> set[str]:
    index = index_writer.bring_up_to_date(home, store)
    hits = index.search(tantivy.Query.term_query(index.schema, "body", word), 100)
    return {store.by_seqs([seq])[seq].id for _, seq in hits}


def test_changed_deleted_and_purged_memories_leave_the_index(home: Home, store: Store, make: Maker) -> None:
    memories = store.add([make("alpha", id="a"), make("alpha", id="b"), make("alpha", id="c")])
    assert search(home, store, "alpha") == {"a", "b", "c"}
    store.update([memories[0].with_changes(content="beta"), memories[1].with_changes(status="deleted")])
    store.purge(["c"])
    assert search(home, store, "alpha") == set()
    assert search(home, store, "beta") == {"a"}
    assert index_writer.bring_up_to_date(home, store).documents == 1


def test_an_index_of_an_older_format_is_rebuilt(home: Home, store: Store, make: Maker) -> None:
    store.add([make("alpha", id="a")])
    name = os.path.basename(index_writer.bring_up_to_date(home, store).folder)
    os.rename(os.path.join(home.index, name), os.path.join(home.index, "lexical-0-old"))
    with open(os.path.join(home.index, "CURRENT"), "w") as file:
        file.write("lexical-0-old")
    assert search(home, store, "alpha") == {"a"}
    left = [name for name in os.listdir(home.index) if name.startswith("lexical")]
    assert os.path.basename(LexicalIndex.open(home).folder) in left
    assert len(left) <= 2  # the predecessor stays for processes that have just read its name


def test_an_index_of_another_store_is_rebuilt(
    home: Home, store: Store, make: Maker, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store.add([make("alpha", id="a")])
    index_writer.bring_up_to_date(home, store)
    store.close()
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(home.memories_db + suffix):
            os.unlink(home.memories_db + suffix)
    with Store.writer(home) as restored:
        restored.add([make("beta", id="b")])
        assert search(home, restored, "alpha") == set()
        assert search(home, restored, "beta") == {"b"}


def test_many_small_writes_leave_few_segments(home: Home, store: Store, make: Maker) -> None:
    for i in range(40):
        store.add([make(f"memory number {i}")])
        index_writer.bring_up_to_date(home, store)
    index = index_writer.bring_up_to_date(home, store)
    assert index.documents == 40
    assert index.segments <= 8


def test_an_open_index_survives_a_rebuild_beside_it(home: Home, store: Store, make: Maker) -> None:
    store.add([make("alpha", id="a")])
    before = index_writer.bring_up_to_date(home, store)
    index_writer.rebuild_index(home, store)
    assert before.search(tantivy.Query.term_query(before.schema, "body", "alpha"), 1)


def test_command_uses_the_old_index_while_another_process_writes(
    home: Home, store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_writer, "LOCK_WAIT_S", 0.05)
    store.add([make("alpha", id="a")])
    index = index_writer.bring_up_to_date(home, store)
    writer = index_writer.IndexWriter(index)
    store.add([make("alpha", id="b")])
    assert index_writer.bring_up_to_date(home, store).watermark < store.revision()
    writer.finish()
    assert search(home, store, "alpha") == {"a", "b"}


def test_without_a_folder_there_is_no_index(home: Home) -> None:
    with pytest.raises(IndexUnusable, match="holds no index; run `subcog doctor --fix`"):
        LexicalIndex.open(home)


def watermark_file(home: Home) -> Path:
    return Path(LexicalIndex.open(home).folder) / "WATERMARK"


@pytest.mark.parametrize("written", [None, b"", b"garbage", b"-5\n", b"\xff\xfe", b"9" * 26])
def test_index_without_a_readable_watermark_is_rebuilt(home: Home, store: Store, make: Maker, written: bytes | None) -> None:
    memories = store.add([make("alpha", id="a"), make("alpha", id="b")])
    folder = index_writer.bring_up_to_date(home, store).folder
    store.update([memories[1].with_changes(content="beta")])
    index_writer.bring_up_to_date(home, store)
    if written is None:
        watermark_file(home).unlink()
    else:
        watermark_file(home).write_bytes(written)
    assert LexicalIndex.open(home).watermark == 0
    index = index_writer.bring_up_to_date(home, store)
    assert index.folder != folder  # its store is unknown
    assert (index.documents, index.watermark) == (2, store.revision())
    assert (search(home, store, "alpha"), search(home, store, "beta")) == ({"a"}, {"b"})


def test_watermark_behind_its_index_repeats_a_turn_harmlessly(home: Home, store: Store, make: Maker) -> None:
    """A process that dies between the commit and the watermark leaves it so."""
    store.add([make("alpha", id="a")])
    index_writer.bring_up_to_date(home, store)
    behind = watermark_file(home).read_bytes()
    store.add([make("alpha", id="b")])
    folder = index_writer.bring_up_to_date(home, store).folder
    watermark_file(home).write_bytes(behind)
    index = index_writer.bring_up_to_date(home, store)
    assert (index.folder, index.documents, index.watermark) == (folder, 2, store.revision())
    assert watermark_file(home).read_bytes() != behind


@pytest.mark.parametrize("ahead", [-1, 1])
def test_index_of_an_unknown_revision_is_rebuilt(home: Home, store: Store, make: Maker, ahead: int) -> None:
    store.add([make("alpha", id="a")])
    before = index_writer.bring_up_to_date(home, store).folder
    watermark_file(home).write_text(f"{store.revision() + ahead}\n")
    index = index_writer.bring_up_to_date(home, store)
    assert index.folder != before
    assert (index.watermark, index.documents) == (store.revision(), 1)


def test_commit_during_opening_does_not_count_as_reached(
    home: Home, store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([make("alpha", id="a")])
    reached = index_writer.bring_up_to_date(home, store).watermark
    real = tantivy.Index

    def meanwhile(folder: str) -> tantivy.Index:
        monkeypatch.setattr(tantivy, "Index", real)
        store.add([make("alpha", id="b")])
        index_writer.bring_up_to_date(home, store)
        return real.open(folder)

    monkeypatch.setattr(tantivy, "Index", SimpleNamespace(open=meanwhile))
    index = LexicalIndex.open(home)
    assert (index.documents, index.watermark) == (2, reached)
    assert search(home, store, "alpha") == {"a", "b"}
