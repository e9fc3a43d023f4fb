"""Stores of an earlier version: read without cues, upgraded to what writing would have derived, whatever they took."""

from collections.abc import Callable

import apsw
import pytest

from subcog_hooks.errors import InvalidMemory, StoreError
from subcog_hooks.memory import cue_tables
from subcog_hooks.memory.schema import SCHEMA
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from tests.conftest import Maker
from tests.memory.cued import ALL_WAYS, SHOP, TABLES, contents, everything, triggered, unkeyed, ways_to


def make_older(home: Home, version: int = 2) -> None:
    """Take from a store what later versions have brought."""
    connection = apsw.Connection(home.memories_db)
    connection.execute("DROP TRIGGER changed_cues; DROP TRIGGER purged_cues")
    connection.execute("DROP INDEX memories_conditional; DROP INDEX memories_pinned; DROP INDEX memories_standing")
    connection.execute("DROP INDEX memories_pending")
    connection.execute("DROP TABLE purged_sections")
    for table in TABLES:
        connection.execute(f"DROP TABLE {table}")
    connection.execute("ALTER TABLE memories DROP COLUMN standing")
    connection.execute("ALTER TABLE memories DROP COLUMN questions")
    if version < 2:
        connection.execute("DROP TRIGGER forgotten_marks; DROP TRIGGER purged_marks; DROP TABLE marks")
    connection.pragma("user_version", version)
    connection.close()


def put_raw(home: Home, id_: str, column: str, value: str) -> None:
    """Write what an earlier version took."""
    connection = apsw.Connection(home.memories_db)
    connection.execute(f"UPDATE memories SET {column} = ? WHERE id = ?", (value, id_))
    connection.close()


