"""Embedding in the background: it is due when there is work, does it, says why it could not, and ends when it is asked to."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from subcog_hooks.core import log
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import ModelError, StoreBusy
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import catch_up, models
from subcog_hooks.embed.catch_up import BACKGROUND, FOREGROUND, Patience, embed_pending
from subcog_hooks.embed.neural_encoder import DocumentEmbedder
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.hook.detached import BACKGROUND_COMMAND
from subcog_hooks.store import home_files, vector_store
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.memory import MAX_QUESTION, AnsweredQuestion, Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.embed.conftest import OTHER, SPACE, Counting, Open
from tests.store.conftest import cosine

posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")


@pytest.fixture
def pending(store: Store, make: Maker, following: Open) -> None:
    store.add([make("The gate is shut.")])
    following()


def test_in_an_empty_home_nothing_is_due(home: Home) -> None:
    assert not catch_up.is_embedding_due(home)
    assert not (Path(home.log) / "hook.log").exists()


def test_work_is_due_from_a_new_memory_until_it_is_embedded(home: Home, store: Store, make: Maker, following: Open) -> None:
    following()
    assert not catch_up.is_embedding_due(home)
    store.add([make("The gate is shut.")])  # the vectors have not followed yet
    assert catch_up.is_embedding_due(home)
    following()
    assert catch_up.is_embedding_due(home)
    assert catch_up.embed_all_pending([home]) == 1
    assert following().counts() == (1, 0)
    assert not catch_up.is_embedding_due(home)


@pytest.mark.usefixtures("pending")
def test_it_is_not_due_while_another_process_is_at_it(home: Home) -> None:
    with ProcessLock(catch_up.lock_of(home, SPACE), 0, "embedding"):
        assert not catch_up.is_embedding_due(home)
    assert catch_up.is_embedding_due(home)


class Ending(Pace):
    """Lets work go on so often, and then ends it; counts the pauses that it was asked for."""

    def __init__(self, units: int) -> None:
        self.left = units
        self.pauses = 0

    def goes_on(self, _: Callable[[], bool] = bool) -> bool:
        self.left -= 1
        return self.left >= 0

    def pause(self, _: Callable[[], bool] = bool) -> None:
        self.pauses += 1


@pytest.mark.usefixtures("pending")
def test_a_broken_model_fails_until_it_works_again(
    home: Home, following: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(SPACE.folder, tmp_path / "model")
    os.truncate(tmp_path / "model" / "model.onnx", 1_000)
    with monkeypatch.context() as broken:
        broken.setattr(SPACE, "folder", str(tmp_path / "model"))
        with pytest.raises(ModelError, match=f"{SPACE.model} cannot be loaded"):
            catch_up.embed_all_pending([home])
    assert following().counts() == (0, 1)
    catch_up.embed_all_pending([home])
    assert following().counts() == (1, 0)


@posix
def test_a_disk_that_fills_is_noted_and_what_was_there_stays(home: Home, store: Store, make: Maker, following: Open) -> None:
    store.add([make(f"Pier {number} is closed.") for number in range(60)])
    vectors = following()
    largest = max(os.path.getsize(os.path.join(home.index, name)) for name in os.listdir(home.index))

    def small_disk() -> None:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    command = [sys.executable, "-m", "subcog_hooks", BACKGROUND_COMMAND]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, preexec_fn=small_disk, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    run = home_files.read_record(home).runs["embedding"]
    assert (run.outcome, vectors.path in run.result) == (home_files.RUN_FAILED, True)
    assert vectors.counts() == (0, 60)
    assert vectors.problems() == []


@pytest.mark.usefixtures("pending")
def test_a_missing_chosen_model_does_not_stop_the_packaged_one(
    home: Home, following: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(home.config).write_text('[embedding]\nmodel = "BAAI/bge-small-en-v1.5"\n')
    catch_up.embed_all_pending([home])
    assert following().counts() == (1, 0)
    assert "BAAI/bge-small-en-v1.5 is not installed" in Path(log.log_path(home)).read_text()
    assert PACKAGED is SPACE


@pytest.fixture
def chosen_model(home: Home, store: Store, make: Maker, monkeypatch: pytest.MonkeyPatch) -> Space:
    """A pulled model that is chosen, with six memories to embed in groups of two."""
    monkeypatch.setattr(catch_up, "QUIET_TEXTS", 2)
    store.add([make(f"Pier {number} is closed.") for number in range(6)])
    space = models.pull_model(home, OTHER, SPACE.folder)
    Path(home.config).write_text(f'[embedding]\nmodel = "{space.name}"\n')
    return space


def counts(home: Home, space: Space) -> tuple[int, int]:
    with VectorStore.reader(home, space.name, space.dimension) as vectors:
        return vectors.counts()


def test_it_ends_early_and_the_rest_stays_due(home: Home, chosen_model: Space) -> None:
    pace = Ending(4)  # before the space, before its turn, and before each group of two
    assert catch_up.embed_all_pending([home], pace) == 4
    assert (counts(home, SPACE), pace.pauses) == ((4, 2), 4)  # one pause behind each vector
    assert catch_up.is_embedding_due(home)
    assert catch_up.embed_all_pending([home]) == 8
    assert counts(home, SPACE) == counts(home, chosen_model) == (6, 0)


def test_a_broken_model_does_not_stop_the_packaged_one(home: Home, chosen_model: Space) -> None:
    with open(os.path.join(chosen_model.folder, "onnx", "model.onnx"), "r+b") as file:
        file.write(b"\xff" * 1_000)
    with pytest.raises(ModelError, match=f"{chosen_model.model} cannot be loaded"):
        catch_up.embed_all_pending([home])
    assert counts(home, SPACE) == (6, 0)


IMPATIENT = Patience(0, is_urgent=False)


LONG = "The dredging barge is moored at pier 7 from November on. " * 20


class Work:
    """A store, the vectors that follow it, and the packaged model."""

    def __init__(self, home: Home, store: Store, make: Maker, following: Open, embedder: Counting) -> None:
        self.home, self.store, self.make, self.following, self.embedder = home, store, make, following, embedder

    def add(self, *texts: str, **fields: object) -> tuple[list[Memory], VectorStore]:
        """Store memories; the vectors follow, so they are pending."""
        return self.store.add([self.make(text, **fields) for text in texts]), self.following()

    def finish(self, vectors: VectorStore, patience: Patience = FOREGROUND, **others: Any) -> int:
        return embed_pending(self.home, self.store, vectors, SPACE, lambda: self.embedder, patience, **others)

    def finish_without_model(self, vectors: VectorStore, patience: Patience = FOREGROUND) -> int:
        load = partial(pytest.fail, "the model was loaded")
        return embed_pending(self.home, self.store, vectors, SPACE, load, patience)


@pytest.fixture
def work(home: Home, store: Store, make: Maker, following: Open, embedder: Counting) -> Work:
    return Work(home, store, make, following, embedder)


def test_a_question_is_embedded_by_itself_and_never_in_passages(work: Work) -> None:
    long = "a," * (MAX_QUESTION // 2)  # more tokens than a passage has
    questions = (AnsweredQuestion("may ships moor there"), AnsweredQuestion(long))
    (kept,), vectors = work.add("Pier 3 is closed.", questions=questions)
    assert work.finish(vectors) == 3
    assert (vectors.counts(), vectors.pending()) == ((1, 0), [])
    near = [vectors.question_cosines(work.embedder.query(question.text), kept.seq) for question in questions]
    assert [round(cosines[position], 4) for position, cosines in enumerate(near)] == [1.0, 1.0]
    assert [len(cosines) for cosines in near] == [2, 2]


def test_every_memory_gets_vectors_of_it_and_its_passages(work: Work) -> None:
    (long, short), vectors = work.add(LONG, "The gate is shut.")
    passages = work.embedder.passages(LONG)
    assert vectors.counts() == (0, 2)
    counts: list[int] = []
    assert work.finish(vectors, progress=counts.append) == 2
    assert len(passages) == 4
    assert work.embedder.embedded == [LONG, *passages, short.content]
    assert (counts, vectors.counts()) == ([2], (2, 0))
    assert vectors.final_vectors(long.content_hash) == [work.embedder.query(part) for part in (LONG, *passages)]
    assert vectors.final_vectors(short.content_hash) == [work.embedder.query(short.content)]


def test_equal_texts_and_their_passages_are_embedded_once(work: Work) -> None:
    work.store.add(
        [work.make(text, project=f"p/{project}") for text in (LONG, "The gate is shut.") for project in ("one", "two")]
    )
    assert work.finish(work.following()) == 4
    assert len(work.embedder.embedded) == 5 + 1
    _, vectors = work.add(LONG, "The gate is shut.")
    assert work.finish_without_model(vectors) == 0
    assert vectors.counts() == (6, 0)
    query = work.embedder.query("Where is the barge?")
    assert len({round(cosine, 6) for cosine in vectors.cosines(query, [1, 2, 5]).values()}) == 1


DEEP = "The password of the harbour's weather station is kept in the red envelope."


def test_a_sentence_deep_in_a_long_memory_is_found(work: Work) -> None:
    before = " ".join(f"On day {day} the crew painted hull number {day + 3} and greased both winches." for day in range(60))
    (deep, *_), vectors = work.add(
        f"{before} {DEEP} {before}",
        "The weather was bad at the harbour in June.",
        "A red flag is hoisted when bathing is forbidden.",
        *(f"Envelope number {number} goes to the accountant." for number in range(30)),
    )
    work.finish(vectors)
    query = work.embedder.query("Where do we keep the weather station's password?")
    assert vectors.nearest(query, 5, None)[0][1] == deep.seq
    wholes = {memory.seq: vectors.final_vectors(memory.content_hash)[0] for memory in work.store.all(("active",))}
    by_wholes = sorted(wholes, key=lambda seq: -cosine(query, wholes[seq]))
    assert by_wholes.index(deep.seq) > 10


def test_it_ends_when_the_vectors_are_removed_or_not_wanted(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catch_up, "GROUP_TEXTS", 2)
    monkeypatch.setattr(catch_up, "QUIET_TEXTS", 2)
    _, vectors = work.add(*(f"Pier {number} is closed." for number in range(5)))
    wanted = [True]
    done = work.finish(vectors, BACKGROUND, progress=lambda _: wanted.clear(), is_wanted=lambda: bool(wanted))
    assert (done, vectors.counts()) == (2, (2, 3))
    assert work.finish(vectors, progress=lambda _: VectorStore.remove(work.home, SPACE.name)) == 2
    assert len(work.embedder.embedded) == 4


def test_a_memory_edited_meanwhile_gets_its_new_vector(work: Work) -> None:
    (memory,), vectors = work.add("The gate is shut.")

    def edit() -> None:
        work.embedder.meanwhile = lambda: None
        work.store.modify([memory.id], lambda stored: stored.with_changes(content="The gate is open."))
        work.following()

    work.embedder.meanwhile = edit
    work.finish(vectors)
    assert vectors.counts() == (1, 0)
    edited = work.store.get(memory.id).content_hash
    assert vectors.final_vectors(edited) == [work.embedder.query("The gate is open.")]
    assert vectors.final_vectors(memory.content_hash) == []


def test_a_purged_memory_gets_no_vector(work: Work) -> None:
    (memory, _), vectors = work.add("The gate is shut.", "It opens at six.")

    def purge() -> None:
        work.store.purge([memory.id])
        work.following()

    work.embedder.meanwhile = purge
    assert work.finish(vectors) == 1
    assert vectors.counts() == (1, 0)
    assert vectors.final_vectors(memory.content_hash) == []
    (beyond,), vectors = work.add("The pier is closed.")
    work.store.purge([beyond.id])  # the vectors have not followed yet
    assert work.finish_without_model(vectors) == 0


def test_a_memory_stored_meanwhile_is_embedded_by_the_holder(work: Work) -> None:
    _, vectors = work.add("The gate is shut.")

    def another_comes() -> None:
        work.embedder.meanwhile = lambda: None
        _, followed = work.add("It opens at six.")
        with pytest.raises(StoreBusy):
            work.finish_without_model(followed, IMPATIENT)

    work.embedder.meanwhile = another_comes
    assert work.finish(vectors, BACKGROUND) == 2


def test_a_refused_text_does_not_stop_the_others(home: Home, store: Store, make: Maker, reads_on: Space) -> None:
    good = [make(f"Pier {number} is closed.") for number in range(3)]
    store.add([good[0], make("quay " * 700), *good[1:]])
    encode = models.provisional_encoder(reads_on)
    with vector_store.open_following(home, store, reads_on.name, reads_on.dimension, encode, made_by=("", "")) as vectors:
        assert embed_pending(home, store, vectors, reads_on, lambda: DocumentEmbedder(reads_on)) == 4
        assert vectors.counts() == (4, 0)
        assert vectors.final_vectors(store.by_seqs([2])[2].content_hash) == [bytes(reads_on.dimension)]  # and no passages
        hits = vectors.nearest(DocumentEmbedder(reads_on).query("Which piers are closed?"), 9, None)
    assert sorted(seq for _, seq in hits) == [1, 3, 4]
    assert f"texts that {reads_on.model} refused: 1; they are found by words alone" in Path(log.log_path(home)).read_text()


KILLED = """
import os, sys
from subcog_hooks.embed import catch_up, models, neural_encoder
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.core.paths import Home

