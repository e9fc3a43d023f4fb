"""Pending vectors become final: once for each text, by one process at a time, and a kill loses one group."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from subcog_hooks.core import log
from subcog_hooks.core.errors import ModelError, StoreBusy
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import catch_up, spaces
from subcog_hooks.embed.catch_up import BACKGROUND, FOREGROUND, Patience, embed_pending
from subcog_hooks.embed.documents import DocumentEmbedder
from subcog_hooks.embed.space import Space
from subcog_hooks.store import vector_sync
from subcog_hooks.store.lock import ProcessLock
from subcog_hooks.store.memory import MAX_QUESTION, AnsweredQuestion
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import Maker
from tests.embed.conftest import SPACE, Counting, Open

IMPATIENT = Patience(0, is_urgent=False)


def finish(home: Home, store: Store, vectors: VectorStore, embedder: Counting, patience: Patience = FOREGROUND) -> int:
    return embed_pending(home, store, vectors, SPACE, lambda: embedder, patience)


def not_wanted() -> NoReturn:
    pytest.fail("the model was loaded")


def test_every_memory_gets_the_models_vector(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    memories = [make(f"Pier {number} is closed.") for number in range(5)]
    store.add(memories)
    vectors = following()
    assert vectors.counts() == (0, 5)
    assert finish(home, store, vectors, embedder) == 5
    assert vectors.counts() == (5, 0)
    assert [vectors.final_vectors(memory.content_hash) for memory in memories] == [
        [embedder.query(memory.content)] for memory in memories
    ]


def test_a_question_is_embedded_by_itself_and_never_in_passages(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    long = "a," * (MAX_QUESTION // 2)  # more tokens than a passage has
    memory = make("Pier 3 is closed.", questions=(AnsweredQuestion("may ships moor there"), AnsweredQuestion(long)))
    (kept,) = store.add([memory])
    vectors = following()
    assert finish(home, store, vectors, embedder) == 3
    assert (vectors.counts(), vectors.pending()) == ((1, 0), [])
    near = [vectors.question_cosines(embedder.query(text), kept.seq) for text in ("may ships moor there", long)]
    assert [round(cosines[position], 4) for position, cosines in enumerate(near)] == [1.0, 1.0]
    assert [len(cosines) for cosines in near] == [2, 2]


def test_progress_is_told_of_every_group(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "GROUP_TEXTS", 2)
    store.add([make(f"Pier {number} is closed.") for number in range(5)])
    counts: list[int] = []
    embed_pending(home, store, following(), SPACE, lambda: embedder, progress=counts.append)
    assert counts == [2, 2, 1]


def test_long_texts_come_in_smaller_groups(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "GROUP_CHARACTERS", 10_000)
    store.add([make(f"{number} " + "quay " * 400) for number in range(5)])
    counts: list[int] = []
    embed_pending(home, store, following(), SPACE, lambda: embedder, progress=counts.append)
    assert counts == [3, 2]


def test_a_long_memory_gets_its_passages_vectors_with_its_own(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    text = "The dredging barge is moored at pier 7 from November on. " * 20
    long, short = make(text), make("The gate is shut.")
    store.add([long, short])
    vectors = following()
    counts: list[int] = []
    assert embed_pending(home, store, vectors, SPACE, lambda: embedder, progress=counts.append) == 2
    passages = embedder.passages(text)
    assert len(passages) == 4
    assert embedder.embedded == [text, *passages, short.content]
    assert (counts, vectors.counts()) == ([2], (2, 0))
    assert vectors.final_vectors(long.content_hash) == [embedder.query(part) for part in (text, *passages)]
    assert vectors.final_vectors(short.content_hash) == [embedder.query(short.content)]


def test_equal_long_texts_and_their_passages_are_embedded_once(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    text = "The dredging barge is moored at pier 7 from November on. " * 20
    store.add([make(text, project="p/one"), make(text, project="p/two")])
    assert finish(home, store, following(), embedder) == 2
    third = make(text)
    store.add([third])
    vectors = following()
    assert embed_pending(home, store, vectors, SPACE, not_wanted) == 0
    assert (vectors.counts(), len(embedder.embedded)) == ((3, 0), 5)
    query = embedder.query("Where is the barge?")
    assert len({round(cosine, 6) for cosine in vectors.cosines(query, [1, 2, 3]).values()}) == 1


DEEP = "The password of the harbour's weather station is kept in the red envelope."


def test_a_sentence_deep_in_a_long_memory_is_found(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    before = " ".join(f"On day {day} the crew painted hull number {day + 3} and greased both winches." for day in range(60))
    deep = make(f"{before} {DEEP} {before}")
    others = [
        make("The weather was bad at the harbour in June."),
        make("A red flag is hoisted when bathing is forbidden."),
        *(make(f"Envelope number {number} goes to the accountant.") for number in range(30)),
    ]
    store.add([*others, deep])
    vectors = following()
    finish(home, store, vectors, embedder)
    query = embedder.query("Where do we keep the weather station's password?")
    assert vectors.nearest(query, 5, None)[0][1] == deep.seq
    wholes = {memory.seq: vectors.final_vectors(memory.content_hash)[0] for memory in store.all(("active",))}
    by_wholes = sorted(wholes, key=lambda seq: -cosine(query, wholes[seq]))
    assert by_wholes.index(deep.seq) > 10


def cosine(first: bytes, second: bytes) -> float:
    a, b = (np.frombuffer(vector, np.int8).astype(float) for vector in (first, second))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_it_ends_when_the_vectors_are_removed_under_it(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "GROUP_TEXTS", 2)
    store.add([make(f"Pier {number} is closed.") for number in range(5)])
    vectors = following()
    done = embed_pending(home, store, vectors, SPACE, lambda: embedder, progress=lambda _: VectorStore.remove(home, SPACE.name))
    assert (done, len(embedder.embedded)) == (2, 2)


def test_equal_texts_are_embedded_once(home: Home, store: Store, make: Maker, following: Open, embedder: Counting) -> None:
    store.add(
        [make("The gate is shut.", project="p/one"), make("The gate is shut.", project="p/two"), make("It opens at six.")]
    )
    assert finish(home, store, following(), embedder) == 3
    assert sorted(embedder.embedded) == ["It opens at six.", "The gate is shut."]


def test_a_text_that_was_embedded_before_is_not_embedded_again(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    store.add([make("The gate is shut.")])
    finish(home, store, following(), embedder)
    store.add([make("The gate is shut.", project="p/two")])
    vectors = following()
    assert embed_pending(home, store, vectors, SPACE, not_wanted) == 0
    assert vectors.counts() == (2, 0)


def test_a_memory_edited_meanwhile_gets_its_new_vector(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    memory = make("The gate is shut.")
    store.add([memory])
    vectors = following()

    def edit() -> None:
        embedder.meanwhile = lambda: None
        store.modify([memory.id], lambda stored: stored.with_changes(content="The gate is open."))
        following()

    embedder.meanwhile = edit
    finish(home, store, vectors, embedder)
    assert vectors.counts() == (1, 0)
    assert vectors.final_vectors(store.get(memory.id).content_hash) == [embedder.query("The gate is open.")]
    assert vectors.final_vectors(memory.content_hash) == []


def test_a_memory_that_is_purged_meanwhile_gets_no_vector(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    memory = make("The gate is shut.")
    store.add([memory, make("It opens at six.")])
    vectors = following()

    def purge() -> None:
        store.purge([memory.id])
        following()

    embedder.meanwhile = purge
    assert finish(home, store, vectors, embedder) == 1
    assert vectors.counts() == (1, 0)
    assert vectors.final_vectors(memory.content_hash) == []


def test_memories_beyond_the_vectors_revision_wait(home: Home, store: Store, make: Maker, following: Open) -> None:
    memory = make("The gate is shut.")
    store.add([memory])
    vectors = following()
    store.purge([memory.id])
    assert embed_pending(home, store, vectors, SPACE, not_wanted) == 0


def test_a_memory_stored_meanwhile_is_embedded_by_the_holder(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    store.add([make("The gate is shut.")])
    vectors = following()

    def another_comes() -> None:
        embedder.meanwhile = lambda: None
        store.add([make("It opens at six.")])
        with pytest.raises(StoreBusy):
            embed_pending(home, store, following(), SPACE, not_wanted, IMPATIENT)

    embedder.meanwhile = another_comes
    assert finish(home, store, vectors, embedder, BACKGROUND) == 2


def test_the_background_gives_way_to_whoever_waits(home: Home, store: Store, make: Maker, following: Open) -> None:
    store.add([make("The gate is shut.")])
    vectors = following()
    with catch_up.exclusive_work(home, SPACE):
        assert embed_pending(home, store, vectors, SPACE, not_wanted, BACKGROUND) == 0


def test_a_lock_dies_with_its_owner(home: Home, store: Store, make: Maker, following: Open, embedder: Counting) -> None:
    store.add([make("The gate is shut.")])
    vectors = following()
    code = (
        "import sys, os\nfrom subcog_hooks.store.lock import ProcessLock\n"
        "with ProcessLock(sys.argv[1], 0, 'embedding'):\n    os.kill(os.getpid(), 9)\n"
    )
    path = catch_up.lock_of(home, SPACE)
    killed = subprocess.run([sys.executable, "-c", code, path], cwd=Path(__file__).parents[2], check=False)
    assert killed.returncode == -signal.SIGKILL
    with ProcessLock(path, 0, "embedding"):
        pass
    assert finish(home, store, vectors, embedder, IMPATIENT) == 1


def test_a_refused_text_does_not_stop_the_others(home: Home, store: Store, make: Maker, reads_on: Space) -> None:
    good = [make(f"Pier {number} is closed.") for number in range(3)]
    store.add([good[0], make("quay " * 700), *good[1:]])
    encode = spaces.provisional_encoder(reads_on)
    with vector_sync.open_following(home, store, reads_on.name, reads_on.dimension, encode, made_by=("", "")) as vectors:
        assert embed_pending(home, store, vectors, reads_on, lambda: DocumentEmbedder(reads_on)) == 4
        assert vectors.counts() == (4, 0)
        assert vectors.final_vectors(store.by_seqs([2])[2].content_hash) == [bytes(reads_on.dimension)]  # and no passages
        hits = vectors.nearest(DocumentEmbedder(reads_on).query("Which piers are closed?"), 9, None)
    assert sorted(seq for _, seq in hits) == [1, 3, 4]
    assert f"texts that {reads_on.model} refused: 1; they are found by words alone" in Path(log.log_path(home)).read_text()


def test_it_ends_when_it_is_not_wanted_any_more(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "QUIET_TEXTS", 2)
    store.add([make(f"Pier {number} is closed.") for number in range(5)])
    vectors = following()
    wanted = [True]
    done = embed_pending(
        home,
        store,
        vectors,
        SPACE,
        lambda: embedder,
        BACKGROUND,
        progress=lambda _: wanted.clear(),
        is_wanted=lambda: bool(wanted),
    )
    assert (done, vectors.counts()) == (2, (2, 3))


def test_a_model_that_fails_leaves_everything_pending(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting
) -> None:
    store.add([make("The gate is shut.")])
    vectors = following()

    def fail() -> None:
        raise ModelError("it cannot embed")

    embedder.meanwhile = fail
    with pytest.raises(ModelError):
        finish(home, store, vectors, embedder)
    assert vectors.counts() == (0, 1)


KILLED = """
import os, sys
from subcog_hooks.embed import catch_up, documents, models
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.core.paths import Home

catch_up.GROUP_TEXTS = 4
space, home, left = models.PACKAGED, Home.find(), int(sys.argv[2])


class Logged(documents.DocumentEmbedder):
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
def test_killed_half_way_and_run_again_nothing_is_embedded_twice(
    home: Home, store: Store, make: Maker, following: Open, embedder: Counting, tmp_path: Path
) -> None:
    texts = [f"Pier {number} is closed." for number in range(16)]
    texts += [f"Pier {number} is closed for the winter. " * 20 for number in range(4)]
    store.add([make(text) for text in texts])
    vectors = following()
    log = tmp_path / "embedded"

    def run(groups: int) -> int:
        command = [sys.executable, "-c", KILLED, str(log), str(groups)]
        return subprocess.run(command, cwd=Path(__file__).parents[2], timeout=60, check=False).returncode

    assert run(3) == -signal.SIGKILL
    assert vectors.counts() == (12, 8)
    assert run(99) == 0
    assert vectors.counts() == (20, 0)
    parts = [part for text in texts for part in (text, *embedder.passages(text))]
    assert len(parts) > 26
    assert sorted(log.read_text().splitlines()) == sorted(parts)