def version(home: Home) -> object:
    connection = apsw.Connection(home.memories_db, flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.pragma("user_version")
    connection.close()
    return found


@pytest.mark.parametrize("earlier", [1, 2])
def test_an_earlier_store_is_read_and_finds_nothing_by_cues(home: Home, make: Maker, earlier: int) -> None:
    with Store.writer(home) as store:
        memory = store.add([everything(make), make(id="pin", priority=99)])[0]
    make_older(home, earlier)
    with Store.reader(home) as reader:
        assert reader.get(memory.id).triggers == memory.triggers
        assert (ways_to(reader), reader.pinned(SHOP, 9)) == ([], [])
        with Store.writer(home):
            assert ways_to(reader) == ALL_WAYS  # what it sees from then on
            assert [pin.id for pin in reader.pinned(SHOP, 9)] == ["pin"]
    assert version(home) == len(SCHEMA.migrations)


def test_upgrading_derives_what_writing_would_have(home: Home, make: Maker) -> None:
    with Store.writer(home) as store:
        store.add(
            [
                everything(make),
                everything(make, project="shop", priority=7),
                everything(make, status="archived"),
                make("plain"),
                make(triggers=("anchor|buoy", unkeyed(1)), paths=("src/**", "**")),
            ]
        )
        written = contents(store)
    make_older(home)
    with Store.writer(home) as store:
        assert contents(store) == written
        assert store.problems() == []


def test_an_upgrade_that_is_stopped_leaves_the_store_as_it_was(
    home: Home, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.writer(home) as store:
        memory = store.add([everything(make), *(everything(make, triggers=()) for _ in range(20))])[0]
    make_older(home)
    put_globs: Callable[..., None] = cue_tables._put_globs
    done: list[int] = []

    def stops(connection: apsw.Connection, seq: int, *rest: object) -> None:
        done.append(seq)
        if len(done) == 10:
            raise KeyboardInterrupt
        put_globs(connection, seq, *rest)

    monkeypatch.setattr(cue_tables, "_put_globs", stops)
    with pytest.raises(KeyboardInterrupt):
        Store.writer(home)
    assert version(home) == 2
    with Store.reader(home) as reader:
        assert (reader.get(memory.id).content, ways_to(reader)) == (memory.content, [])
        with pytest.raises(StoreError, match="no such table"):
            reader._run("SELECT * FROM mentions", ())
    monkeypatch.undo()
    with Store.writer(home) as store:
        assert ways_to(store) == ALL_WAYS


ODD = [
    ("triggers", '["harbour*|", "swordfish"]', ["swordfish"]),
    ("triggers", '["(?=x)", "[", "swordfish"]', ["swordfish"]),
    ("triggers", f'["{"x" * 900}", "swordfish"]', ["swordfish"]),
    ("triggers", '[1, null, ["x"], {}, "swordfish"]', ["swordfish"]),
    ("triggers", r'["\ud800a", "swordfish"]', ["swordfish"]),
    ("paths", r'["\ud800a", ["x"], "", "x/../y"]', []),
    ("triggers", "no JSON", []),
    ("triggers", '{"swordfish": 1}', []),
]


@pytest.mark.parametrize(("column", "value", "found"), ODD)
def test_a_trigger_that_is_taken_no_more_finds_nothing_and_keeps_no_store_from_being_upgraded(
    home: Home, make: Maker, column: str, value: str, found: list[str]
) -> None:
    with Store.writer(home) as store:
        store.add([make(id="odd"), make(triggers=("anchor",))])
    make_older(home)
    put_raw(home, "odd", column, value)
    with Store.writer(home) as store:
        assert triggered(store, "harbour, anchor, swordfish " + "x" * 900) == ["anchor", *found]
        assert sum(store.counts().values()) == 2


def test_a_text_that_is_no_utf8_keeps_no_store_from_being_upgraded(home: Home, make: Maker) -> None:
    with Store.writer(home) as store:
        store.add([make("parse_args and more", id="odd"), make("parse_args", id="sound")])
    make_older(home)
    connection = apsw.Connection(home.memories_db)
    connection.execute("UPDATE memories SET content = CAST(content || x'ff20' AS TEXT) WHERE id = 'odd'")
    connection.close()
    with Store.writer(home) as store:
        assert store.mentioning(["parse_args"], SHOP, 9) == {"parse_args": [2, 1]}


@pytest.fixture
def odd(home: Home, make: Maker) -> Store:
    """A store of an earlier version, upgraded, with a memory whose triggers, paths and conditions are taken no more."""
    with Store.writer(home) as store:
        store.add([make("parse_args", id="odd", triggers=("swordfish",), when={"n": 1})])
    make_older(home)
    put_raw(home, "odd", "triggers", '["harbour*|", "swordfish"]')
    put_raw(home, "odd", "paths", r'["src\\db", "*.fish"]')
    put_raw(home, "odd", "conditions", '{"branch": 7, "platform": "amiga"}')
    return Store.writer(home)


def test_what_is_taken_no_more_does_not_keep_a_memory_from_being_changed(odd: Store) -> None:
    with odd:
        before = odd.get("odd")
        odd.modify(["odd"], lambda memory: memory.replaced(tags=("new",), status="archived"))
        odd.modify(["odd"], lambda memory: memory.replaced(status="active"))
        odd.update([odd.get("odd").replaced(content="swordfish_code")])
        after = odd.get("odd")
        assert (after.triggers, after.paths, after.when) == (before.triggers, before.paths, before.when)
        assert ways_to(odd) == ALL_WAYS
        assert triggered(odd, "harbour, swordfish") == ["swordfish"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"triggers": ("harbour*|", "(")}, "triggers has '('"),
        ({"paths": (r"src\db", r"other\one")}, "paths has"),
        ({"when": {"branch": 7, "platform": "atari"}}, "when has 'branch'"),
    ],
)
def test_what_comes_new_is_checked(odd: Store, changes: dict[str, object], said: str) -> None:
    with odd, pytest.raises(InvalidMemory) as raised:
        odd.modify(["odd"], lambda memory: memory.replaced(**changes))
    assert said in str(raised.value)


def test_of_too_many_triggers_without_a_literal_those_of_the_highest_priority_are_kept(home: Home, make: Maker) -> None:
    with Store.writer(home) as store:
        store.add([make(id=f"m{number}", triggers=("swordfish",), priority=number) for number in range(60)])
    make_older(home)
    for number in range(60):
        put_raw(home, f"m{number}", "triggers", f'["\\\\d{{{number + 2}}}"]')
    with Store.writer(home) as store:
        assert triggered(store, "") == [unkeyed(number) for number in range(59, 9, -1)]
        store.modify(["m3"], lambda memory: memory.replaced(content="changed"))
        assert store.get("m3").triggers == (unkeyed(3),)
        assert unkeyed(3) not in triggered(store, "")
        with pytest.raises(InvalidMemory, match="of that kind already"):
            store.add([make(triggers=(r"\w\W",))])
