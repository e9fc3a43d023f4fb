"""Suggestions: near words and tags, common tags, and never a word of memories outside the scope."""

import pytest

from subcog_hooks.recall import search
from subcog_hooks.recall.candidates import Request
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Shelf, memory


def near(shelf: Shelf, text: str, scope: Filter | None = None) -> list[str]:
    return search.suggest_words(Request(text, scope or Filter(), is_typed=True), shelf.index())


def test_a_misspelt_word_gives_the_word(shelf: Shelf) -> None:
    shelf.add({"a": "The kubernetes scheduler."})
    assert near(shelf, "kuberntes") == ["kubernetes"]


def test_the_nearest_word_beats_a_more_common_longer_one(shelf: Shelf) -> None:
    shelf.add({"one": "the cache", "two": "the caches", "three": "other caches"})
    assert near(shelf, "cahce")[0] == "cache"


def test_words_that_begin_alike_are_given(shelf: Shelf) -> None:
    shelf.add({"a": "The scheduler configures databases."})
    assert near(shelf, "configurability") == ["configures"]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("kxbernetxs", []),  # the second letter is taken for right
        ("kubxrnetxs", ["kubernetes"]),  # two edits
        ("kubxrnxtxs", []),
        ("confab", ["configures"]),  # four letters alike
        ("convex", []),
    ],
)
def test_words_within_2_edits_or_with_4_equal_letters_are_given(shelf: Shelf, text: str, given: list[str]) -> None:
    shelf.add({}, memory("kubernetes configures itself", tags=("harbour",)))
    assert near(shelf, text) == [*given, "harbour"]


def test_the_nearest_word_is_given_though_it_is_rare(shelf: Shelf) -> None:
    more = " ".join(f"configurationally{a}{b}" for a in "abcdefgh" for b in "stuvwx")
    shelf.add({"a": more, "b": more, "c": "configures"})
    assert near(shelf, "configxyz")[0] == "configures"


def test_a_tag_that_begins_alike_is_given(shelf: Shelf) -> None:
    shelf.add({}, memory("quiet water", tags=("harbour-master",)))
    assert near(shelf, "harbxyz") == ["harbour-master"]


def test_without_anything_alike_common_tags_are_given(shelf: Shelf) -> None:
    shelf.add({}, *(memory(f"note {i}", tags=("harbour", "crane")[: 1 + (i < 2)]) for i in range(5)))
    assert near(shelf, "zzz") == ["harbour", "crane"]


def test_neither_the_word_itself_nor_a_number_is_given(shelf: Shelf) -> None:
    shelf.add({"a": "scheduler schedulers 20240101"})
    assert near(shelf, "scheduler") == ["schedulers"]
    assert "20240101" not in near(shelf, "20240102")


def test_no_more_than_a_handful_is_given_and_few_for_one_word(shelf: Shelf) -> None:
    shelf.add({}, memory(" ".join(f"harb{c}{d}" for c in "abcde" for d in "xyz"), tags=tuple(f"tag{i}" for i in range(20))))
    given = near(shelf, "harbour")
    assert len(given) == len(set(given)) == 6
    assert sum(word.startswith("harb") for word in given) == 2


def test_an_empty_store_and_an_empty_query_give_nothing(shelf: Shelf) -> None:
    assert near(shelf, "anything") == []
    assert near(shelf, "") == []


@pytest.mark.parametrize(
    "fields", [{"project": "blog"}, {"status": "archived"}, {"namespace": "decisions"}, {"created_at": 1}, {"expires_at": 1}]
)
def test_no_word_or_tag_outside_the_scope_is_given(shelf: Shelf, fields: dict[str, object]) -> None:
    shelf.add({}, memory("The kubernetes secret.", **{"tags": ("kubernetes-secret",), "created_at": 5_000, **fields}))
    shelf.add({"own": "Nothing to see here."}, project="shop", namespace="learnings", created_at=5_000)
    scope = Filter(audiences=audiences_of("shop"), namespaces=("learnings",), since=1_000)
    for text in ("kuberntes", "kubernetez", "kubexyz", "secert", "zzz"):
        assert near(shelf, text, scope) == []


def test_suggestions_ignore_the_stored_order(shelf: Shelf) -> None:
    shelf.add({"a": "harbour harbours", "b": "harbinger"})
    given = near(shelf, "harbor")
    shelf.store.purge(["a", "b"])
    shelf.add({"b": "harbinger", "a": "harbour harbours"})
    assert near(shelf, "harbor") == given


def test_function_words_are_neither_given_nor_looked_for(shelf: Shelf) -> None:
    shelf.add({}, memory("where there therapy", tags=("the", "harbour")))
    assert near(shelf, "there") == ["harbour"]
    assert near(shelf, "therzz") == ["therapy", "harbour"]
