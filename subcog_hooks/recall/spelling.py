"""Correction of misspelt words: the nearest word of the store by edits. For typed queries, not for prompts."""

import tantivy

from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.text.analysis import EXACT

SHORTEST_MISSPELT = 4  # letters; of three letters, every other combination is a word
LENGTH_FOR_TWO_EDITS = 12  # letters; in shorter words two edits turn `transform` into `transport`
KEPT_LETTERS = 2  # first letters that count as correct: people seldom err there, and a dictionary is sorted
MAX_TRIED = 5  # candidates
MAX_CANDIDATES = 5_000  # words with these first letters, the frequent words first


def nearest_word(word: str, index: LexicalIndex, within: tantivy.Query | None = None) -> str | None:
    """Return the nearest word of the memories: fewest edits, then in most memories, then by the alphabet.

    An edit is an added, missing or other letter, or two swapped. Words of 4 to 11 letters may have one, longer words two. None
    without such a word. Raises IndexUnusable.
    """
    candidates = similar_words(word, index, 2 if len(word) >= LENGTH_FOR_TWO_EDITS else 1)[:MAX_TRIED]
    return next((other for other in candidates if within is None or _is_word_in(other, index, within)), None)


def _is_word_in(word: str, index: LexicalIndex, within: tantivy.Query) -> bool:
    """Return whether one of these memories has the word.

    It is asked for few words only: counting all within these memories takes 1 to 5 ms.
    """
    must, term = tantivy.Occur.Must, tantivy.Query.term_query(index.schema, EXACT, word)
    return index.count(tantivy.Query.boolean_query([(must, term), (must, within)])) > 0


def similar_words(word: str, index: LexicalIndex, max_edits: int, within: tantivy.Query | None = None) -> list[str]:
    """Return the words within `max_edits` of `word`, nearest first, of all memories or of `within`."""
    if len(word) < SHORTEST_MISSPELT or not word.isalpha():
        return []
    candidates: list[tuple[int, int, str]] = []
    for prefix in dict.fromkeys(
        (word[:KEPT_LETTERS], word[0] + word[2])
    ):  # the second letter may have changed places with the third
        for other, frequency in index.words_with(prefix, MAX_CANDIDATES, within):
            if (
                abs(len(other) - len(word)) <= max_edits
                and other.isalpha()
                and (edits := edit_distance(word, other, max_edits)) <= max_edits
            ):
                candidates.append((edits, -frequency, other))
    return list(dict.fromkeys(other for _, _, other in sorted(candidates)))


def edit_distance(a: str, b: str, max_edits: int) -> int:
    """Return the edits between two words (optimal string alignment), `max_edits` + 1 as soon as there are more.

    >>> edit_distance("kuberntes", "kubernetes", 2), edit_distance("teh", "the", 1), edit_distance("port", "queue", 2)
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
        if min(row) > max_edits:
            return max_edits + 1
    return min(row[-1], max_edits + 1)
