"""The vectors of a space: what is near, whose it is, what is final, and files that can not be used."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest

from subcog_hooks.errors import StoreBusy, StoreError
from subcog_hooks.memory import vec_extension
from subcog_hooks.memory import vectors as module
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Store, audience_of
from subcog_hooks.memory.vec_extension import ExtensionMissing
from subcog_hooks.memory.vectors import VectorStore, VectorsUnusable, path_of
from subcog_hooks.paths import Home
from tests.conftest import Maker

SPACE = "small"
DIMENSION = 64
ROOT = Path(__file__).parents[2]


def vector(seed: int) -> bytes:
    """A `(DIMENSION,) int8` vector."""
    return np.random.default_rng(seed).integers(-127, 128, DIMENSION, np.int8).tobytes()


def cosine(a: bytes, b: bytes) -> float:
    x, y = (np.frombuffer(raw, np.int8).astype(np.float64) for raw in (a, b))
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def put(vectors: VectorStore, memories: Sequence[Memory], of: Callable[[int], bytes] = vector) -> None:
    """Bring these memories in, each with the vector of its row number."""
    vectors.begin()
    vectors.put(memories, {memory.seq: of(memory.seq) for memory in memories})
    vectors.commit()


@pytest.fixture
def vectors(home: Home) -> Iterator[VectorStore]:
    with VectorStore.writer(home, SPACE, DIMENSION) as opened:
        yield opened


@pytest.fixture
def crowd(vectors: VectorStore, store: Store, make: Maker) -> list[Memory]:
    """300 memories of three projects, the user and the organisation, of three statuses."""
    owners: list[dict[str, object]] = [{"project": "shop"}, {"project": "blog"}, {"project": "yard"}, {}, {"scope": "org"}]
    statuses = ("active", "active", "superseded", "archived")
    memories = store.add([make(f"note {i}", status=statuses[i % 4], **owners[i % 5]) for i in range(300)])
    put(vectors, memories)
    return memories


# ---- searching ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("audiences", [None, ("project:shop",), ("project:shop", "user", "org"), ("project:nobody",)])
@pytest.mark.parametrize("statuses", [("active",), ("superseded", "archived"), ()])
def test_the_nearest_are_those_of_a_comparison_one_by_one(
    vectors: VectorStore, crowd: list[Memory], audiences: tuple[str, ...] | None, statuses: tuple[str, ...]
) -> None:
    query = vector(7_000)
    wanted = [
        memory
        for memory in crowd
        if (audiences is None or audience_of(memory.scope, memory.project) in audiences)
        and (not statuses or memory.status in statuses)
    ]
    expected = sorted(((cosine(query, vector(memory.seq)), memory.seq) for memory in wanted), reverse=True)
    found = vectors.nearest(query, 1_000, audiences, statuses)
    assert [seq for _, seq in found] == [seq for _, seq in expected]
    assert [score for score, _ in found] == pytest.approx([score for score, _ in expected], abs=1e-6)


def test_the_binary_codes_choose_whom_the_exact_comparison_ranks(vectors: VectorStore, crowd: list[Memory]) -> None:
    query = np.frombuffer(vector(7_000), np.int8)

    def differing_signs(memory: Memory) -> int:
        return int(((np.frombuffer(vector(memory.seq), np.int8) > 0) != (query > 0)).sum())

    found = vectors.nearest(query.tobytes(), 20, None, ())
    farthest = max(differing_signs(memory) for memory in crowd if memory.seq in {seq for _, seq in found})
    assert len(found) == 20
    assert {memory.seq for memory in crowd if differing_signs(memory) < farthest} <= {seq for _, seq in found}
    assert found == sorted(found, key=lambda hit: (-hit[0], hit[1]))


def test_a_memory_is_nearest_to_its_own_vector(vectors: VectorStore, crowd: list[Memory]) -> None:
    for memory in crowd[::60]:
        score, seq = vectors.nearest(vector(memory.seq), 5, None, ())[0]
        assert (seq, round(score, 5)) == (memory.seq, 1.0)


def test_cosines_are_looked_up_for_those_that_have_a_vector(vectors: VectorStore, crowd: list[Memory]) -> None:
    query = vector(7_000)
    asked = [memory.seq for memory in crowd[:3]]
    assert vectors.cosines(query, [*asked, 99_999]) == pytest.approx({s: cosine(query, vector(s)) for s in asked}, abs=1e-6)
    assert vectors.cosines(query, []) == {}


def test_a_vector_of_nothing_but_zeros_is_near_to_nothing(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make("empty"), make("full")])
    put(vectors, memories, lambda seq: bytes(DIMENSION) if seq == memories[0].seq else vector(seq))
    assert [seq for _, seq in vectors.nearest(vector(5), 10, None)] == [memories[1].seq]
    assert vectors.nearest(bytes(DIMENSION), 10, None) == []


def test_forgotten_memories_are_near_to_nothing_whatever_is_asked_for(vectors: VectorStore, crowd: list[Memory]) -> None:
    gone = crowd[0].replaced(status="deleted")
    put(vectors, [gone])
    assert gone.seq not in {seq for _, seq in vectors.nearest(vector(gone.seq), 1_000, None, ())}
    put(vectors, [crowd[0]])
    assert vectors.nearest(vector(gone.seq), 1, None, ())[0][1] == gone.seq


def test_a_memory_that_moves_to_another_project_is_found_there_only(vectors: VectorStore, crowd: list[Memory]) -> None:
    moved = crowd[0].replaced(project="yard")
    put(vectors, [moved])
    query = vector(moved.seq)
    assert vectors.nearest(query, 1, ("project:yard",))[0][1] == moved.seq
    assert moved.seq not in {seq for _, seq in vectors.nearest(query, 1_000, ("project:shop",))}


def test_another_process_finds_what_was_committed(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    found = vectors.nearest(vector(7_000), 30, None)
    with VectorStore.reader(home, SPACE, DIMENSION) as reader:
        assert reader.nearest(vector(7_000), 30, None) == found
    vectors.close()
    with VectorStore.writer(home, SPACE, DIMENSION) as again:
        assert again.nearest(vector(7_000), 30, None) == found


def test_what_is_rolled_back_has_never_been_there(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make("x")])
    vectors.begin()
    vectors.put(memories, {memories[0].seq: vector(1)})
    vectors.rollback()
    assert vectors.nearest(vector(1), 5, None) == []
    assert vectors.counts() == (0, 0)


# ---- final vectors --------------------------------------------------------------------------------------------------------


def test_a_new_memory_waits_for_its_final_vector(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make("one"), make("two"), make("three")])
    put(vectors, memories)
    waiting = vectors.pending()
    assert [(vectors.seq_of(key), content_hash) for key, content_hash in waiting] == [
        (memory.seq, memory.content_hash) for memory in memories
    ]
    assert vectors.pending(2) == waiting[:2]
    assert vectors.finish((key, content_hash, vector(key + 1)) for key, content_hash in waiting[:2]) == 2
    assert (vectors.counts(), vectors.pending()) == ((2, 1), waiting[2:])
    assert vectors.nearest(vector(waiting[0][0] + 1), 1, None)[0][1] == memories[0].seq


def test_a_text_that_has_a_final_vector_gives_it_to_every_memory_of_that_text(
    vectors: VectorStore, store: Store, make: Maker
) -> None:
    first = store.add([make("the same")])
    put(vectors, first)
    vectors.finish((key, content_hash, vector(1)) for key, content_hash in vectors.pending())
    assert vectors.final_vector(first[0].content_hash) == vector(1)
    second = store.add([make("the same", project="shop"), make("another")])
    assert [memory.id for memory in vectors.lacking(second)] == [second[1].id]
    put(vectors, second)
    assert vectors.counts() == (2, 1)
    assert vectors.cosines(vector(1), [second[0].seq]) == pytest.approx({second[0].seq: 1.0}, abs=1e-6)


def test_a_memory_that_changed_meanwhile_is_left_alone(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make("old text"), make("gone"), make("done")])
    put(vectors, memories)
    waiting = vectors.pending()
    vectors.finish([(*waiting[2], vector(3))])
    put(vectors, [memories[0].replaced(content="new text")])
    vectors.begin()
    vectors.remove_memories([memories[1].seq])
    vectors.commit()
    assert vectors.finish((key, content_hash, vector(9)) for key, content_hash in waiting) == 0
    assert vectors.counts() == (1, 1)
    assert vectors.final_vector(memories[0].content_hash) is None
    assert vectors.final_vector(memories[2].content_hash) == vector(3)


def test_a_memory_without_a_provisional_vector_waits_and_is_near_to_nothing(
    vectors: VectorStore, store: Store, make: Maker
) -> None:
    memories = store.add([make("x")])
    vectors.begin()
    vectors.put(memories, {})
    vectors.commit()
    assert (vectors.counts(), vectors.nearest(vector(1), 5, None), vectors.cosines(vector(1), [memories[0].seq])) == (
        (0, 1),
        [],
        {},
    )
    vectors.finish((key, content_hash, vector(1)) for key, content_hash in vectors.pending())
    assert vectors.nearest(vector(1), 5, None)[0][1] == memories[0].seq


def test_a_memory_whose_status_changes_keeps_its_final_vector(vectors: VectorStore, store: Store, make: Maker) -> None:
    memories = store.add([make("x")])
    put(vectors, memories)
    vectors.finish((key, content_hash, vector(1)) for key, content_hash in vectors.pending())
    archived = memories[0].replaced(status="archived")
    assert vectors.lacking([archived]) == []
    put(vectors, [archived], lambda _: vector(2))
    assert vectors.counts() == (1, 0)
    assert vectors.nearest(vector(1), 5, None, ("archived",))[0][1] == memories[0].seq


def test_the_bytes_of_a_purged_memory_are_gone_from_the_disk(vectors: VectorStore, crowd: list[Memory], home: Home) -> None:
    gone = vector(crowd[0].seq)
    vectors.begin()
    vectors.remove_memories([crowd[0].seq])
    vectors.commit()
    vectors.close()  # the last one to close empties the log into the file
    raw = b"".join(path.read_bytes() for path in Path(home.index).iterdir())
    assert gone not in raw
    assert np.packbits(np.frombuffer(gone, np.int8) > 0, bitorder="little").tobytes() not in raw
    assert vector(crowd[1].seq) in raw


# ---- who made them --------------------------------------------------------------------------------------------------------


@pytest.fixture
def half_final(vectors: VectorStore, store: Store, make: Maker) -> list[Memory]:
    """One memory with a final vector of the model "m1", one with a provisional one of the encoder "e1"."""
    vectors.expect(("m1", "e1"))
    memories = store.add([make("one"), make("two")])
    put(vectors, memories)
    vectors.finish((key, content_hash, vector(70)) for key, content_hash in vectors.pending(1))
    vectors.begin()
    vectors.reach_revision(store.revision())
    vectors.commit()
    return memories


def test_expecting_the_same_makers_again_changes_nothing(vectors: VectorStore, half_final: list[Memory]) -> None:
    for made_by in (("m1", "e1"), ("", "e1"), ("m1", ""), ("", "")):
        vectors.expect(made_by)
        assert vectors.counts() == (1, 1)
        assert vectors.watermark() > 0


def test_final_vectors_of_another_model_stand_in_until_they_are_replaced(
    vectors: VectorStore, half_final: list[Memory]
) -> None:
    vectors.expect(("m2", "e1"))
    assert vectors.counts() == (0, 2)
    assert vectors.final_vector(half_final[0].content_hash) is None
    assert vectors.nearest(vector(70), 1, None)[0][1] == half_final[0].seq
    assert vectors.nearest(vector(half_final[1].seq), 1, None)[0][1] == half_final[1].seq
    assert vectors.finish((key, content_hash, vector(key)) for key, content_hash in vectors.pending()) == 2


@pytest.mark.parametrize(("model", "final"), [("m1", 1), ("", 1), ("m2", 0)])
def test_provisional_vectors_of_another_encoder_are_dropped_and_all_is_looked_at_again(
    vectors: VectorStore, half_final: list[Memory], model: str, final: int
) -> None:
    vectors.expect((model, "e2"))
    assert (vectors.counts(), vectors.watermark()) == ((final, 2 - final), -1)
    assert [seq for _, seq in vectors.nearest(vector(70), 5, None)] == [half_final[0].seq]
    assert vectors.problems() == []
    assert [memory.id for memory in vectors.lacking(half_final)] == [half_final[1].id]


def test_a_process_that_still_has_the_old_model_finishes_nothing(
    home: Home, vectors: VectorStore, half_final: list[Memory]
) -> None:
    with VectorStore.writer(home, SPACE, DIMENSION) as later:
        later.expect(("m2", "e1"))
        assert vectors.finish((key, content_hash, vector(9)) for key, content_hash in vectors.pending()) == 0
        assert later.counts() == (0, 2)


# ---- a file that can not be used ------------------------------------------------------------------------------------------


def filled(path: str) -> None:
    with open(path, "wb") as file:
        file.write(os.urandom(40_000))


def truncated(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2 // 4096 * 4096 + 100)


def damaged_in_every_page(path: str) -> None:
    with open(path, "r+b") as file:
        for page in range(1, os.path.getsize(path) // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)


def of_another_program(path: str) -> None:
    os.unlink(path)
    connection = apsw.Connection(path)
    connection.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    connection.close()


def of_a_later_version(path: str) -> None:
    connection = apsw.Connection(path)
    connection.pragma("user_version", 99)
    connection.close()


def a_folder(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)


def without_a_table(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("DROP TABLE codes")
    connection.close()


def missing(path: str) -> None:
    os.unlink(path)


@pytest.mark.parametrize(
    "damage",
    [
        filled,
        truncated,
        damaged_in_every_page,
        of_another_program,
        of_a_later_version,
        a_folder,
        without_a_table,
        missing,
    ],
)
def test_a_reader_of_a_useless_file_is_told_so(
    home: Home, vectors: VectorStore, crowd: list[Memory], damage: Callable[[str], None]
) -> None:
    vectors.close()
    damage(path_of(home, SPACE))
    with pytest.raises(VectorsUnusable) as told, VectorStore.reader(home, SPACE, DIMENSION) as reader:
        reader.nearest(vector(1), 300, None, ())
    assert path_of(home, SPACE) in told.value.message
    assert told.value.hint == "run `subcog reindex`"


def test_a_file_that_is_empty_is_made_by_the_next_writer(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    vectors.close()
    os.truncate(path_of(home, SPACE), 0)
    with pytest.raises(StoreError, match="is empty; another process is making it"):
        VectorStore.reader(home, SPACE, DIMENSION)
    with VectorStore.writer(home, SPACE, DIMENSION) as anew:
        assert (anew.watermark(), anew.counts()) == (-1, (0, 0))


def test_vectors_of_another_dimension_are_refused(home: Home, vectors: VectorStore) -> None:
    for opened in (VectorStore.reader, VectorStore.writer):
        with pytest.raises(VectorsUnusable, match=r"has vectors of 64 dimensions, expected 384; run `subcog reindex`"):
            opened(home, SPACE, 384)


def test_a_query_of_another_dimension_is_refused(vectors: VectorStore, crowd: list[Memory]) -> None:
    for search in (lambda q: vectors.nearest(q, 5, None), lambda q: vectors.cosines(q, [crowd[0].seq])):
        with pytest.raises(VectorsUnusable):
            search(bytes([1]) * 32)


def test_a_vector_of_another_length_is_found(vectors: VectorStore, crowd: list[Memory]) -> None:
    assert vectors.problems() == []
    vectors.finish([(*vectors.pending(1)[0], bytes([1]) * 8)])
    assert vectors.problems() == ["1 vectors of another length"]


def test_codes_that_are_lost_are_missed(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    connection = apsw.Connection(vectors.path)
    connection.execute("DELETE FROM codes WHERE key IN (SELECT key FROM codes LIMIT 3)")
    assert vectors.problems() == ["3 vectors without a code"]
    connection.execute("DROP TABLE codes")
    connection.close()
    with pytest.raises(VectorsUnusable):
        vectors.problems()


def test_a_damaged_page_is_found(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    vectors.close()
    connection = apsw.Connection(path_of(home, SPACE))
    page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'pending'").fetchall()[0][0]
    connection.close()
    assert isinstance(page, int)
    with open(path_of(home, SPACE), "r+b") as file:
        file.seek((page - 1) * 4096 + 8)
        file.write(b"\xff" * 64)
    with VectorStore.reader(home, SPACE, DIMENSION) as reader:
        assert reader.watermark() == -1
        assert len(reader.problems()) >= 1


def test_removed_vectors_are_gone_for_those_who_have_them_open(home: Home, vectors: VectorStore) -> None:
    assert not vectors.is_gone()
    VectorStore.remove(home, SPACE)
    assert vectors.is_gone()
    VectorStore.remove(home, SPACE)  # twice is no failure
    with VectorStore.writer(home, SPACE, DIMENSION) as anew:
        assert (anew.is_gone(), anew.watermark()) == (False, -1)


def test_the_file_names_its_format_so_that_versions_leave_each_others_alone(home: Home, vectors: VectorStore) -> None:
    assert path_of(home, SPACE) == os.path.join(home.index, f"vectors-{module.FORMAT}-{SPACE}.db")
    later = Path(home.index, f"vectors-{module.FORMAT + 1}-{SPACE}.db")
    later.write_bytes(b"of a later version")
    VectorStore.remove(home, SPACE)
    VectorStore.writer(home, SPACE, DIMENSION).close()
    assert later.read_bytes() == b"of a later version"


def open_files() -> list[str]:
    return sorted(
        os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
@pytest.mark.parametrize("damage", [of_a_later_version, of_another_program, damaged_in_every_page, without_a_table])
def test_a_file_that_can_not_be_used_is_not_kept_open(
    home: Home, vectors: VectorStore, crowd: list[Memory], damage: Callable[[str], None]
) -> None:
    vectors.close()
    damage(path_of(home, SPACE))
    before = open_files()
    for opened in (VectorStore.reader, VectorStore.writer):
        with pytest.raises(StoreError) as told:
            opened(home, SPACE, 2 * DIMENSION)
        assert open_files() == before, opened  # while the error, and with it every frame, is alive
        del told


def test_purging_erases_from_every_file_and_deletes_what_can_not_be_read(
    home: Home, vectors: VectorStore, crowd: list[Memory]
) -> None:
    put(vectors, crowd[:1], lambda _: vector(1))
    damaged = Path(home.index, "vectors-1-damaged.db")
    later = Path(home.index, "vectors-9-later.db")
    damaged.write_bytes(b"garbage" * 1_000)
    shutil.copy(vectors.path, later)
    of_a_later_version(str(later))
    with VectorStore.writer(home, "wider", 2 * DIMENSION) as wider:
        put(wider, crowd, lambda seq: 2 * vector(seq))
    VectorStore.purge(home, [crowd[0].seq, crowd[1].seq])
    assert sum(vectors.counts()) == len(crowd) - 2
    assert (damaged.exists(), later.exists()) == (False, False)
    with VectorStore.reader(home, "wider", 2 * DIMENSION) as wider:
        assert sum(wider.counts()) == len(crowd) - 2
    raw = b"".join(path.read_bytes() for path in Path(home.index).iterdir())  # while they are open
    assert vector(crowd[1].seq) not in raw
    assert vector(crowd[2].seq) in raw


def test_purging_beside_a_reader_of_the_old_bytes_is_said_and_does_the_other_files(
    home: Home, vectors: VectorStore, crowd: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WRITE_WAIT_MS", 20)
    with VectorStore.writer(home, "zzz", DIMENSION) as other:
        put(other, crowd)
    reading = apsw.Connection(vectors.path, flags=apsw.SQLITE_OPEN_READONLY)
    reading.execute("BEGIN; SELECT count(*) FROM vectors").fetchall()
    with pytest.raises(StoreBusy, match="purged, but another process still reads the old bytes"):
        VectorStore.purge(home, [crowd[0].seq])
    reading.close()
    for name in (SPACE, "zzz"):
        with VectorStore.reader(home, name, DIMENSION) as opened:
            assert sum(opened.counts()) == len(crowd) - 1
    VectorStore.purge(home, [])
    assert vector(crowd[0].seq) not in b"".join(path.read_bytes() for path in Path(home.index).iterdir())


def test_one_writer_at_a_time_and_readers_never_wait(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    vectors.begin()
    with VectorStore.writer(home, SPACE, DIMENSION, busy_ms=10) as second, pytest.raises(StoreBusy):
        second.begin()
    with VectorStore.reader(home, SPACE, DIMENSION, busy_ms=0) as reader:
        assert len(reader.nearest(vector(1), 10, None, ())) == 10
    vectors.rollback()


@pytest.mark.skipif(os.name == "nt" or (os.geteuid() == 0 and not shutil.which("setpriv")), reason="needs a user")
def test_a_folder_that_can_not_be_written_can_be_read(home: Home, vectors: VectorStore, crowd: list[Memory]) -> None:
    vectors.close()
    file = path_of(home, SPACE)
    code = (
        "import os, sys\nfrom subcog_hooks.memory.vectors import VectorStore, VectorsUnusable\n"
        "from subcog_hooks.errors import StoreError\nfrom subcog_hooks.paths import Home\n"
        f"query = bytes.fromhex('{vector(1).hex()}')\n"
        f"print(len(VectorStore.reader(Home.find(), {SPACE!r}, {DIMENSION}).nearest(query, 10, None, ())))\n"
        f"try:\n    VectorStore.writer(Home.find(), {SPACE!r}, {DIMENSION})\n"
        "except StoreError as error:\n    print(error.message)\n"
    )
    for path in (home.root, home.index, file):
        os.chmod(path, 0o555 if os.path.isdir(path) else 0o444)
    as_a_user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    try:
        done = subprocess.run(
            [*as_a_user, sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        for path in (file, home.index, home.root):
            os.chmod(path, 0o700)
    assert (done.stdout, done.stderr) == (f"10\n{file} can not be written\n", "")


# ---- sqlite-vec is missing ------------------------------------------------------------------------------------------------


def test_without_sqlite_vec_the_vectors_say_what_to_install(
    home: Home, vectors: VectorStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apsw, "__file__", str(tmp_path / "apsw" / "__init__.py"))
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)  # what Python makes of a package that is not there
    for opened in (VectorStore.reader, VectorStore.writer):
        with pytest.raises(ExtensionMissing) as told:
            opened(home, SPACE, DIMENSION)
        assert str(told.value) == "sqlite-vec is not installed; search is by words alone; pip install sqlite-vec"


def test_an_extension_that_is_no_library_is_as_good_as_missing(
    home: Home, vectors: VectorStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sqlite_vec").mkdir()
    (tmp_path / "sqlite_vec" / f"vec0{vec_extension._SUFFIX}").write_bytes(b"\x7fELF garbage")
    monkeypatch.setattr(apsw, "__file__", str(tmp_path / "apsw" / "__init__.py"))
    with pytest.raises(ExtensionMissing, match="sqlite-vec can not be loaded"):
        VectorStore.reader(home, SPACE, DIMENSION)


def test_the_extension_is_found_beside_apsw_without_the_standard_sqlite3(home: Home, vectors: VectorStore) -> None:
    code = (
        "import sys\nfrom subcog_hooks.memory.vectors import VectorStore\nfrom subcog_hooks.paths import Home\n"
        f"VectorStore.reader(Home.find(), {SPACE!r}, {DIMENSION})\n"
        "print(sorted({'sqlite3', 'sqlite_vec', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
