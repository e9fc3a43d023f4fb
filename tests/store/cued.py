"""Helpers for the tests of cues: a memory that is found in every way, the ways to it, and the derived rows."""

from subcog_hooks.cues import globs, triggers
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audiences_of
from tests.conftest import Maker

USER = audiences_of()


SHOP = audiences_of("shop")


TABLES = ("triggers", "trigger_keys", "path_globs", "mentions", "audiences")


def matching_patterns(store: Store, text: str, audiences: tuple[str, ...] = SHOP) -> list[str]:
    """The patterns that may match a text."""
    return [trigger.pattern for trigger in store.triggers(triggers.keys_in_text(text), audiences, text)]


def on_path(store: Store, path: str, audiences: tuple[str, ...] = SHOP) -> list[tuple[int, str]]:
    return store.globs(globs.keys_of_path(path), audiences)


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """The derived rows, without the numbers of triggers."""
    asked = {
        "triggers": "SELECT seq, pattern, priority, required FROM triggers",
        "trigger_keys": "SELECT key, literal, seq, pattern, name FROM trigger_keys JOIN triggers AS t ON t.number = trigger"
        " JOIN audiences AS a ON a.number = audience",
        "path_globs": "SELECT key, name, seq, glob FROM path_globs JOIN audiences ON number = audience",
        "mentions": "SELECT m.name, a.name, seq FROM mentions AS m JOIN audiences AS a ON number = audience",
    }
    derived: dict[str, list[tuple[object, ...]]] = {
        table: sorted(store._connection.execute(sql).fetchall(), key=repr) for table, sql in asked.items()
    }
    derived["keys"] = [(store._connection.execute("SELECT count(*) FROM trigger_keys").fetchall()[0][0],)]
    return derived


def unkeyed_trigger(number: int) -> str:
    """A trigger without a literal."""
    return rf"\d{{{number + 2}}}"


def everything(make: Maker, **fields: object) -> Memory:
    """A memory that can be found in each of these ways."""
    return make(
        "swordfish_code is in src/db/sword.py",
        **{"triggers": ("swordfish", unkeyed_trigger(0)), "paths": ("*.fish",), "when": {"sword": 1}, **fields},
    )


def ways_to(store: Store, audiences: tuple[str, ...] = SHOP) -> list[str]:
    """The ways by which anything is found."""
    ways = {
        "trigger": matching_patterns(store, "swordfish", audiences),
        "glob": on_path(store, "a.fish", audiences),
        "mention": store.mentioning(["swordfish_code"], audiences, 1),
        "condition": store.conditional(audiences, 1),
    }
    return [name for name, results in ways.items() if results]


ALL_WAYS = ["trigger", "glob", "mention", "condition"]
