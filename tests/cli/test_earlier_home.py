"""A home that commit bdd7c3c made opens with nothing lost; a store from before it is refused, and stays as it is.

The dumps are of a home of that commit: four memories imported, eleven typed, one forgotten, one purged, one marked as wrong,
one question learned, and three prompts.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.cues import triggers
from subcog_hooks.store import recorded_decisions, sessions, state_values
from subcog_hooks.store.schema import SCHEMA
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.cli.conftest import Ask, Run
from tests.hook.conftest import follow

DUMPS = Path(__file__).parents[1] / "data" / "earlier_home"
QUESTION = "How do we rotate the signing keys of the release service?"
Rows = dict[str, list[tuple[object, ...]]]


@pytest.fixture
def earlier(home: Home) -> Home:
    """Return the home as commit bdd7c3c left it, without its caches."""
    home.create()
    for path in (home.memories_db, home.state_db):
        script = (DUMPS / Path(path).name).with_suffix(".sql").read_text(encoding="utf-8")
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
    return home


def read_rows(path: str) -> Rows:
    """Return all rows of a database by table."""
    with closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def read_version(path: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_its_store_opens_as_it_is(earlier: Home) -> None:
    before = read_rows(earlier.memories_db)
    with Store.writer(earlier) as store:
        assert store.problems() == []
        assert store.counts() == {"active": 13, "superseded": 1, "deleted": 1}
        vault = store.get("1m8ajrxey4wt6h")
        assert [(mark.seq, mark.decision) for mark in store.marks([vault.seq])] == [(vault.seq, "1m8ajrzcxfe2xp")]
        text = "do a force push"
        assert [trigger.pattern for trigger in store.triggers(triggers.keys_in_text(text), ("user",), text)] == ["force push"]
        assert (vault.trust, store.get("push").standing, store.get("branch").when) == ("agent", True, {"branch": "release"})
        store.rebuild_cues()
    after = read_rows(earlier.memories_db)
    assert len(before["memories"]) == 15
    for name in ("memories", "marks", "purged", "purged_sections", "audiences", "path_globs", "mentions"):
        assert after[name] == before[name], name
    assert [row[1:] for row in after["triggers"]] == [row[1:] for row in before["triggers"]]


def test_its_export_is_what_it_exported(earlier: Home, subcog: Run) -> None:
    assert subcog("export").out == (DUMPS / "export.jsonl").read_text(encoding="utf-8")


def test_its_state_loses_nothing(earlier: Home) -> None:
    before = read_rows(earlier.state_db)
    state = State.open(earlier, 1_000)
    assert sessions.find_given(state, "s1") == {"1m8ajrxey4wt6h", "keys", "push"}
    assert [decision.prompt for decision in recorded_decisions.find_latest(state, 1)] == ["Please do a force push to main now"]
    session = sessions.find_session(state, "s1")
    assert session is not None
    assert (session.project, session.prompts) == ("git.example.com/acme/shop", 2)
    assert state_values.find_flags(state) == {"calm": True}
    state.close()
    after = read_rows(earlier.state_db)
    assert before.pop("suggestions") == []  # it is another table now
    assert {name: after[name] for name in before} == before
    assert {name: after[name] for name in after.keys() - before.keys()} == {"lessons": [], "pointers": []}


def test_its_hook_answers(earlier: Home, ask: Ask) -> None:
    with Store.writer(earlier) as store:
        follow(earlier, store)
    assert ask(QUESTION, "s1") == []  # the ledger knows the memory
    assert ask(QUESTION, "later") == ["keys"]
    assert ask("Please do a force push to main now", "later") == ["push"]


def test_a_store_from_before_it_is_refused_and_stays(earlier: Home, subcog: Run) -> None:
    with closing(sqlite3.connect(earlier.memories_db)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA.version - 1}")
    before = Path(earlier.memories_db).read_bytes()
    for command in (("export",), ("search", "keys"), ("remember", "The vault is opened at nine."), ("init",)):
        done = subcog(*command)
        assert done.code == 3, command
        assert done.err == (
            f"subcog: {earlier.memories_db} is of a version before 0.1.0; run `subcog export` with the version that wrote it, "
            "move it away, then import the export here\n"
        )
    assert "run `subcog export`" in subcog("doctor").out
    assert Path(earlier.memories_db).read_bytes() == before
