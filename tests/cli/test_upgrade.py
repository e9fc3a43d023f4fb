"""A store of the version before: whoever reads goes on with it, the hook too, and the first command that writes upgrades it."""

import threading
from pathlib import Path

import apsw
import pytest

from subcog_hooks import database
from subcog_hooks.errors import StoreError
from subcog_hooks.memory.schema import MARKS_SINCE, SCHEMA
from subcog_hooks.memory.store import Mark, Store
from subcog_hooks.paths import Home
from tests.cli.conftest import Ask, Run
from tests.conftest import Maker
from tests.hooks.conftest import follow

QUESTION = "How do we rotate the signing keys of the release service?"
KEYS = "The signing keys of the release service are rotated every quarter, with the steps of the runbook for the vault."
BEFORE_MARKS = database.Schema(SCHEMA.migrations[: MARKS_SINCE - 1], SCHEMA.synchronous)


@pytest.fixture
def old(home: Home, make: Maker) -> None:
    """A store as it was before there were marks, with a memory that answers QUESTION."""
    home.create()
    with Store(database.open_writer(home.memories_db, BEFORE_MARKS, 1_000), home.memories_db) as store:
        store.add([make(KEYS, id="keys"), *(make(f"Notes on cargo number {i} and its papers.") for i in range(50))])
        follow(home, store)


def version(home: Home) -> int:
    connection = apsw.Connection(home.memories_db, flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.pragma("user_version")
    connection.close()
    assert isinstance(found, int)
    return found


@pytest.mark.usefixtures("old")
def test_it_is_read_and_stays_as_it_is(subcog: Run, ask: Ask, home: Home) -> None:
    before = Path(home.memories_db).read_bytes()
    with Store.reader(home) as store:
        seq = store.get("keys").seq
        assert (store.counts(), store.marks([seq])) == ({"active": 51}, [])
    assert ask(QUESTION) == ["keys"]
    assert "keys" in subcog("search", "signing keys").out
    assert KEYS in subcog("show", "keys").out
    assert "keys" in subcog("why").out
    assert Path(home.memories_db).read_bytes() == before


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(
    "command", [("why", "--bad", "keys"), ("remember", "The vault is opened at nine."), ("doctor",), ("init",)]
)
def test_whatever_writes_upgrades_it(subcog: Run, ask: Ask, home: Home, command: tuple[str, ...]) -> None:
    assert ask(QUESTION, "first") == ["keys"]
    assert subcog(*command).code == 0
    assert version(home) == len(SCHEMA.migrations)
    assert subcog("why", "--bad", "keys").code == 0
    assert ask(QUESTION, "second") == []


@pytest.mark.usefixtures("old")
def test_a_reader_goes_on_while_it_is_upgraded_and_sees_what_comes(home: Home, make: Maker) -> None:
    with Store.reader(home) as reader:
        memories = reader.all(("active",))
        next(memories)
        with Store.writer(home, busy_ms=0) as writer:  # a reader keeps it from nothing
            seq = writer.add([make("Another.", id="another")])[0].seq
            writer.mark(Mark(seq, "decision", "{}", 1))
        assert len(list(memories)) == 50  # of the moment at which it began
        assert [mark.decision for mark in reader.marks([reader.get("another").seq])] == ["decision"]


@pytest.mark.usefixtures("old")
def test_of_several_writers_at_once_one_upgrades_it(home: Home, make: Maker) -> None:
    ready = threading.Barrier(4)
    failures: list[StoreError] = []

    def write(number: int) -> None:
        ready.wait()
        try:
            with Store.writer(home) as store:
                store.add([make(f"Number {number}.", id=f"n{number}")])
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Store.reader(home) as store:
        assert {f"n{number}" for number in range(4)} <= {memory.id for memory in store.all(("active",))}


def test_what_a_reader_can_not_do_without_is_said(home: Home) -> None:
    home.create()
    database.open_writer(home.memories_db, BEFORE_MARKS, 1_000).close()
    with pytest.raises(StoreError, match="is of an earlier version; run `subcog doctor`, which upgrades it"):
        database.open_reader(home.memories_db, database.Schema(SCHEMA.migrations, SCHEMA.synchronous), 1_000)
