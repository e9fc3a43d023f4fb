"""The vectors follow the store: after every kind of change and damage; in the end as if made anew."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.core.paths import Home
from subcog_hooks.store import vector_store
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_reader import vectors_path
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.store.conftest import (
    assert_as_made_anew,
    damage,
    finish,
    follow,
    lose_a_table,
    lose_codes,
    nearest_to,
    overwrite,
    rows,
    settle,
)
from tests.store.letters import DIMENSION, MADE_BY, SPACE, encode, final, finals


@pytest.fixture(params=["notes", "long_notes"])
def memories(request: pytest.FixtureRequest) -> list[Memory]:
    """Memories of one vector each, and memories with passages."""
    chosen: list[Memory] = request.getfixturevalue(request.param)
    return chosen


def test_an_edited_memory_has_the_vectors_of_its_new_text_only(
    home: Home, store: Store, memories: list[Memory], tmp_path: Path
) -> None:
    settle(home, store)
    before, after = memories[1], memories[1].with_changes(content="zeppelin at anchor")
    store.update([after])
    with follow(home, store) as vectors:
        assert nearest_to(vectors, after.content) == after.seq
        assert vectors.final_vectors(before.content_hash) == []
        assert vectors.counts() == (len(memories) - 1, 1)
        ((key, _),) = vectors.pending()
        assert vectors.finish([(key, before.content_hash, finals(before.content))]) == 0
    assert_as_made_anew(home, store, tmp_path)
    settle(home, store)
    assert_as_made_anew(home, store, tmp_path)


def test_restored_memory_is_found_without_a_new_embedding(
    home: Home, store: Store, memories: list[Memory], tmp_path: Path
) -> None:
    settle(home, store)
    gone = memories[2]
    store.update([gone.with_changes(status="deleted")])
    with follow(home, store) as vectors:
        assert gone.seq not in {seq for _, seq in vectors.nearest(final(gone.content), 9, None, ())}
        assert vectors.counts() == (len(memories) - 1, 0)
    assert {row[6] for row in rows(home) if row[0] // 256 == gone.seq} == {None}
    store.update([gone])
    with follow(home, store) as vectors:
        assert vectors.nearest(final(gone.content), 1, None)[0][1] == gone.seq
        assert vectors.counts() == (len(memories), 0)
    assert_as_made_anew(home, store, tmp_path)


def test_memories_that_swap_texts_keep_their_final_vectors(
    home: Home, store: Store, memories: list[Memory], tmp_path: Path
) -> None:
    settle(home, store)
    first, other = memories[0], memories[2]
    store.update([first.with_changes(content=other.content), other.with_changes(content=first.content)])
    with follow(home, store) as vectors:
        assert vectors.counts() == (len(memories), 0)
        assert vectors.nearest(final(other.content), 1, None)[0][1] == first.seq
        assert vectors.nearest(final(first.content), 1, None)[0][1] == other.seq
    assert_as_made_anew(home, store, tmp_path)


@pytest.mark.parametrize("writes_after", [0, 1])
def test_store_restored_from_a_backup_has_its_own_vectors(
    home: Home, store: Store, notes: list[Memory], make: Maker, tmp_path: Path, writes_after: int
) -> None:
    follow(home, store).close()
    backup = tmp_path / "backup.db"
    store.overwrite_log()
    shutil.copy(home.memories_db, backup)
    store.update([notes[0].with_changes(content="zeppelin")])
    store.add([make("later", id="later")])
    store.purge(["dredger"])
    follow(home, store).close()
    store.close()
    for suffix in ("-wal", "-shm"):
        Path(home.memories_db + suffix).unlink(missing_ok=True)
    shutil.copy(backup, home.memories_db)
    with Store.writer(home) as restored:
        for number in range(writes_after):
            restored.add([make(f"after {number}")])
        with follow(home, restored) as vectors:
            assert nearest_to(vectors, "anchor") == notes[0].seq
            assert nearest_to(vectors, "dredger") == notes[3].seq
            assert sum(vectors.counts()) == 4 + writes_after
        assert_as_made_anew(home, restored, tmp_path)


@pytest.mark.parametrize("chunk", [1, 2, 3, 1_000])
def test_the_size_of_the_chunks_does_not_show(
    home: Home, store: Store, make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(vector_store, "FOLLOWED_AT_ONCE", chunk)
    memories = store.add([make(f"note {i}") for i in range(7)])
    sizes: list[int] = []
    vector_store.open_following(home, store, SPACE, DIMENSION, encode, sizes.append, made_by=MADE_BY).close()
    assert sum(sizes) == 7
    assert max(sizes) <= chunk
    store.update([memory.with_changes(content=f"changed {memory.id}") for memory in memories[2:5]])
    store.purge([memories[6].id])
    follow(home, store).close()
    assert_as_made_anew(home, store, tmp_path)


def test_looking_at_everything_again_keeps_the_final_vectors(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path
) -> None:
    settle(home, store)
    before = rows(home)
    with follow(home, store, anew=True) as vectors:
        assert vectors.counts() == (4, 0)
    assert rows(home) == before


@pytest.mark.parametrize("harm", [damage, lose_codes, lose_a_table])
def test_damage_inside_is_made_good_by_a_look_at_everything(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path, harm: Callable[[str], None]
) -> None:
    follow(home, store).close()
    harm(vectors_path(home, SPACE))
    with follow(home, store, anew=True) as vectors:
        assert vectors.problems() == []
    assert_as_made_anew(home, store, tmp_path)


def test_an_encoder_that_fails_leaves_the_file_as_it_was(home: Home, store: Store, notes: list[Memory], make: Maker) -> None:
    follow(home, store).close()
    before = rows(home)
    store.add([make("later")])

    def broken(texts: Sequence[str]) -> Sequence[bytes | None]:
        raise OSError("no more memory")

    with pytest.raises(OSError, match="no more memory"):
        vector_store.open_following(home, store, SPACE, DIMENSION, broken, made_by=MADE_BY)
    assert rows(home) == before
    with follow(home, store) as vectors:
        assert sum(vectors.counts()) == 5


def test_memory_without_a_first_vector_waits_for_its_final(home: Home, store: Store, make: Maker) -> None:
    store.add([make("\U0001f600")])

    def nothing(texts: Sequence[str]) -> Sequence[bytes | None]:
        return [None] * len(texts)

    with vector_store.open_following(home, store, SPACE, DIMENSION, nothing, made_by=MADE_BY) as vectors:
        assert vectors.counts() == (0, 1)
        assert nearest_to(vectors, "x") is None


ROOT = Path(__file__).parents[2]


posix = pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX")


WORK = """
import random, sys
from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.store import vector_store
from subcog_hooks.store.store import Store
from subcog_hooks.core.paths import Home
from tests.store.letters import DIMENSION, MADE_BY, SPACE, encode, finals

