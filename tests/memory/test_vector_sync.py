"""The vectors follow the store: after every kind of change, beside others, after kills; in the end as if made anew."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from subcog_hooks.errors import StoreBusy, StoreCorrupt
from subcog_hooks.memory import vector_sync
from subcog_hooks.memory.lock import ProcessLock
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Store
from subcog_hooks.memory.vectors import VectorStore, path_of
from subcog_hooks.paths import Home
from tests.conftest import Maker
from tests.memory.letters import DIMENSION, MADE_BY, SPACE, encode, final

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX")

Row = tuple[int, str, int, int, int, bytes, bytes | None]  # key, content hash, final, status, reach, vector, code


def follow(home: Home, store: Store, *, anew: bool = False, made_by: tuple[str, str] = MADE_BY) -> VectorStore:
    return vector_sync.open_following(home, store, SPACE, DIMENSION, encode, made_by=made_by, anew=anew)


def rows(home: Home) -> list[Row]:
    """All that the file says of every memory that is not forgotten."""
    connection = apsw.Connection(path_of(home, SPACE), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        sql = (
            "SELECT key, content_hash, is_final, status, reach, vector, "
            "(SELECT code FROM codes WHERE codes.key = vectors.key) FROM vectors ORDER BY key"
        )
        codes = connection.execute("SELECT count(*), count(DISTINCT key) FROM codes").fetchall()[0]
        found: list[Row] = connection.execute(sql).fetchall()  # type: ignore[assignment]  # the STRICT tables say so
        assert codes[0] == codes[1] == sum(row[6] is not None for row in found), "a code of nobody, or two of one"
    finally:
        connection.close()
    return found


def assert_as_made_anew(home: Home, store: Store, tmp_path: Path) -> None:
    """The vectors of what is not forgotten are what a home without any would make of this store."""
    other = Home(str(tmp_path / "anew"))
    shutil.rmtree(other.root, ignore_errors=True)
    follow(other, store).close()

    def kept(at: Home) -> list[tuple[object, ...]]:
        return [(key, hash_, status, reach, bool(code)) for key, hash_, _, status, reach, _, code in rows(at) if status < 4]

    assert kept(home) == kept(other)
    texts = {memory.seq: memory.content for memory in store.all(("active", "pending", "superseded", "archived"))}
    for key, _, is_final, status, _, vector, _ in rows(home):
        if status < 4:
            text = texts[key // 256]
            assert vector == (final(text) if is_final else encode([text])[0]), text


def finish(vectors: VectorStore, store: Store) -> None:
    """Make every pending vector final."""
    memories = {vectors.seq_of(key): key for key, _ in vectors.pending()}
    found = store.by_seqs(list(memories))
    vectors.finish((memories[seq], memory.content_hash, final(memory.content)) for seq, memory in found.items())


def nearest_to(vectors: VectorStore, text: str) -> int | None:
    query = encode([text])[0]
    assert query is not None
    found = vectors.nearest(query, 5, None)
    return found[0][1] if found else None


@pytest.fixture
def notes(store: Store, make: Maker) -> list[Memory]:
    return store.add([make(text, id=text) for text in ("anchor", "buoy", "crane", "dredger")])


def test_new_memories_are_found_at_once(home: Home, store: Store, notes: list[Memory], tmp_path: Path) -> None:
    with follow(home, store) as vectors:
        assert nearest_to(vectors, "crane") == notes[2].seq
        assert vectors.watermark() == store.revision()
        assert vectors.counts() == (0, 4)
    assert_as_made_anew(home, store, tmp_path)


def test_an_edited_memory_has_the_vector_of_its_new_text_only(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path
) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    store.update([notes[0].replaced(content="zeppelin")])
    with follow(home, store) as vectors:
        assert nearest_to(vectors, "zeppelin") == notes[0].seq
        assert vectors.final_vector(notes[0].content_hash) is None
        assert vectors.counts() == (3, 1)
    assert_as_made_anew(home, store, tmp_path)


def test_a_forgotten_memory_is_not_found_and_its_restored_self_is_without_embedding_it(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path
) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    store.update([notes[0].replaced(status="deleted")])
    with follow(home, store) as vectors:
        assert nearest_to(vectors, "anchor") != notes[0].seq
        assert vectors.counts() == (3, 0)
    store.update([notes[0]])
    with follow(home, store) as vectors:
        assert nearest_to(vectors, "anchor") == notes[0].seq
        assert vectors.counts() == (4, 0)
    assert_as_made_anew(home, store, tmp_path)


def test_a_purged_memory_leaves_nothing(home: Home, store: Store, notes: list[Memory], tmp_path: Path) -> None:
    follow(home, store).close()
    store.purge(["buoy"])
    with follow(home, store) as vectors:
        assert vectors.counts() == (0, 3)
        assert nearest_to(vectors, "buoy") != notes[1].seq
    assert {row[0] // 256 for row in rows(home)} == {notes[0].seq, notes[2].seq, notes[3].seq}
    assert_as_made_anew(home, store, tmp_path)


def test_two_memories_that_swap_their_texts_keep_both_final_vectors(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path
) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    store.update([notes[0].replaced(content="buoy"), notes[1].replaced(content="anchor")])
    with follow(home, store) as vectors:
        assert vectors.counts() == (4, 0)
        assert vectors.nearest(final("buoy"), 1, None)[0][1] == notes[0].seq
        assert vectors.nearest(final("anchor"), 1, None)[0][1] == notes[1].seq
    assert_as_made_anew(home, store, tmp_path)


@pytest.mark.parametrize("writes_after", [0, 1])
def test_a_store_that_was_put_back_from_a_backup_has_its_own_vectors_again(
    home: Home, store: Store, notes: list[Memory], make: Maker, tmp_path: Path, writes_after: int
) -> None:
    follow(home, store).close()
    backup = tmp_path / "backup.db"
    store.overwrite_log()
    shutil.copy(home.memories_db, backup)
    store.update([notes[0].replaced(content="zeppelin")])
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


def test_a_file_that_was_put_back_from_a_backup_follows_again(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path
) -> None:
    follow(home, store).close()
    shutil.copy(path_of(home, SPACE), tmp_path / "old.db")
    store.update([notes[0].replaced(content="zeppelin"), notes[1].replaced(status="archived")])
    store.purge(["crane"])
    follow(home, store).close()
    shutil.copy(tmp_path / "old.db", path_of(home, SPACE))
    follow(home, store).close()
    assert_as_made_anew(home, store, tmp_path)


@pytest.mark.parametrize("chunk", [1, 2, 3, 1_000])
def test_the_size_of_the_chunks_does_not_show(
    home: Home, store: Store, make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(vector_sync, "CHUNK", chunk)
    memories = store.add([make(f"note {i}") for i in range(7)])
    told: list[int] = []
    vector_sync.open_following(home, store, SPACE, DIMENSION, encode, told.append, made_by=MADE_BY).close()
    assert sum(told) == 7
    assert max(told) <= chunk
    store.update([memory.replaced(content=f"changed {memory.id}") for memory in memories[2:5]])
    store.purge([memories[6].id])
    follow(home, store).close()
    assert_as_made_anew(home, store, tmp_path)


def test_looking_at_everything_again_keeps_the_final_vectors(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path
) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    before = rows(home)
    with follow(home, store, anew=True) as vectors:
        assert vectors.counts() == (4, 0)
    assert rows(home) == before


def damage(home: Home) -> None:
    path = path_of(home, SPACE)
    with open(path, "r+b") as file:
        for page in range(1, os.path.getsize(path) // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)


def overwrite(home: Home) -> None:
    Path(path_of(home, SPACE)).write_bytes(b"garbage" * 2_000)


def widen(home: Home) -> None:
    os.unlink(path_of(home, SPACE))
    VectorStore.writer(home, SPACE, 2 * DIMENSION).close()


@pytest.mark.parametrize("harm", [overwrite, widen])
def test_a_useless_file_is_made_anew_by_whoever_opens_it(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path, harm: object
) -> None:
    follow(home, store).close()
    assert callable(harm)
    harm(home)
    with follow(home, store) as vectors:
        assert nearest_to(vectors, "crane") == notes[2].seq
    assert_as_made_anew(home, store, tmp_path)


def lose_codes(home: Home) -> None:
    connection = apsw.Connection(path_of(home, SPACE))
    connection.execute("DELETE FROM codes")
    connection.close()


def lose_a_table(home: Home) -> None:
    connection = apsw.Connection(path_of(home, SPACE))
    connection.execute("DROP TABLE codes")
    connection.close()


@pytest.mark.parametrize("harm", [damage, lose_codes, lose_a_table])
def test_damage_inside_is_made_good_by_a_look_at_everything(
    home: Home, store: Store, notes: list[Memory], tmp_path: Path, harm: object
) -> None:
    follow(home, store).close()
    assert callable(harm)
    harm(home)
    with follow(home, store, anew=True) as vectors:
        assert vectors.problems() == []
    assert_as_made_anew(home, store, tmp_path)


def test_damage_that_is_met_on_the_way_is_made_good_on_the_way(
    home: Home, store: Store, notes: list[Memory], make: Maker, tmp_path: Path
) -> None:
    for harm in (lose_a_table, damage_behind_the_tables):
        follow(home, store).close()
        harm(home)
        store.add([make(f"after {harm.__name__}")])
        with follow(home, store) as vectors:
            assert vectors.problems() == []
            assert vectors.watermark() == store.revision()
        assert_as_made_anew(home, store, tmp_path)


def damage_behind_the_tables(home: Home) -> None:
    """Every page but those that opening the file looks at."""
    connection = apsw.Connection(path_of(home, SPACE))
    kept = {1, *(int(str(row[0])) for row in connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'space'"))}
    connection.close()
    with open(path_of(home, SPACE), "r+b") as file:
        for page in range(1, os.path.getsize(path_of(home, SPACE)) // 4096 + 1):
            if page not in kept:
                file.seek((page - 1) * 4096)
                file.write(b"\xff" * 64)


def test_a_damaged_store_costs_no_vectors(home: Home, store: Store, notes: list[Memory], make: Maker) -> None:
    with follow(home, store) as vectors:
        finish(vectors, store)
    before = rows(home)
    store.add([make("later " * 900)])
    store.overwrite_log()
    connection = apsw.Connection(home.memories_db)
    page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memories'").fetchall()[0][0]
    connection.close()
    store.close()
    assert isinstance(page, int)
    with open(home.memories_db, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    with Store.reader(home) as damaged, pytest.raises(StoreCorrupt):
        follow(home, damaged)
    assert rows(home) == before


def test_vectors_of_another_encoder_and_model_give_way(home: Home, store: Store, notes: list[Memory], tmp_path: Path) -> None:
    with follow(home, store, made_by=("model", "an older encoder")) as vectors:
        finish(vectors, store)
        assert vectors.counts() == (4, 0)
    store.update([notes[0].replaced(content="zeppelin")])
    follow(home, store, made_by=("model", "an older encoder")).close()
    connection = apsw.Connection(path_of(home, SPACE))
    connection.execute("UPDATE vectors SET vector = zeroblob(64) WHERE NOT is_final")  # what that one has made of it
    connection.close()
    with follow(home, store, made_by=("model", "encoder")) as vectors:
        assert vectors.counts() == (3, 1)
        assert nearest_to(vectors, "zeppelin") == notes[0].seq
    assert_as_made_anew(home, store, tmp_path)
    with follow(home, store, made_by=("a later model", "encoder")) as vectors:
        assert vectors.counts() == (0, 4)
        assert vectors.nearest(final("crane"), 1, None)[0][1] == notes[2].seq  # until the later one has looked at it


def test_an_encoder_that_fails_leaves_the_file_as_it_was(home: Home, store: Store, notes: list[Memory], make: Maker) -> None:
    follow(home, store).close()
    before = rows(home)
    store.add([make("later")])

    def broken(texts: Sequence[str]) -> Sequence[bytes | None]:
        raise OSError("no more memory")

    with pytest.raises(OSError, match="no more memory"):
        vector_sync.open_following(home, store, SPACE, DIMENSION, broken, made_by=MADE_BY)
    assert rows(home) == before
    with follow(home, store) as vectors:
        assert sum(vectors.counts()) == 5


def test_a_memory_without_a_text_for_the_encoder_waits_for_its_final_vector(home: Home, store: Store, make: Maker) -> None:
    store.add([make("\U0001f600")])

    def nothing(texts: Sequence[str]) -> Sequence[bytes | None]:
        return [None] * len(texts)

    with vector_sync.open_following(home, store, SPACE, DIMENSION, nothing, made_by=MADE_BY) as vectors:
        assert vectors.counts() == (0, 1)
        assert nearest_to(vectors, "x") is None


# ---- several processes at once --------------------------------------------------------------------------------------------

WORK = """
import random, sys
from subcog_hooks.errors import StoreBusy
from subcog_hooks.memory import vector_sync
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from tests.memory.letters import DIMENSION, MADE_BY, SPACE, encode, final

