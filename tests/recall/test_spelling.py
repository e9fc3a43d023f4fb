"""Which word of the store was meant: the edits that count, how many, and which of several words it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.query import edit_distance, nearest_word, similar_words
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store_reader import Filter, audiences_of
from tests.recall.shelf import Shelf

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
