"""The vectors follow the store beside other processes, and after kills; in the end as if made anew."""

from __future__ import annotations

import os
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
from tests.store.conftest import assert_as_made_anew, damage, finish, follow, lose_a_table, overwrite, widen
from tests.store.letters import DIMENSION, MADE_BY, SPACE, encode

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


HEAL = """
import sys
from subcog_hooks.store import vector_store
from subcog_hooks.store.store import Store
from subcog_hooks.core.paths import Home
from tests.store.letters import DIMENSION, MADE_BY, SPACE, encode

with Store.reader(Home.find()) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    vector_store.open_following(Home.find(), store, SPACE, DIMENSION, encode, made_by=MADE_BY).close()
"""


@pytest.mark.parametrize("harm", [overwrite, widen, damage, lose_a_table])
def test_concurrent_processes_remake_a_damaged_file_once(
    home: Home, store: Store, make: Maker, tmp_path: Path, harm: Callable[[str], None]
) -> None:
    store.add([make(f"note {i}") for i in range(60)])
    follow(home, store).close()
    harm(vectors_path(home, SPACE))
    store.add([make("one more")])
    command = [sys.executable, "-c", HEAL]
    pipe = subprocess.PIPE
    healing = [subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(6)]
    for process in healing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in healing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in healing:
        assert (*process.communicate(timeout=60), process.returncode) == ("", "", 0)
    with follow(home, store) as vectors:
        assert vectors.problems() == []
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