vector_sync.CHUNK = 7
home, role, rounds = Home.find(), sys.argv[1], int(sys.argv[2])
chance = random.Random(role)
print("ready", flush=True)
with Store.writer(home) as store:
    for number in range(rounds):
        anew = chance.random() < 0.1
        with vector_sync.open_following(home, store, SPACE, DIMENSION, encode, made_by=MADE_BY, anew=anew) as vectors:
            if role == "embed":
                keys = {vectors.seq_of(key): key for key, _ in vectors.pending(20)}
                found = store.by_seqs(list(keys))
                vectors.finish([(keys[seq], m.content_hash, final(m.content)) for seq, m in found.items()])
                continue
        ids = [memory.id for memory in store.all(("active", "deleted"))]
        one, other = chance.sample(ids, 2)
        try:
            store.modify([one], lambda memory: memory.replaced(content=f"{role} {number} {chance.random()}", status="active"))
            store.modify([other], lambda memory: memory.replaced(status=chance.choice(("active", "deleted"))))
            if not number % 5:
                store.purge([chance.choice([id_ for id_ in ids if id_ not in (one, other)])])
        except Exception as error:
            if type(error).__name__ != "NoMemory":
                raise
"""


def start(role: str, rounds: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WORK, role, str(rounds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("state", ["sound", "overwritten"])
def test_processes_that_follow_while_another_embeds_lose_nothing_and_leave_nothing_stale(
    home: Home, store: Store, make: Maker, tmp_path: Path, state: str
) -> None:
    store.add([make(f"note {i}") for i in range(60)])
    if state == "overwritten":
        follow(home, store).close()
        overwrite(home)
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
from subcog_hooks.memory import vector_sync
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from tests.memory.letters import DIMENSION, MADE_BY, SPACE, encode

with Store.reader(Home.find()) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    vector_sync.open_following(Home.find(), store, SPACE, DIMENSION, encode, made_by=MADE_BY).close()
"""


