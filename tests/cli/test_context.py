"""Commands while another process updates the vectors wait briefly, then go on without."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from subcog_hooks.cli.search_sources import PENDING
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store import vector_store
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from tests.cli.conftest import MonkeyPatch, Run
from tests.conftest import Maker

ROOT = Path(__file__).parents[2]
MINILM = (PACKAGED.name, PACKAGED.dimension)
NOTE = "the newest memories have no vectors yet, and are found by words alone"

FOLLOW = """
import sys
from subcog_hooks.embed import models
from subcog_hooks.store import vector_store
from subcog_hooks.store.store import Store
from subcog_hooks.core.paths import Home

space, home = models.PACKAGED, Home.find()
first = models.provisional_encoder(space)
def slowly(texts):
    print("following", flush=True)
    sys.stdin.readline()
    return first(texts)
with Store.reader(home) as store:
    made_by = models.vector_makers(space)
    vector_store.open_following(home, store, space.name, space.dimension, slowly, made_by=made_by).close()
"""


@contextmanager
def followed_by_another() -> Iterator[subprocess.Popen[str]]:
    """Run another process that updates the vectors; it goes on with each line, and ends with its input."""
    command = [sys.executable, "-c", FOLLOW]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "following\n"
    try:
        yield process
    finally:
        process.communicate(timeout=60)


@pytest.fixture
def behind(subcog: Run, home: Home, make: Maker, monkeypatch: MonkeyPatch) -> Run:
    """A store with one memory that has a vector and one that has none yet."""
    monkeypatch.setattr(vector_store, "LOCK_WAIT_MS", 20)
    assert subcog("remember", "The office cat sleeps on the warm server rack in winter.").code == 0
    with Store.writer(home) as store:
        store.add([make("The sluice is opened at ebb.")])
    return subcog


def test_a_search_notes_a_running_vector_update(behind: Run, home: Home) -> None:
    query = ("search", "where do kittens nap in winter, and is the sluice open?", "--fast", "--json")
    with followed_by_another():
        answer = behind(*query).json
        assert (answer["degraded"], answer["note"]) == (True, NOTE)
        assert {tuple(hit["found_by"]) for hit in answer["results"]} == {("lexical_relaxed", "semantic"), ("lexical_relaxed",)}
        with VectorStore.reader(home, *MINILM) as vectors:
            assert sum(vectors.counts()) == 1
    answer = behind(*query).json
    assert (answer["note"], len(answer["results"])) == (PENDING, 2)


def test_a_running_update_includes_a_memory_stored_meanwhile(behind: Run, home: Home) -> None:
    with followed_by_another():
        done = behind("remember", "The crane is locked in a storm.")
        assert (done.code, done.err) == (0, "kept in learnings, for all your projects; it comes when a prompt is about it\n")
    with VectorStore.reader(home, *MINILM) as vectors, Store.reader(home) as store:
        assert (sum(vectors.counts()), vectors.watermark()) == (3, store.revision())


def test_the_next_command_finishes_a_killed_update(behind: Run, home: Home) -> None:
    with followed_by_another() as follower:
        follower.kill()
        follower.wait()
        answer = behind("search", "sluice", "--fast", "--json").json
    assert answer["note"] == PENDING
    with VectorStore.reader(home, *MINILM) as vectors:
        assert sum(vectors.counts()) == 2


def test_fix_waits_for_a_running_update(behind: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(vector_store, "LONG_WAIT_MS", 30)
    with followed_by_another():
        done = behind("doctor", "--fix")
        assert (done.code, done.err.count("another process has been bringing the vectors up to date for long")) == (3, 1)
    assert behind("doctor", "--fix").err == "embedded 2\n"
