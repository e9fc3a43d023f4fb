"""What the tests of cues share: a memory that is found in every way, the ways to it, and the derived rows."""

from subcog_hooks.cues import globs, triggers
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store, audiences_of
from tests.conftest import Maker

USER = audiences_of()


SHOP = audiences_of("shop")


TABLES = ("triggers", "trigger_keys", "path_globs", "mentions", "audiences")


def triggered(store: Store, text: str, audiences: tuple[str, ...] = SHOP) -> list[str]:
    """The patterns that may match a text."""
    return [found.pattern for found in store.triggers(triggers.keys_in(text), audiences, text)]


def on_path(store: Store, path: str, audiences: tuple[str, ...] = SHOP) -> list[tuple[int, str]]:
    return store.globs(globs.keys_of(path), audiences)


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """All derived rows, whatever numbers their triggers have."""
    asked = {
        "triggers": "SELECT seq, pattern, priority, required FROM triggers",
        "trigger_keys": "SELECT key, literal, seq, pattern, name FROM trigger_keys JOIN triggers AS t ON t.number = trigger"
        " JOIN audiences AS a ON a.number = audience",
        "path_globs": "SELECT key, name, seq, glob FROM path_globs JOIN audiences ON number = audience",
        "mentions": "SELECT m.name, a.name, seq FROM mentions AS m JOIN audiences AS a ON number = audience",
    }
    found: dict[str, list[tuple[object, ...]]] = {
        table: sorted(store._connection.execute(sql).fetchall(), key=repr) for table, sql in asked.items()
    }
    found["keys"] = [(store._connection.execute("SELECT count(*) FROM trigger_keys").fetchall()[0][0],)]
    return found


def unkeyed(number: int) -> str:
    """A trigger without a literal."""
    return rf"\d{{{number + 2}}}"


def everything(make: Maker, **fields: object) -> Memory:
    """A memory that can be found in each of these ways."""
    return make(
        "swordfish_code is in src/db/sword.py",
        **{"triggers": ("swordfish", unkeyed(0)), "paths": ("*.fish",), "when": {"sword": 1}, **fields},
    )


def ways_to(store: Store, audiences: tuple[str, ...] = SHOP) -> list[str]:
    """In which ways anything at all is found."""
    ways = {
        "trigger": triggered(store, "swordfish", audiences),
        "glob": on_path(store, "a.fish", audiences),
        "mention": store.mentioning(["swordfish_code"], audiences, 1),
        "condition": store.conditional(audiences, 1),
    }
    return [name for name, found in ways.items() if found]


ALL_WAYS = ["trigger", "glob", "mention", "condition"]
