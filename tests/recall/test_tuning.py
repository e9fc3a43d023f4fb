"""Every setting of the ranking, read from config.toml as a user writes it, changes what a search gives."""

from pathlib import Path

import pytest

from subcog_hooks.memory.model import now_ms
from subcog_hooks.paths import Home
from subcog_hooks.recall import tuning
from subcog_hooks.recall.recency import DAY_MS
from subcog_hooks.settings import loading
from subcog_hooks.settings.keys import KEYS
from tests.recall.shelf import Shelf, find, memory

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
    "fusion.agreement": ("0.9", {}),
    "recency.decay": ("0.5", {}),
    "recency.floor": ("0.1", {"recency.decay": "0.5"}),
    "search.min_similarity": ("0.55", {}),
    "diversity.near_duplicate": ("0.5", {}),
    "diversity.mmr": ("0.5", {}),
}


@pytest.fixture
def mixed(shelf: Shelf) -> Shelf:
    """Like texts, a tag that the query names, an old memory, one that only meaning finds."""
    now = now_ms()
    shelf.add({"one": "crane on berth one", "two": "crane on berth two", "far": "a hoist moves"}, created_at=now)
    shelf.add({"old": "crane of the harbour, painted in spring"}, created_at=now - 300 * DAY_MS)
    shelf.add({}, memory("quiet water", id="tagged", tags=("crane",), created_at=now))
    return shelf


def answer(shelf: Shelf, settings: dict[str, str]) -> list[tuple[str, float]]:
    """What is found, with its scores, under these settings in config.toml."""
    shelf.home.create()
    sections: dict[str, list[str]] = {}
    for name, value in settings.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, []).append(f"{key} = {value}")
    text = "\n".join("\n".join((f"[{section}]", *lines)) for section, lines in sections.items())
    Path(shelf.home.config).write_text(text)
    read = loading.load(shelf.home)
    assert read.problems == ()
    of = shelf.placed({"one": 0.8, "two": 0.78, "old": 0.7, "far": 0.5, "tagged": 0.3})
    of.tuning = tuning.from_settings(read)
    return [(hit.memory.id, hit.score) for hit in find(of, "crane").hits]


@pytest.mark.parametrize("name", OF_RANKING)
def test_each_setting_of_the_ranking_changes_what_is_found_or_how_high_it_scores(mixed: Shelf, name: str) -> None:
    value, beside = CHANGES[name]
    assert answer(mixed, {**beside, name: value}) != answer(mixed, beside)


def test_what_is_set_by_itself_counts_more_than_a_preset(mixed: Shelf) -> None:
    by_words = answer(mixed, {"fusion.alpha": "0.0"})
    assert answer(mixed, {"fusion.preset": '"vector-only"', "fusion.alpha": "0.0"}) == by_words
    assert answer(mixed, {"fusion.preset": '"lexical-only"'}) == by_words


def test_weights_in_the_environment_set_the_share_of_meaning(mixed: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    by_setting = answer(mixed, {"fusion.alpha": "0.2"})
    monkeypatch.setenv("SUBCOG_SEMANTIC_WEIGHT", "0.2")
    monkeypatch.setenv("SUBCOG_KEYWORD_WEIGHT", "0.8")
    assert answer(mixed, {}) == by_setting


def test_who_has_set_nothing_has_the_defaults(home: Home) -> None:
    by_settings, by_default = tuning.from_settings(loading.load(home)), tuning.Tuning()
    for name in tuning.Tuning.__slots__:
        assert getattr(by_settings, name) == getattr(by_default, name)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="fusion_alpha"):
        tuning.Tuning(fusion_alpha=0.5)
