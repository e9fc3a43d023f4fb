"""A store of the version before agents had a trust of their own: nothing is lost, and until it is upgraded a hook reads it."""

import json

import pytest

from subcog_hooks import database
from subcog_hooks.errors import StoreTooNew
from subcog_hooks.memory.schema import AGENTS_SINCE, CUES_SINCE, SCHEMA
from subcog_hooks.memory.store import _FIRST_COLUMNS, Mark, Store
from subcog_hooks.paths import Home
from subcog_hooks.state import flags, ledger
from subcog_hooks.state.connection import State
from tests.cli.conftest import Ask, Run
from tests.conftest import Maker
from tests.hooks.conftest import follow

QUESTION = "How do we rotate the signing keys of the release service?"
KEYS = "The signing keys of the release service are rotated every quarter, with the steps of the runbook for the vault."
COLUMNS = f"{_FIRST_COLUMNS}, revision"  # that the version before had
BEFORE = database.Schema(SCHEMA.migrations[: AGENTS_SINCE - 1], SCHEMA.synchronous, then={CUES_SINCE: SCHEMA.then[CUES_SINCE]})


@pytest.fixture
def old(home: Home, make: Maker) -> str:
    """A store of that version with all that memories can have, as it exports itself."""
    home.create()
    with Store(database.open_writer(home.memories_db, BEFORE, 1_000), home.memories_db) as store:
        rule = make("Ask before a force push.", id="rule", triggers=("force push",), priority=95, when={"branch": "main"})
        store.add(
            [make(KEYS, id="keys", paths=("src/**",), tags=("vault",)), rule, make("Old.", id="old", status="superseded")]
        )
        store.add([make(f"Notes on cargo number {i} and its papers.", trust="team") for i in range(50)])
        store.mark(Mark(store.get("rule").seq, "d1", json.dumps({"push": 1.0}), 1))
        follow(home, store)
    state = State.open(home, 1_000)
    flags.set_to(state, "calm", True)
    ledger.record(state, "earlier", ("keys",), 1, "d1")
    state.close()
    return home.memories_db


def whole(path: str) -> list[tuple[object, ...]]:
    """All rows of the tables that follow from nothing else, and of those that find memories."""
    connection = database.open_reader(path, SCHEMA, 1_000)
    tables = ("memories", "marks", "purged", "revisions", "triggers", "trigger_keys", "path_globs", "mentions", "audiences")
    rows: list[tuple[object, ...]] = [
        (table, *row)
        for table in tables
        for row in connection.execute(f"SELECT {'*' if table != 'memories' else COLUMNS} FROM {table}").fetchall()
    ]
    connection.close()
    return rows


def version(path: str) -> object:
    connection = database.open_reader(path, SCHEMA, 1_000)
    found = connection.pragma("user_version")
    connection.close()
    return found


def test_a_hook_reads_it_and_leaves_it_as_it_is(old: str, ask: Ask, subcog: Run) -> None:
    before = whole(old)
    assert ask(QUESTION) == ["keys"]
    assert "keys" in subcog("search", "signing keys").out
    assert (whole(old), version(old)) == (before, AGENTS_SINCE - 1)


@pytest.mark.parametrize("command", [("init",), ("doctor",)])
def test_a_command_upgrades_it_and_nothing_is_lost(old: str, ask: Ask, subcog: Run, command: tuple[str, ...]) -> None:
    before, exported, flagged = whole(old), subcog("export").out, subcog("state", "get").out
    assert subcog(*command).code == 0
    assert (whole(old), version(old)) == (before, len(SCHEMA.migrations))
    assert (subcog("export").out, subcog("state", "get").out) == (exported, flagged)
    assert ask(QUESTION, "earlier") == []  # the ledger knows it
    assert ask(QUESTION, "later") == ["keys"]


def test_then_an_agent_has_a_trust_of_its_own(old: str, subcog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    id_ = subcog("remember", "The vault is opened at nine.").out.strip()
    assert json.loads(subcog("show", id_, "--json").out)["trust"] == "agent"
    connection = database.open_reader(old, SCHEMA, 1_000)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_the_version_before_refuses_the_newer_store_with_one_line(old: str, subcog: Run) -> None:
    subcog("remember", "The vault is opened at nine.")
    with pytest.raises(StoreTooNew, match="was written by a later version of subcog; upgrade subcog"):
        database.open_reader(old, BEFORE, 1_000)