vector_store.FOLLOWED_AT_ONCE = 7
home, role, rounds = Home.find(), sys.argv[1], int(sys.argv[2])
chance = random.Random(role)
print("ready", flush=True)
with Store.writer(home) as store:
    for number in range(rounds):
        anew = chance.random() < 0.1
        with vector_store.open_following(home, store, SPACE, DIMENSION, encode, made_by=MADE_BY, anew=anew) as vectors:
            if role == "embed":
                keys = {vectors.seq_of(key): key for key, _ in vectors.pending(20)}
                found = store.by_seqs(list(keys))
                vectors.finish([(keys[seq], m.content_hash, finals(m.content)) for seq, m in found.items()])
                continue
        ids = [memory.id for memory in store.all(("active", "deleted"))]
        first, other = chance.sample(ids, 2)
        try:
            content = f"{role} {number} {chance.random()}"
            store.modify([first], lambda memory: memory.with_changes(content=content, status="active"))
            store.modify([other], lambda memory: memory.with_changes(status=chance.choice(("active", "deleted"))))
            if not number % 5:
                store.purge([chance.choice([id_ for id_ in ids if id_ not in (first, other)])])
        except Exception as error:
            if type(error).__name__ != "NoMemory":
                raise
"""


def start(role: str, rounds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORK, role, str(rounds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("state", ["sound", "overwritten"])
def test_concurrent_following_and_embedding_loses_nothing(
    home: Home, store: Store, make: Maker, tmp_path: Path, state: str
) -> None:
    store.add([make(f"note {i}") for i in range(60)])
    if state == "overwritten":
        follow(home, store).close()
        overwrite(vectors_path(home, SPACE))
    working = [start("first", 15), start("second", 15), start("embed", 20)]
    for process in working:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "ready\n", "")
    with follow(home, store) as vectors:
        assert vectors.problems() == []
        finish(vectors, store)
        assert vectors.pending() == []
    assert_as_made_anew(home, store, tmp_path)


def test_second_follower_waits_and_then_gets_an_error(
    home: Home, store: Store, notes: list[Memory], make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_store, "LOCK_WAIT_MS", 20)
    follow(home, store).close()
    busy = pytest.raises(StoreBusy, match="another process has been bringing the vectors up to date for long")
    with ProcessLock(vector_store.lock_path(home, SPACE), 0, "following"), busy:
        follow(home, store)
    follow(home, store).close()


def test_following_goes_on_until_nothing_new_is_stored(home: Home, store: Store, notes: list[Memory], make: Maker) -> None:
    left = ["ebb", "flood", "gale"]

    def encode_while_others_store(texts: Sequence[str]) -> Sequence[bytes | None]:
        if left:
            store.add([make(left.pop())])
        return encode(texts)

    following = vector_store.open_following(home, store, SPACE, DIMENSION, encode_while_others_store, made_by=MADE_BY)
    with following as vectors:
        assert (vectors.watermark(), sum(vectors.counts())) == (store.revision(), 7)


@posix
def test_next_process_continues_after_kills(home: Home, store: Store, make: Maker, tmp_path: Path) -> None:
    store.add([make(f"note {i}") for i in range(60)])
    for number in range(4):
        working = [start(f"first {number}", 1_000), start("embed", 1_000)]
        for process in working:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        revision = store.revision()
        while store.revision() == revision:  # until one has stored something, and is about to follow it
            assert working[0].poll() is None
        for process in working:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        with VectorStore.reader(home, SPACE, DIMENSION) as vectors:
            assert vectors.problems() == []
    follow(home, store).close()
    assert_as_made_anew(home, store, tmp_path)
