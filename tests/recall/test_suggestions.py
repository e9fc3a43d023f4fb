"""Suggestions: near words and tags, common tags, and never a word of memories outside the scope."""

import pytest

from subcog_hooks.recall import search
from subcog_hooks.recall.candidates import Request
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Shelf, memory


def near(shelf: Shelf, text: str, scope: Filter | None = None) -> list[str]:
    return search.suggest_words(Request(text, scope or Filter(), is_typed=True), shelf.index())


def test_words_and_tags_near_to_the_query_are_given(shelf: Shelf) -> None:
    shelf.add({}, memory("kubernetes configures itself; where there therapy", tags=("harbour-master", "the", "crane")))
    tags = ["crane", "harbour-master"]
    cases = [
        ("kuberntes", ["kubernetes"]),
        ("kxbernetxs", []),  # the second letter is taken for right
        ("kubxrnetxs", ["kubernetes"]),  # two edits
        ("kubxrnxtxs", []),
        ("configurability", ["configures"]),
        ("confab", ["configures"]),  # four letters alike
        ("convex", []),
        ("there", []),  # function words are neither given nor looked for
        ("therzz", ["therapy"]),
    ]
    assert [(text, found) for text, given in cases if (found := near(shelf, text)) != [*given, *tags]] == []
    assert near(shelf, "harbxyz")[0] == "harbour-master"


def test_the_nearest_word_beats_a_more_common_longer_one(shelf: Shelf) -> None:
    shelf.add({"one": "the cache", "two": "the caches", "three": "other caches"})
    assert near(shelf, "cahce")[0] == "cache"


def test_the_nearest_word_is_given_though_it_is_rare(shelf: Shelf) -> None:
    more = " ".join(f"configurationally{a}{b}" for a in "abcdefgh" for b in "stuvwx")
    shelf.add({"a": more, "b": more, "c": "configures"})
    assert near(shelf, "configxyz")[0] == "configures"


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
