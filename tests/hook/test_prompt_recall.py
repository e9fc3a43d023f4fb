"""UserPromptSubmit inside one process, with vectors: the settings of recall change the block."""

from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import configure, printed_ids, respond

Ask = Callable[..., list[str]]
QUESTION = "Where do kittens sleep, frosty months?"


@pytest.fixture
def ask(home: Home, store: Store, make: Maker, tmp_path: Path) -> Ask:
    """Ask the hook in a new session, and return the printed ids in order.

    Twenty `table`s have more of QUESTION's words, twenty `story`s of its meaning: together too many to be looked at.
    """
    store.add([make(f"kittens months ERROR SQLSTATE 23P{i:02} kittens months", id=f"table-{i:02}") for i in range(20)])
    store.add([make(f"Our {i} kittens nap upon a warm server rack, coldest months.", id=f"story-{i:02}") for i in range(20)])
    store.add([make("The pilot boat is fuelled on mondays at the east pier by the harbour office.", id="pilot")])
    store.add([make("Buoys are painted on land by hand.", id="patterns", namespace="patterns")])
    store.add([make("By hand, buoys are painted on land.", id="config", namespace="config")])
    follow(home, store)
    session = iter(range(1_000))

    def ask_hook(text: str = QUESTION, cwd: str | None = None) -> list[str]:
        return printed_ids(respond(home, text, f"s{next(session)}", cwd=cwd or str(tmp_path)))

    return ask_hook


def tune(home: Home, **sections: str) -> None:
    further = "".join(f"[{name}]\n{text}\n" for name, text in sections.items())
    configure(home, f"[surfacing]\nmin_relevance = 0.0\n{further}")


def kinds(ids: list[str]) -> set[str]:
    return {id_.partition("-")[0] for id_ in ids}


@pytest.mark.parametrize(
    ("fusion", "kind"),
    [
        ("alpha = 0.0", "table"),
        ("alpha = 1.0", "story"),
        ('preset = "lexical-only"', "table"),
        ('preset = "vector-only"', "story"),
        ('preset = "vector-only"\nalpha = 0.0', "table"),
    ],
)
def test_the_share_of_meaning_decides_what_is_looked_at(ask: Ask, home: Home, fusion: str, kind: str) -> None:
    tune(home, fusion=fusion)
    assert kinds(ask()) == {kind}


def test_what_only_looser_matching_would_find_is_not_handed_over(ask: Ask, home: Home) -> None:
    tune(home, fusion="alpha = 0.0")
    assert ask("Where is the pilotlike boatload of fuelwoods?") == []
    assert ask("Where is the pilot boat?")


@pytest.mark.usefixtures("usual_settings")
@pytest.mark.parametrize(("order", "ids"), [("pull in moment.js", ["dates"]), ("commit this", []), ("run the tests again", [])])
def test_an_order_that_names_something_is_searched(home: Home, store: Store, make: Maker, order: str, ids: list[str]) -> None:
    store.add([make("Dates are handled with date-fns; moment was thrown out for its size.", id="dates")])
    store.add([make("The tide sensor needs 24 V.", id="tide"), make("Tests run on the harbour's own machine.", id="tests")])
    follow(home, store)
    assert printed_ids(respond(home, order)) == ids
