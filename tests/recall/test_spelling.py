"""Which word of the store was meant: edits that count, how many, which of several words; and what to try instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import search
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.candidates import Request
from subcog_hooks.recall.query import edit_distance, nearest_word, similar_words
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Shelf, memory

letters = st.text(alphabet="abc", max_size=7)


def edits(a: str, b: str) -> int:
    """Optimal string alignment by its definition."""
    if not a or not b:
        return len(a) + len(b)
    ways = [edits(a[:-1], b) + 1, edits(a, b[:-1]) + 1, edits(a[:-1], b[:-1]) + (a[-1] != b[-1])]
    if len(a) > 1 and len(b) > 1 and a[-2:] == b[-1] + b[-2]:
        ways.append(edits(a[:-2], b[:-2]) + 1)
    return min(ways)


@given(letters.filter(lambda word: len(word) < 6), letters.filter(lambda word: len(word) < 6), st.integers(0, 3))
def test_the_distance_is_the_number_of_edits_up_to_the_most(a: str, b: str, max_edits: int) -> None:
    assert edit_distance(a, b, max_edits) == edit_distance(b, a, max_edits) == min(edits(a, b), max_edits + 1)


@pytest.fixture
def words(shelf: Shelf) -> LexicalIndex:
    shelf.add(
        {
            "a": "Kubernetes restarts the scheduler.",
            "b": "A cart, a card, a cot.",
            "c": "The cart is full.",
            "d": "Authentication; transform; elevenletter.",
        }
    )
    return shelf.index()


def test_a_word_is_taken_for(words: LexicalIndex, subtests: pytest.Subtests) -> None:
    cases = [
        ("kuberentes", "kubernetes", "two letters changed places"),
        ("kuebrnetes", "kubernetes", "the second with the third"),
        ("kubernets", "kubernetes", "one too few"),
        ("kubernettes", "kubernetes", "one too many"),
        ("kubernatas", None, "two others, and the word is not long enough"),
        ("authemtikation", "authentication", "two others, in a long word"),
        ("authemtikatiom", None, "three edits"),
        ("transport", None, "two edits make it another word"),
        ("elevenlettxy", "elevenletter", "two others are allowed from twelve letters on"),
        ("elevenlettx", None, "one letter fewer"),
        ("shceduler", "scheduler", "the second with the third"),
        ("carf", "cart", "another one; the word that most memories have"),
        ("cots", "cot", "one too many for a word of three"),
        ("cat", None, "of three letters every other one is a word"),
        ("carrf", None, "two edits in a short word"),
        ("xubernetes", None, "the first letter is taken for right"),
        ("kabernetes", None, "so is the second"),
        ("cart5", None, "no word"),
        ("", None, "nothing"),
    ]
    for typed, meant, why in cases:
        with subtests.test(typed=typed):
            assert nearest_word(typed, words) == meant, why


@pytest.mark.parametrize(("nearer", "meant"), [("carb card carp cars", "cary"), ("carb card carp cars cart", None)])
def test_five_words_are_tried_for_a_word_in_scope(shelf: Shelf, nearer: str, meant: str | None) -> None:
    shelf.add({"theirs": nearer}, project="blog")
    shelf.add({"mine": "cary"}, project="shop")
    index = shelf.index()
    assert nearest_word("carx", index, recall_words.scope_query(index, Filter(audiences=audiences_of("shop")))) == meant


def test_a_word_is_found_behind_hundreds_that_begin_alike(shelf: Shelf) -> None:
    many = " ".join(f"ca{a}{b}{c}" for a in "fghijk" for b in "aeiou" for c in "qwrtzpsdfghk")
    shelf.add({"a": many, "b": many, "c": "cable"})
    assert nearest_word("cabel", shelf.index()) == "cable"


def test_fewer_edits_then_more_memories_then_the_alphabet_decide(shelf: Shelf) -> None:
    shelf.add({f"s{i}": "the schedulers" for i in range(5)})
    shelf.add({"one": "the scheduler", "b": "carp", "a": "card", "c": "cart"})
    assert nearest_word("schedulre", shelf.index()) == "scheduler"
    assert nearest_word("carx", shelf.index()) == "card"


def test_the_words_within_some_edits_come_nearest_first(words: LexicalIndex) -> None:
    assert similar_words("carts", words, 2) == ["cart", "card"]


def test_only_words_of_memories_in_scope_are_meant_and_counted(shelf: Shelf) -> None:
    shelf.add({"cart": "a cart", "also": "the cart", "kube": "kubernetes"}, project="blog")
    shelf.add({"card": "a card"}, project="shop")
    index = shelf.index()
    within = recall_words.scope_query(index, Filter(audiences=audiences_of("shop")))
    assert (nearest_word("carx", index), nearest_word("carx", index, within)) == ("cart", "card")
    assert (nearest_word("kuberntes", index), nearest_word("kuberntes", index, within)) == ("kubernetes", None)
    assert similar_words("carx", index, 1, within) == ["card"]


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
