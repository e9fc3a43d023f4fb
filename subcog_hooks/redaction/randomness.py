"""Tells letters that were drawn by lot from words that people chose. Nothing is imported: the hook loads this, too."""

from itertools import pairwise

LONGEST_WORD = 24  # letters; a run of more is no word
SHORTEST_JUDGED = 10  # characters that are judged; in fewer, chance looks like anything
_EVENNESS = 0.2  # of places where the kind of character changes; CamelCase has less, drawn letters have .3 to .7
_EVENNESS_OF_ONE_CASE = 0.13  # of letters of one case and digits, which change less often
_WORDLIKE = 0.5  # at most so much of a drawn text is part of runs that could be a word
_SHORTEST_WORD = 5  # small letters in a row with a vowel among them
_VOWELS = frozenset("aeiouyAEIOUY")
_HEX = frozenset("0123456789abcdefABCDEF")
_UUID = (8, 4, 4, 4, 12)
_SIGNS = str.maketrans(dict.fromkeys("-_./+~@#$%&=:,;|!?^*\\\"'`()[]{}<>", " "))


def is_drawn(text: str) -> bool:
    """Return whether the letters and digits of `text` look drawn by lot. A hash in hexadecimal does, a UUID does not.

    >>> [is_drawn(text) for text in ("kR7pWq2LxZ9vT4", "sessionTokenOfV2", "3fa85f64-5717-4562-b3fc-2c963f66afa6")]
    [True, False, False]
    """
    parts = text.translate(_SIGNS).split()
    if tuple(map(len, parts)) == _UUID:
        return False
    letters = "".join(parts)
    if len(letters) < SHORTEST_JUDGED or not letters.isascii():
        return False
    has_digit = any(map(str.isdigit, letters))
    has_both_cases = letters != letters.upper() and letters != letters.lower()
    if not (has_digit or has_both_cases) or letters.isdigit():
        return False
    least = _EVENNESS if has_both_cases else _EVENNESS_OF_ONE_CASE
    changes = sum(_changes(part) for part in parts)
    return changes >= least * len(letters) and _wordlike(parts) <= _WORDLIKE * len(letters)


def is_no_word(text: str) -> bool:
    """Return whether `text` has several digits, is no UUID, and little of it could be words: enough behind a known prefix.

    >>> is_no_word("4ZTQ7KXWLM2NPVRB"), is_no_word("v2-workload-token")
    (True, False)
    """
    parts = text.translate(_SIGNS).split()
    letters = "".join(parts)
    has_digits = sum(map(str.isdigit, letters)) >= 2 and not letters.isdigit()
    return has_digits and tuple(map(len, parts)) != _UUID and _wordlike(parts) <= _WORDLIKE * len(letters)


def mixes(text: str) -> bool:
    """Return whether `text` has a digit, a small letter and a capital, as hashes and identifiers of one case have not."""
    return any(map(str.isdigit, text)) and text.lower() != text != text.upper()


def is_hexadecimal(text: str) -> bool:
    """Return whether `text` is a number in hexadecimal, as hashes and commit ids are.

    >>> is_hexadecimal("da39a3ee5e6b"), is_hexadecimal("kR7pWq2LxZ9v")
    (True, False)
    """
    return _HEX.issuperset(text)


def _changes(part: str) -> int:
    """Return how often digits, capitals and small letters follow each other; a capital that begins a word does not count."""
    kinds = ["0" if letter.isdigit() else "A" if letter.isupper() else "a" for letter in part]
    return sum(one != other and one + other != "Aa" for one, other in pairwise(kinds))


def _wordlike(parts: list[str]) -> int:
    """Return how many letters stand in runs that could be words: a capital at most, then small letters, or capitals alone."""
    covered = 0
    for part in parts:
        start = 0
        for end in range(1, len(part) + 1):
            if end < len(part) and _goes_on(part[end - 1], part[end]):
                continue
            run = part[start:end]
            if len(run) >= _SHORTEST_WORD and run.isalpha() and not _VOWELS.isdisjoint(run):
                covered += len(run)
            start = end
    return covered


def _goes_on(last: str, following: str) -> bool:
    if not (last.isalpha() and following.isalpha()):
        return False
    return following.islower() or (last.isupper() and following.isupper())
