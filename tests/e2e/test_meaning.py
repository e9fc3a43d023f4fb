"""The installed executable finds by meaning; where it can not, words do, and the hook keeps its promises."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import subcog_hooks
from subcog_hooks.cli.search_sources import PENDING
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store.vector_reader import VECTORS_FORMAT
from subcog_hooks.store.vector_store import VectorStore
from tests.e2e.machine import ANSWER, QUESTION, Machine, assert_harmless, context_of, ids_in
from tests.e2e.test_damage import locked, make_folder, run_sql

NEAR = {"id": "cat", "content": "The office cat sleeps on the warm server rack in winter."}
PARAPHRASE = "Where do kittens nap during cold months?"  # has no word of it


def vectors_of(machine: Machine) -> Path:
    return machine.home / "index" / f"vectors-{VECTORS_FORMAT}-minilm.db"


# ---- what only meaning finds ----------------------------------------------------------------------------------------------


def test_prompt_brings_a_memory_that_has_no_word_of_it(bare: Machine) -> None:
    bare.imports(NEAR)
    assert bare.recall(PARAPHRASE) == ["cat"]
    assert bare.run("doctor", "--fix").code == 0  # with the final vector, too
    assert bare.recall(PARAPHRASE) == ["cat"]
    assert bare.log() == []


def test_pending_vectors_add_no_confidence_to_words(machine: Machine) -> None:
    def answer(*options: str) -> Any:
        return json.loads(machine.run("search", QUESTION, "--json", "--fast", *options).stdout)

    machine.run("doctor", "--fix")
    sound = answer()
    assert (sound["confidence"], sound["degraded"], sound["note"]) == ("very_high", False, None)
    machine.imports({"id": "new", "content": "The session token of the browser is not in localStorage."}, NEAR)
    pending, by_words = answer(), answer("--mode", "lexical")
    assert (pending["degraded"], pending["note"]) == (True, PENDING)
    limits = {hit["id"]: hit["confidence"] for hit in by_words["results"]}
    order = ("speculative", "low", "medium", "high", "very_high")
    for hit in pending["results"]:
        limit = min("medium", limits.get(hit["id"], "low"), key=order.index)
        assert order.index(hit["confidence"]) <= order.index(limit), hit["id"]
    assert pending["results"][0]["confidence"] == "medium"
    assert machine.run("doctor", "--fix").code == 0
    assert (answer()["degraded"], answer()["note"]) == (False, None)


def test_fast_search_has_what_a_prompt_brings(machine: Machine) -> None:
    done = machine.run("search", QUESTION, "--fast", "--ids", "-n", "15")
    assert machine.recall(QUESTION) == [ANSWER] == done.stdout.decode().split()[:1]


# ---- vectors that can not be used -----------------------------------------------------------------------------------------


def overwrite_behind_first_page(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(4_096)
        opened.write(b"\xff" * (file.stat().st_size - 4_096))


def change_dimension(file: Path) -> None:
    file.unlink()
    VectorStore.writer(Home(str(file.parents[1])), PACKAGED.name, 768).close()


SEEN_AT_ONCE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda file: file.write_bytes(b"garbage " * 4_096),
    "garbage behind the first page": overwrite_behind_first_page,
    "truncated": lambda file: os.truncate(file, file.stat().st_size // 2),
    "empty": lambda file: os.truncate(file, 0),
    "a folder": make_folder,
    "of another dimension": change_dimension,
}
DAMAGE: dict[str, Callable[[Path], object]] = {
    **SEEN_AT_ONCE,
    "missing": Path.unlink,
    "without a table": lambda file: run_sql(file, "DROP TABLE codes"),
    "cut short": lambda file: run_sql(file, "UPDATE vectors SET vector = substr(vector, 1, 100)"),
}


def test_words_answer_until_fix_makes_vectors_anew(machine: Machine, subtests: pytest.Subtests) -> None:
    for damage, change in DAMAGE.items():
        with subtests.test(damage=damage):
            before = len(machine.log())
            for name in ("-wal", "-shm"):
                Path(f"{vectors_of(machine)}{name}").unlink(missing_ok=True)
            change(vectors_of(machine))
            assert machine.recall(QUESTION) == [ANSWER]
            if damage in SEEN_AT_ONCE:
                assert {"by words alone" in line for line in machine.log()[before:]} == {True}
            done = machine.run("doctor", "--fix")
            if damage == "a folder":
                assert (done.code, done.stderr.count(b"\n")) == (3, 1)
                vectors_of(machine).rmdir()
                done = machine.run("doctor", "--fix")
            assert done.code == 0, done.stderr
            with VectorStore.reader(Home(str(machine.home)), PACKAGED.name, PACKAGED.dimension) as vectors:
                assert (vectors.problems(), vectors.counts()) == ([], (52, 0))


def test_a_prompt_is_answered_while_vectors_are_locked(machine: Machine) -> None:
    for to_readers in (False, True):
        with locked(vectors_of(machine), to_readers=to_readers):
            assert machine.recall(QUESTION) == [ANSWER], to_readers


# ---- an encoder that can not be used --------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_prompt_is_answered_by_words_without_an_encoder(machine: Machine, tmp_path: Path, subtests: pytest.Subtests) -> None:
    package, copy = Path(subcog_hooks.__file__).parent, tmp_path / "site" / "subcog_hooks"
    ignored = shutil.ignore_patterns("query-encoder.bin", "__pycache__")
    shutil.copytree(package, copy, copy_function=os.symlink, ignore=ignored)
    whole = (package / "embed" / "query-encoder.bin").read_bytes()
    machine.environment["PYTHONPATH"] = str(copy.parent)
    for kind, content in {"none": None, "empty": b"", "half": whole[: len(whole) // 2], "other": b"garbage " * 100_000}.items():
        with subtests.test(kind=kind):
            if content is not None:
                (copy / "embed" / "query-encoder.bin").write_bytes(content)
            before = len(machine.log())
            done = [machine.start([sys.executable, "-P", "-m", "subcog_hooks", "hook"], machine.asking()) for _ in range(5)]
            for each in done:
                assert_harmless(each)
            assert [ANSWER] in [ids_in(context_of(each)) for each in done if each.stdout]
            lines = machine.log()[before:]
            assert lines
            assert all("recall by words alone" in line for line in lines)
