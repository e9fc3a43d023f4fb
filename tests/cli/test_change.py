"""`edit` says what it changes, `forget` what is forgotten already, and nothing of a purged memory stays in any file."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store import vector_store
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from tests.cli.conftest import MonkeyPatch, Run
from tests.store.letters import DIMENSION, MADE_BY, SPACE, encode, finals

TEXT = "The master key of the sluice lies under the third stone."


@pytest.fixture
def secret(subcog: Run, home: Home) -> str:
    """Return the id of a memory with final vectors in the packaged space and in an unused space."""
    id_ = subcog("remember", TEXT).out.strip()
    subcog("remember", "The gate is shut at night.")
    subcog("doctor", "--fix")
    with (
        Store.reader(home) as store,
        vector_store.open_following(home, store, SPACE, DIMENSION, encode, made_by=MADE_BY) as unused,
    ):
        memories = store.by_seqs([unused.seq_of(key) for key, _ in unused.pending()])
        pending = unused.pending()
        unused.finish((key, hash_, finals(memories[unused.seq_of(key)].content)) for key, hash_ in pending)
    return id_


def vectors_of(home: Home, id_: str) -> list[bytes]:
    """Return a memory's vectors in all spaces, with its passages' vectors."""
    with Store.reader(home) as store:
        content_hash = store.get(id_).content_hash
    vectors = []
    for space, dimension in ((PACKAGED.name, PACKAGED.dimension), (SPACE, DIMENSION)):
        with VectorStore.reader(home, space, dimension) as opened:
            vectors += opened.final_vectors(content_hash)
    return vectors


def bytes_of(home: Home) -> bytes:
    return b"".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())


def test_a_purge_removes_the_vectors_in_every_space(subcog: Run, home: Home, secret: str) -> None:
    made = vectors_of(home, secret)
    assert len(made) > 2
    assert all(vector in bytes_of(home) for vector in made)
    with VectorStore.reader(home, SPACE, DIMENSION):  # another process has it open, and reads nothing
        done = subcog("forget", secret, "--purge", "--yes")
        assert (done.code, done.err) == (0, f"purged: {secret} {TEXT}\n")
        left = bytes_of(home)
    assert not any(vector in left for vector in made)
    assert TEXT.encode() not in left
    assert subcog("doctor").code == 0


def test_a_purge_works_while_another_process_reads_the_store(
    subcog: Run, home: Home, secret: str, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_store, "LOCK_WAIT_MS", 20)
    made = vectors_of(home, secret)
    with ProcessLock(vector_store.lock_path(home, PACKAGED.name), 0, "following"):
        assert subcog("forget", secret, "--purge", "--yes").code == 0
        assert not any(vector in bytes_of(home) for vector in made)


def test_edit_says_each_field_that_it_changed(subcog: Run) -> None:
    id_ = subcog("remember", TEXT, "--tag", "locks").out.strip()
    for arguments, lines in (
        (("--tag", "locks", "--tag", "keys"), ["  tags: locks, keys (before: locks)"]),
        (("--tag", "locks", "--tag", "keys"), ["nothing changed"]),
        (
            ("--path", "sluice/**", "--when", "branch=main"),
            ["  path: sluice/** (before: none)", "  when: branch=main (before: none)"],
        ),
        (
            ("--content", "The key hangs on its hook.", "--standing"),
            ["  standing: yes (before: none)", "  text: The key hangs on its hook."],
        ),
        (("--status", "archived"), ["  status: archived (before: active)"]),
    ):
        done = subcog("edit", id_, *arguments)
        assert (done.code, done.err.splitlines()) == (0, lines)


def test_forget_names_what_is_forgotten_already(subcog: Run) -> None:
    id_ = subcog("remember", TEXT).out.strip()
    assert [subcog("forget", id_).err for _ in range(2)] == [f"forgotten: {id_} {TEXT}\n", f"already forgotten: {id_} {TEXT}\n"]
