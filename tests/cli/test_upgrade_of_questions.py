"""A store of the version before memories had questions: until a command upgrades it a hook reads it, and nothing is lost."""

import json

import pytest

from subcog_hooks import database
from subcog_hooks.errors import StoreTooNew
from subcog_hooks.memory.model import AnsweredQuestion
from subcog_hooks.memory.schema import QUESTIONS_SINCE, SCHEMA
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from tests.cli.conftest import Ask, Run
from tests.conftest import Maker
from tests.hooks.conftest import follow

QUESTION = "How do we rotate the signing keys of the release service?"
KEYS = "The signing keys of the release service are rotated every quarter, with the steps of the runbook for the vault."
OTHER = "who renews the certificates of the build farm?"
BEFORE = database.Schema(SCHEMA.migrations[: QUESTIONS_SINCE - 1], SCHEMA.synchronous, then=SCHEMA.then)


@pytest.fixture
def old(home: Home, make: Maker) -> str:
    """A store of that version, with its caches."""
    home.create()
    with Store(database.open_writer(home.memories_db, BEFORE, 1_000), home.memories_db) as store:
        store.add(
            [make(KEYS, id="keys", tags=("vault",), triggers=("rotate now",)), make("Old.", id="old", status="superseded")]
        )
        store.add([make(f"Notes on cargo number {i} and its papers.") for i in range(50)])
        follow(home, store)
    return home.memories_db


def version(path: str) -> object:
    connection = database.open_reader(path, SCHEMA, 1_000)
    found = connection.pragma("user_version")
    connection.close()
    return found


def fields(subcog: Run) -> list[object]:
    """All that is exported but when it was last changed."""
    exported = [json.loads(line) for line in subcog("export").out.splitlines()]
    assert len(exported) == 52
    return [{name: value for name, value in row.items() if name != "updated_at"} for row in exported]


def test_a_hook_reads_it_and_leaves_it_as_it_is(old: str, ask: Ask, subcog: Run) -> None:
    assert ask(QUESTION) == ["keys"]
    assert "keys" in subcog("search", "signing keys").out
    assert "questions" not in subcog("show", "keys").out
    assert version(old) == QUESTIONS_SINCE - 1


@pytest.mark.parametrize("command", [("doctor",), ("edit", "keys", "--question", OTHER)])
def test_a_command_upgrades_it_and_nothing_is_lost(old: str, ask: Ask, subcog: Run, command: tuple[str, ...]) -> None:
    before = fields(subcog)
    assert subcog(*command).code == 0
    assert version(old) == len(SCHEMA.migrations)
    subcog("edit", "keys", "--no-questions")
    assert fields(subcog) == before
    assert ask(QUESTION) == ["keys"]


def test_a_reader_of_the_old_store_goes_on_while_it_is_upgraded(old: str, home: Home) -> None:
    with Store.reader(home) as reader, Store.writer(home) as writer:
        writer.update([writer.get("keys").replaced(questions=(AnsweredQuestion(OTHER),))])
        assert (reader.get("keys").content, reader.get("keys").questions) == (KEYS, ())
        with Store.reader(home) as newer:
            assert newer.get("keys").questions == (AnsweredQuestion(OTHER),)
    assert version(old) == len(SCHEMA.migrations)


def test_the_version_before_refuses_the_newer_store_with_one_line(old: str, subcog: Run) -> None:
    subcog("edit", "keys", "--question", OTHER)
    with pytest.raises(StoreTooNew, match="was written by a later version of subcog; upgrade subcog"):
        database.open_reader(old, BEFORE, 1_000)
