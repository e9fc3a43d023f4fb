"""Removal of near-duplicates from an answer, and separation of similar memories. Pure."""

from __future__ import annotations

from itertools import pairwise

from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    WordSet = frozenset[str]

MAX_COMPARED_TEXT = 4_000  # characters of a memory
# A text with this similarity repeats another. Long texts may differ in a word. Two short texts that differ in one word,
# such as a port, both stay. The sweep finds no difference from 0.85 to 1.0 (tests/eval/results/12f8346.md).
NEAR_DUPLICATE = 0.95
MAX_COMPARED = 200  # memories from the top
WINDOW = 50  # memories from the top
MIN_BODY = 80  # characters below the title line; a shorter text may mean another thing under another title
ENDING = 40  # characters
SIMILAR_LENGTH = 0.8  # Copies differ less in length, and comparing their words takes .2 ms.


def words_and_pairs(text: str) -> WordSet:
    """Return the words, numbers and identifiers of a text, and each pair of neighbours.

    The pairs tell `30s` from `60s` in equal sentences, and "A before B" from "B before A".

    >>> sorted(words_and_pairs("Retry after 30s. Retry!"))
    ['30s', '30s retry', 'after', 'after 30s', 'retry', 'retry after']
    """
    words = [word.lower() for word in analysis.whole_tokens(analysis.fold(text[:MAX_COMPARED_TEXT]))]
    return frozenset((*words, *map(" ".join, pairwise(words))))


def similarity(a: WordSet, b: WordSet) -> float:
    """Return the share of the words of two texts that both have (Jaccard), 0.0 to 1.0.

    >>> similarity(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    both = len(a & b)
    return both / (len(a) + len(b) - both) if a or b else 1.0


def _can_be_similar(a: int, b: int, min_similarity: float) -> bool:
    """Return whether texts of `a` and `b` words can reach a similarity: they share at most the shorter's words."""
    return a == b or (a / b if a < b else b / a) >= min_similarity


def is_copy(text: str, other: str) -> bool:
    """Return whether a text repeats another, but for its title line, white space, case or a word of a long one."""
    if text == other:
        return True
    if plain_ending(text) == plain_ending(other) and len(body := _plain_body(text)) >= MIN_BODY and body == _plain_body(other):
        return True
    return _can_be_similar(len(text), len(other), SIMILAR_LENGTH) and len([*distinct_positions((text, other))]) == 1


def plain_ending(text: str) -> str:
    """Return the end of a text without white space, case and last signs, by which copies are found cheaply.

    >>> plain_ending("Wait.\\nRetry after 30s.") == plain_ending("wait. Retry after 30s")
    True
    """
    return "".join(text[-2 * ENDING :].lower().split()).rstrip(".!?,;:")[-ENDING:]


def _plain_body(text: str) -> str:
    return "".join(text.partition("\n")[2].lower().split())


def distinct_positions(texts: Iterable[str], max_similarity: float = NEAR_DUPLICATE) -> Iterator[int]:
    """Yield the positions of the texts that are less similar than `max_similarity` to every earlier one.

    A `max_similarity` of 1.0 keeps all. Only the first MAX_COMPARED texts are compared, each with all that stayed.

    >>> list(distinct_positions(["Retry after 30s.", "retry after 30s", "Retry after 60s."], 0.95))
    [0, 2]
    """
    earlier: list[WordSet] = []
    for position, text in enumerate(texts):
        if max_similarity < 1.0 and position < MAX_COMPARED:
            words = words_and_pairs(text)
            if any(
                _can_be_similar(len(words), len(other), max_similarity) and similarity(words, other) >= max_similarity
                for other in earlier
            ):
                continue
            earlier.append(words)
        yield position


def diversify_order(texts: Sequence[str], scores: Sequence[float], share: float) -> list[int]:
    """Return the positions of the texts by maximal marginal relevance, scaled by relevance.

    Carbonell and Goldstein 1998. The next text has the best `score * (1 - (1 - share) * likeness)`. Likeness is its greatest
    similarity to a text chosen before. A text loses in proportion to its score, so a poor text never comes first for being
    unlike. A share of 1.0 keeps the order; texts behind the first WINDOW keep their position.
    """
    order = list(range(len(texts)))
    if share >= 1.0:
        return order
    remaining = order[:WINDOW]
    words = [words_and_pairs(texts[position]) for position in remaining]
    likeness = [0.0] * len(remaining)
    chosen: list[int] = []
    while remaining:
        best = max(remaining, key=lambda position: (scores[position] * (1.0 - (1.0 - share) * likeness[position]), -position))
        remaining.remove(best)
        chosen.append(best)
        for position in remaining:
            likeness[position] = max(likeness[position], similarity(words[position], words[best]))
    return [*chosen, *order[WINDOW:]]
