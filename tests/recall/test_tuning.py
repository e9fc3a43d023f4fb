"""Every setting of the ranking in config.toml changes the result of a search."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall import tuning
from subcog_hooks.recall.candidates import Request
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.fusion import DAY_MS
from subcog_hooks.recall.hits import PATTERN, STATE
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import TYPE_SHARES
from subcog_hooks.settings.keys import KEYS
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.store_reader import Filter
from tests.recall.shelf import ENOUGH, Shelf, memory

OF_RANKING = [
    name for name in KEYS if name.startswith(("fusion.", "recency.", "diversity.")) or name == "search.min_similarity"
]
CHANGES = {  # key: a value that is not its default, and what else has to be set for it to count
    "fusion.preset": ('"rrf"', {}),
    "fusion.mode": ('"rrf"', {}),
    "fusion.alpha": ("0.2", {}),
    "fusion.small": ("1", {"fusion.alpha": '"adaptive"'}),
    "fusion.large": ("2", {"fusion.alpha": '"adaptive"', "fusion.small": "1"}),
    "fusion.rrf_k": ("5", {"fusion.mode": '"rrf"'}),
    "fusion.tags": ("0.9", {}),
    **{f"fusion.{kind}": ("0.95", {"fusion.alpha": '"adaptive"'}) for kind in TYPE_SHARES},
    "fusion.pattern": ("4.0", {}),
    "fusion.state": ("0.5", {}),
    "recency.decay": ("0.5", {}),
    "recency.floor": ("0.1", {"recency.decay": "0.5"}),
    "search.min_similarity": ("0.55", {}),
    "diversity.mmr": ("0.5", {}),
}

QUERIES = {  # one of each type
    "exact_quote": '"crane on berth"',
    "entity": "crane_one",
    "conceptual": "how does the crane work",
    "factual": "crane 2024",
    "exploratory": "crane",
}


@pytest.fixture
def mixed_shelf(shelf: Shelf) -> Shelf:
    """Like texts, a tag that the query names, an old memory, one that only meaning finds."""
    now = now_ms()
    shelf.add({"one": "crane on berth one", "two": "crane on berth two", "far": "a hoist moves"}, created_at=now)
    shelf.add({"old": "crane of the harbour, painted in spring"}, created_at=now - 300 * DAY_MS)
    shelf.add({}, memory("quiet water", id="tagged", tags=("crane",), created_at=now))
    return shelf


def answer(shelf: Shelf, settings: dict[str, str], query: str = "crane") -> list[tuple[str, float]]:
    """The hits with their scores under these settings in config.toml. A trigger and a condition hold."""
    shelf.home.create()
    sections: dict[str, list[str]] = {}
    for name, value in settings.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, []).append(f"{key} = {value}")
    text = "\n".join("\n".join((f"[{section}]", *lines)) for section, lines in sections.items())
    Path(shelf.home.config).write_text(text)
    read = loading.load(shelf.home)
    assert read.problems == ()
    of = shelf.with_cosines({"one": 0.8, "two": 0.78, "old": 0.7, "far": 0.5, "tagged": 0.3})
    of.tuning = tuning.tuning_from_settings(read)
    by_id = shelf.store.by_ids(["one", "far"])
    exact = ExactMatches({PATTERN: [by_id["far"]], STATE: [by_id["one"]]})
    answer = recall_search.search_page(Request(query, Filter(), further=exact.lists()), of, ENOUGH, 10)
    return [(hit.memory.id, hit.score) for hit in answer.hits]


@pytest.mark.usefixtures("usual_settings")
def test_each_ranking_setting_changes_hits_or_scores(mixed_shelf: Shelf, subtests: pytest.Subtests) -> None:
    for name in OF_RANKING:
        with subtests.test(name=name):
            value, beside = CHANGES[name]
            query = QUERIES.get(name.removeprefix("fusion."), "crane")
            assert answer(mixed_shelf, {**beside, name: value}, query) != answer(mixed_shelf, beside, query)


@pytest.mark.parametrize("kind", QUERIES)
def test_the_share_of_a_type_changes_nothing_for_another(mixed_shelf: Shelf, kind: str) -> None:
    for other in QUERIES.keys() - {kind}:
        changed = {"fusion.alpha": '"adaptive"', f"fusion.{other}": "0.95"}
        assert answer(mixed_shelf, changed, QUERIES[kind]) == answer(mixed_shelf, {"fusion.alpha": '"adaptive"'}, QUERIES[kind])


def test_what_is_set_by_itself_counts_more_than_a_preset(mixed_shelf: Shelf) -> None:
    by_words = answer(mixed_shelf, {"fusion.alpha": "0.0"})
    assert answer(mixed_shelf, {"fusion.preset": '"vector-only"', "fusion.alpha": "0.0"}) == by_words
    assert answer(mixed_shelf, {"fusion.preset": '"lexical-only"'}) == by_words


def test_weights_in_the_environment_set_the_share_of_meaning(mixed_shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    by_setting = answer(mixed_shelf, {"fusion.alpha": "0.2"})
    monkeypatch.setenv("SUBCOG_SEMANTIC_WEIGHT", "0.2")
    monkeypatch.setenv("SUBCOG_KEYWORD_WEIGHT", "0.8")
    assert answer(mixed_shelf, {}) == by_setting


@pytest.mark.usefixtures("usual_settings")
def test_who_has_set_nothing_has_the_defaults(home: Home) -> None:
    by_settings, by_default = tuning.tuning_from_settings(loading.load(home)), tuning.Tuning()
    for name in tuning.Tuning.__slots__:
        assert getattr(by_settings, name) == getattr(by_default, name)
