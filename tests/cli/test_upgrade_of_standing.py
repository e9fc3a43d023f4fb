"""A store of the version before memories could be standing: a hook reads it, a command upgrades it, and nothing is lost."""

from collections.abc import Sequence

import pytest

from subcog_hooks import database
from subcog_hooks.errors import StoreTooNew
from subcog_hooks.memory.schema import SCHEMA, STANDING_SINCE
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from tests.cli.conftest import Ask, Run
from tests.conftest import Maker
from tests.hooks.conftest import follow

QUESTION = "How do we rotate the signing keys of the release service?"
KEYS = "The signing keys of the release service are rotated every quarter, with the steps of the runbook for the vault."
RULE = "Never push to main without a review."
BEFORE = database.Schema(SCHEMA.migrations[: STANDING_SINCE - 1], SCHEMA.synchronous, then=SCHEMA.then)


@pytest.fixture
def old(home: Home, make: Maker) -> str:
    """A store of that version, where no rule is found by what is about to be done."""
    home.create()
    connection = database.open_writer(home.memories_db, BEFORE, 1_000)
    with Store(connection, home.memories_db) as store:
        store.add([make(KEYS, id="keys", triggers=("rotate now",)), make(RULE, id="rule", project="git.example.com/acme/shop")])
        store.add([make(f"Notes on cargo number {i} and its papers.") for i in range(50)])
        connection.execute("DELETE FROM mentions")
        connection.execute("DELETE FROM audiences WHERE number NOT IN (SELECT audience FROM trigger_keys)")
        follow(home, store)
    return home.memories_db


def state_of(path: str) -> tuple[object, Sequence[tuple[object, ...]]]:
    """The store's version, and what memories are found by."""
    connection = database.open_reader(path, SCHEMA, 1_000)
    found = connection.pragma("user_version"), connection.execute("SELECT name, seq FROM mentions").fetchall()
    connection.close()
    return found


def test_a_hook_reads_it_and_leaves_it_as_it_is(old: str, ask: Ask) -> None:
    assert ask(QUESTION) == ["keys"]
    assert state_of(old) == (STANDING_SINCE - 1, [])


def test_a_command_upgrades_it_and_nothing_is_lost(old: str, ask: Ask, subcog: Run) -> None:
    exported = subcog("export").out
    assert subcog("doctor").code == 0
    assert state_of(old) == (len(SCHEMA.migrations), [("action:push", 2)])
    assert subcog("export").out == exported
    assert ask(QUESTION) == ["keys"]
    assert ask("rotate now, please", "another") == ["keys"]
    assert subcog("edit", "rule", "--no-standing").code == 0
    assert state_of(old)[1] == []


def test_the_version_before_refuses_the_newer_store_with_one_line(old: str, subcog: Run) -> None:
    subcog("remember", "The vault is opened at nine.")
    with pytest.raises(StoreTooNew, match="was written by a later version of subcog; upgrade subcog"):
        database.open_reader(old, BEFORE, 1_000)