catch_up.GROUP_TEXTS = 4
space, home, left = models.PACKAGED, Home.find(), int(sys.argv[2])


class Logged(neural_encoder.DocumentEmbedder):
    __slots__ = ()

    def embed(self, texts):
        global left
        if not left:
            os.kill(os.getpid(), 9)
        left -= 1
        made = list(super().embed(texts))
        with open(sys.argv[1], "a") as log:
            log.writelines(text + "\\n" for text in texts)
        return iter(made)


with Store.reader(home) as store, VectorStore.writer(home, space.name, space.dimension) as vectors:
    catch_up.embed_pending(home, store, vectors, space, lambda: Logged(space))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")
def test_killed_half_way_and_run_again_nothing_is_embedded_twice(work: Work, tmp_path: Path) -> None:
    texts = [f"Pier {number} is closed." for number in range(16)]
    texts += [f"Pier {number} is closed for the winter. " * 20 for number in range(4)]
    _, vectors = work.add(*texts)
    log = tmp_path / "embedded"

    def run(groups: int) -> int:
        command = [sys.executable, "-c", KILLED, str(log), str(groups)]
        return subprocess.run(command, cwd=Path(__file__).parents[2], timeout=60, check=False).returncode

    assert run(3) == -signal.SIGKILL
    assert vectors.counts() == (12, 8)
    assert run(99) == 0
    assert vectors.counts() == (20, 0)
    parts = [part for text in texts for part in (text, *work.embedder.passages(text))]
    assert len(parts) > 26
    assert sorted(log.read_text().splitlines()) == sorted(parts)
