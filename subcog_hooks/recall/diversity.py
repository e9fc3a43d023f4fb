"""Keeping an answer from saying one thing twice: near-duplicates left out, and like memories apart. Pure."""

from __future__ import annotations

from itertools import pairwise

from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Words = frozenset[str]

MAX_COMPARED_TEXT = 4_000  # characters of a memory that are compared
# The likeness from which one text repeats another. Long texts may differ in a word; of short texts that differ in one,
# such as a port, both stay. The sweep finds no difference from 0.85 to 1.0 (tests/eval/results/12f8346.md).
NEAR_DUPLICATE = 0.95
COMPARED = 200  # memories from the top that are looked at for near-duplicates
WINDOW = 50  # memories from the top that are put apart from each other


def words_of(text: str) -> Words:
    """Return the whole words, numbers and identifiers of a text, and each with the next.

    `30s` and `60s` are not near-duplicates, whatever stands around them, nor are "A before B" and "B before A".

    >>> sorted(words_of("Retry after 30s. Retry!"))
    ['30s', '30s retry', 'after', 'after 30s', 'retry', 'retry after']
    """
    words = [word.lower() for word in analysis.wholes(analysis.fold(text[:MAX_COMPARED_TEXT]))]
    return frozenset((*words, *map(" ".join, pairwise(words))))


def similarity(a: Words, b: Words) -> float:
    """Return the share of the words of two texts that both have (Jaccard), 0.0 to 1.0.

    >>> similarity(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    both = len(a & b)
    return both / (len(a) + len(b) - both) if a or b else 1.0


def _may_be(a: int, b: int, least: float) -> bool:
    """Return whether texts of so many words can be similar at all: they share at most those of the shorter."""
    return a == b or (a / b if a < b else b / a) >= least


def distinct(texts: Iterable[str], least: float = NEAR_DUPLICATE) -> Iterator[int]:
    """Yield the places of the texts that are less similar than `least` to every one kept before them.

    A `least` of 1.0 keeps all.

    The first COMPARED are: each is compared with all that are kept.

    >>> list(distinct(["Retry after 30s.", "retry after 30s", "Retry after 60s."], 0.95))
    [0, 2]
    """
    kept: list[Words] = []
    for place, text in enumerate(texts):
        if least < 1.0 and place < COMPARED:
            mine = words_of(text)
            if any(_may_be(len(mine), len(other), least) and similarity(mine, other) >= least for other in kept):
                continue
            kept.append(mine)
        yield place


def apart(texts: Sequence[str], scores: Sequence[float], share: float) -> list[int]:
    """Return the places of the texts in the order of maximal marginal relevance, scaled by relevance.

    Carbonell and Goldstein 1998.

    Each next one has the best `score * (1 - (1 - share) * likeness)`, likeness being the greatest similarity to one chosen
    before: it loses in proportion to what it has, so that a poor one never comes first for being unlike. A share of 1.0 keeps
    the order, and what is behind the first WINDOW keeps its place.
    """
    order = list(range(len(texts)))
    if share >= 1.0:
        return order
    rest = order[:WINDOW]
    words = [words_of(texts[place]) for place in rest]
    likeness = [0.0] * len(rest)
    chosen: list[int] = []
    while rest:
        best = max(rest, key=lambda place: (scores[place] * (1.0 - (1.0 - share) * likeness[place]), -place))
        rest.remove(best)
        chosen.append(best)
        for place in rest:
            likeness[place] = max(likeness[place], similarity(words[place], words[best]))
    return [*chosen, *order[WINDOW:]]
