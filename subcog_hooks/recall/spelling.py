"""The word of the store that was meant by one that no memory has: the nearest by edits. For typed queries, not for prompts."""

import tantivy

from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.text.analysis import EXACT

SHORTEST_MISSPELT = 4  # letters of a word that is taken for misspelt; of three, every other one is a word
LENGTH_FOR_TWO_EDITS = 12  # letters from which on two edits are allowed; two make `transport` of `transform`
KEPT = 2  # first letters that are taken for right: people seldom err there, and a dictionary is sorted
TRIED = 5  # of the words that may have been meant
CANDIDATES = 5_000  # words of these first letters, the frequent ones first


def nearest(word: str, index: LexicalIndex, within: tantivy.Query | None = None) -> str | None:
    """Return the word of the memories that `word` was meant to be: fewest edits, then in most memories, then by the alphabet.

    One edit (a letter too much, too few, another, or two that changed places) of 4 to 11 letters, two from 12 on; None when
    there is none. Raises IndexUnusable.
    """
    found = similar(word, index, 2 if len(word) >= LENGTH_FOR_TWO_EDITS else 1)[:TRIED]
    return next((other for other in found if within is None or _is_in(other, index, within)), None)


def _is_in(word: str, index: LexicalIndex, within: tantivy.Query) -> bool:
    """Return whether one of these memories has the word.

    Only few words are asked for: counting all within these memories takes 1 to 5 ms.
    """
    must, term = tantivy.Occur.Must, tantivy.Query.term_query(index.schema, EXACT, word)
    return index.count(tantivy.Query.boolean_query([(must, term), (must, within)])) > 0


def similar(word: str, index: LexicalIndex, most: int, within: tantivy.Query | None = None) -> list[str]:
    """Return the words within `most` edits of `word`, the nearest first: of all memories, or of those that match `within`."""
    if len(word) < SHORTEST_MISSPELT or not word.isalpha():
        return []
    found: list[tuple[int, int, str]] = []
    for prefix in dict.fromkeys((word[:KEPT], word[0] + word[2])):  # the second letter may have changed places with the third
        for other, frequency in index.words_with(prefix, CANDIDATES, within):
            if abs(len(other) - len(word)) <= most and other.isalpha() and (edits := distance(word, other, most)) <= most:
                found.append((edits, -frequency, other))
    return list(dict.fromkeys(other for _, _, other in sorted(found)))


def distance(a: str, b: str, most: int) -> int:
    """Return the edits between two words (optimal string alignment), `most` + 1 as soon as there are more.

    >>> distance("kuberntes", "kubernetes", 2), distance("teh", "the", 1), distance("port", "queue", 2)
    (1, 1, 3)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(b, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                best = min(best, older[j - 2] + 1)
            row.append(best)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
