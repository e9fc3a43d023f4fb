"""The installed executable finds by meaning; where it can not, words do, and the hook keeps its promises."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

import subcog_hooks
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook.session import BACKGROUND_COMMAND
from subcog_hooks.store.vector_store import VectorStore
from tests.e2e.machine import ANSWER, QUESTION, Machine, assert_harmless, context_of, ids_in

NEAR = {"id": "cat", "content": "The office cat sleeps on the warm server rack in winter."}
PARAPHRASE = "Where do kittens nap during cold months?"  # has no word of it


def vectors_of(machine: Machine) -> Path:
    return machine.home / "index" / "vectors-1-minilm.db"


# ---- what only meaning finds ----------------------------------------------------------------------------------------------


def test_prompt_brings_a_memory_that_has_no_word_of_it(bare: Machine) -> None:
    bare.imports(NEAR)
    assert bare.recall(PARAPHRASE) == ["cat"]
    assert bare.run("reindex").code == 0  # with the final vector, too
    assert bare.recall(PARAPHRASE) == ["cat"]
    assert bare.log() == []


def test_share_of_meaning_changes_what_a_prompt_brings(bare: Machine) -> None:
    tables = [{"id": f"table-{i:02}", "content": f"kittens months ERROR SQLSTATE 23P{i:02} kittens months"} for i in range(20)]
    stories = [
        {"id": f"story-{i:02}", "content": f"Our {i} kittens nap upon a warm server rack, coldest months."} for i in range(20)
    ]
    bare.imports(*tables, *stories)
    bare.run("config", "set", "surfacing.min_relevance", "0")
    for alpha, kind in (("0", "table"), ("1", "story")):
        bare.run("config", "set", "fusion.alpha", alpha)
        assert {id_.partition("-")[0] for id_ in bare.recall("Where do kittens sleep, frosty months?")} == {kind}


def test_fast_search_has_what_a_prompt_brings(machine: Machine) -> None:
    done = machine.run("search", QUESTION, "--fast", "--ids", "-n", "15")
    assert machine.recall(QUESTION) == [ANSWER] == done.stdout.decode().split()[:1]


# ---- vectors that can not be used -----------------------------------------------------------------------------------------

Damage = Callable[[Path], None]


def missing(file: Path) -> None:
    file.unlink()


def as_garbage(file: Path) -> None:
    file.write_bytes(b"garbage " * 4_096)


def as_garbage_behind_the_first_page(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(4_096)
        opened.write(b"\xff" * (file.stat().st_size - 4_096))


def as_truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def as_empty(file: Path) -> None:
    os.truncate(file, 0)


def as_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def of_another_dimension(file: Path) -> None:
    file.unlink()
    VectorStore.writer(Home(str(file.parents[1])), PACKAGED.name, 768).close()


def without_a_table(file: Path) -> None:
    connection = apsw.Connection(str(file))
    connection.execute("DROP TABLE codes")
    connection.close()


def with_vectors_cut_short(file: Path) -> None:
    connection = apsw.Connection(str(file))
    connection.execute("UPDATE vectors SET vector = substr(vector, 1, 100)")
    connection.close()


SEEN_AT_ONCE: list[Damage] = [
    as_garbage,
    as_garbage_behind_the_first_page,
    as_truncated,
    as_empty,
    as_a_folder,
    of_another_dimension,
]
DAMAGE: list[Damage] = [*SEEN_AT_ONCE, missing, without_a_table, with_vectors_cut_short]


def name_of(damage: Damage) -> str:
    return damage.__name__.replace("_", " ")


@pytest.mark.parametrize("damage", DAMAGE, ids=name_of)
def test_prompt_is_answered_by_words_when_the_vectors_are(machine: Machine, damage: Damage) -> None:
    for name in ("-wal", "-shm"):
        Path(f"{vectors_of(machine)}{name}").unlink(missing_ok=True)
    damage(vectors_of(machine))
    assert machine.recall(QUESTION) == [ANSWER]
    if damage in SEEN_AT_ONCE:
        assert machine.log()
        assert all("by words alone" in line for line in machine.log())


@pytest.mark.parametrize("damage", DAMAGE, ids=name_of)
def test_reindex_makes_vectors_anew_that_are(machine: Machine, damage: Damage) -> None:
    for name in ("-wal", "-shm"):
        Path(f"{vectors_of(machine)}{name}").unlink(missing_ok=True)
    damage(vectors_of(machine))
    done = machine.run("reindex")
    if damage is as_a_folder:
        assert (done.code, done.stderr.count(b"\n")) == (3, 1)
        return
    assert done.code == 0, done.stderr
    with VectorStore.reader(Home(str(machine.home)), PACKAGED.name, PACKAGED.dimension) as vectors:
        assert (vectors.problems(), vectors.counts()) == ([], (52, 0))
    assert machine.recall(QUESTION) == [ANSWER]


@contextmanager
def locked(file: Path, sql: str) -> Iterator[None]:
    """Another process holds the file."""
    code = (
        "import apsw, sys\nconnection = apsw.Connection(sys.argv[1])\nconnection.execute(sys.argv[2]).fetchall()\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(file), sql]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.communicate(b"")


NOBODY_READS = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE space SET watermark = watermark + 0"


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("BEGIN IMMEDIATE", id="for writing"),
        pytest.param("BEGIN EXCLUSIVE", id="exclusively"),
        pytest.param(NOBODY_READS, id="so that nobody can read"),
    ],
)
def test_a_prompt_is_answered_while_vectors_are_locked(machine: Machine, sql: str) -> None:
    with locked(vectors_of(machine), sql):
        assert machine.recall(QUESTION) == [ANSWER]


# ---- an encoder that can not be used --------------------------------------------------------------------------------------


def no_encoder(file: Path) -> None:
    return


def an_empty_encoder(file: Path) -> None:
    file.write_bytes(b"")


def half_an_encoder(file: Path) -> None:
    whole = (Path(subcog_hooks.__file__).parent / "embed" / file.name).read_bytes()
    file.write_bytes(whole[: len(whole) // 2])


def another_encoder(file: Path) -> None:
    file.write_bytes(b"garbage " * 100_000)


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
@pytest.mark.parametrize("spoil", [no_encoder, an_empty_encoder, half_an_encoder, another_encoder], ids=name_of)
def test_prompt_is_answered_by_words_with(machine: Machine, tmp_path: Path, spoil: Damage) -> None:
    copy = tmp_path / "site" / "subcog_hooks"
    ignored = shutil.ignore_patterns("query-encoder.bin", "__pycache__")
    shutil.copytree(Path(subcog_hooks.__file__).parent, copy, copy_function=os.symlink, ignore=ignored)
    spoil(copy / "embed" / "query-encoder.bin")
    machine.environment["PYTHONPATH"] = str(copy.parent)
    done = [machine.start([sys.executable, "-P", "-m", "subcog_hooks", "hook"], machine.asking()) for _ in range(5)]
    for each in done:
        assert_harmless(each)
    assert [ANSWER] in [ids_in(context_of(each)) for each in done if each.stdout]
    assert machine.log()
    assert all("recall by words alone" in line for line in machine.log())


# ---- beside the process that embeds ---------------------------------------------------------------------------------------


def test_the_hook_keeps_its_deadline_while_others_embed(machine: Machine) -> None:
    rows = [{"id": f"bulk-{i}", "content": f"bulk fact {i} about moorings, tides and the crane "} for i in range(2_000)]
    machine.imports(*rows)
    vectors = Home(str(machine.home)), PACKAGED.name, PACKAGED.dimension
    embedding = subprocess.Popen(
        [sys.executable, "-P", "-m", "subcog_hooks", BACKGROUND_COMMAND],
        env={**machine.environment, "PYTHONPATH": str(Path(subcog_hooks.__file__).parents[1])},
    )
    try:
        with VectorStore.reader(*vectors) as reader:
            while not reader.counts()[0]:  # until its first group is done
                assert embedding.poll() is None
            done = [machine.run("hook", stdin=machine.asking(QUESTION)) for _ in range(20)]
            assert embedding.poll() is None, "it had ended before the hooks had"
            assert reader.counts()[1] > 0
    finally:
        embedding.kill()
        embedding.wait()
    for each in done:
        assert_harmless(each)
    spoken = [ids_in(context_of(each)) for each in done if each.stdout]
    assert len(spoken) >= 18
    assert all(ids == [ANSWER] for ids in spoken)
    assert json.loads(machine.run("show", "bulk-7", "--json").stdout)["id"] == "bulk-7"