@pytest.mark.parametrize("harm", [overwrite, widen, damage, lose_a_table])
def test_processes_that_meet_a_damaged_file_at_once_make_it_anew_once(
    home: Home, store: Store, make: Maker, tmp_path: Path, harm: object
) -> None:
    store.add([make(f"note {i}") for i in range(60)])
    follow(home, store).close()
    assert callable(harm)
    harm(home)
    store.add([make("one more")])
    command = [sys.executable, "-c", HEAL]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    healing = [subprocess.Popen(command, cwd=ROOT, text=True, **pipes) for _ in range(6)]  # type: ignore[call-overload]
    for process in healing:
        assert process.stdout.readline() == "ready\n"
    for process in healing:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in healing:
        assert (*process.communicate(timeout=60), process.returncode) == ("", "", 0)
    with follow(home, store) as vectors:
        assert vectors.problems() == []
    assert_as_made_anew(home, store, tmp_path)


def test_while_one_process_follows_another_waits_and_then_is_told(
    home: Home, store: Store, notes: list[Memory], make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_sync, "LOCK_WAIT_MS", 20)
    follow(home, store).close()
    told = pytest.raises(StoreBusy, match="another process has been bringing the vectors up to date for long")
    with ProcessLock(vector_sync.lock_of(home, SPACE), 0, "following"), told:
        follow(home, store)
    follow(home, store).close()


def test_whoever_follows_goes_on_until_nothing_has_been_stored_meanwhile(
    home: Home, store: Store, notes: list[Memory], make: Maker
) -> None:
    left = ["ebb", "flood", "gale"]

    def encode_while_others_store(texts: Sequence[str]) -> Sequence[bytes | None]:
        if left:
            store.add([make(left.pop())])
        return encode(texts)

    following = vector_sync.open_following(home, store, SPACE, DIMENSION, encode_while_others_store, made_by=MADE_BY)
    with following as vectors:
        assert (vectors.watermark(), sum(vectors.counts())) == (store.revision(), 7)


@posix
def test_processes_that_are_killed_leave_what_the_next_one_goes_on_with(
    home: Home, store: Store, make: Maker, tmp_path: Path
) -> None:
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
