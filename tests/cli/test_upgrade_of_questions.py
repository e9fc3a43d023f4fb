"""A store of the version before memories had questions: until a command upgrades it a hook reads it, and nothing is lost."""

import json

import pytest
import tantivy

from subcog_hooks import database
from subcog_hooks.errors import StoreTooNew
from subcog_hooks.memory import index
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


def schema_before() -> tantivy.Schema:
    """The fields of the index before there were questions."""
    builder = tantivy.SchemaBuilder()
    for name in ("seq", "created", "expires"):
        builder.add_integer_field(name, indexed=True, fast=True)
    for name, tokenizer in (
        ("body", "subcog_body"),
        ("exact", "subcog_exact"),
        ("cjk", "whitespace"),
        ("labels", "subcog_body"),
    ):
        builder.add_text_field(name, tokenizer_name=tokenizer)
    for name in ("audience", "status", "namespace", "tag", "label", "short", "spelled_out"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    return builder.build()


@pytest.fixture
def old(home: Home, make: Maker, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of that version, with its caches."""
    home.create()
    with (
        monkeypatch.context() as before,
        Store(database.open_writer(home.memories_db, BEFORE, 1_000), home.memories_db) as store,
    ):
        before.setattr(index, "INDEX_FORMAT", 3)
        before.setattr(index, "_schema", schema_before)
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


def test_a_hook_reads_its_index_until_a_command_rebuilds_it(old: str, ask: Ask, subcog: Run, home: Home) -> None:
    opened = index.LexicalIndex.open(home)
    assert (opened.is_current, opened.most_questions) == (False, 0)
    opened.check()
    assert ask(QUESTION) == ["keys"]
    subcog("edit", "keys", "--question", OTHER)
    rebuilt = index.LexicalIndex.open(home)
    assert (rebuilt.is_current, rebuilt.most_questions, rebuilt.documents) == (True, 1, 52)
    assert ask("Who renews the certificates of the build farm?", "another") == ["keys"]
    assert version(old) == len(SCHEMA.migrations)


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
