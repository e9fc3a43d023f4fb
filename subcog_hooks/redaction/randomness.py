"""Prefixes of vendors' tokens, and nouns of secrets: data for the passes on the way in and out, and for disclosure."""

from itertools import pairwise

from subcog_hooks.core.tables import read_rows

OPAQUE, WIDE = "opaque", "wide"  # forms of tokens
MAX_WHOLE_WORD = 4  # letters; a longer noun may also stand inside another word

_ROWS = read_rows(__file__, "prefixes.tsv")
PREFIXES = frozenset(" ".join([words for form, _, words in _ROWS if form in (OPAQUE, WIDE)]).split())
UNMISTAKABLE, SENTENCE_WORDS = (frozenset(words.split()) for _, length, words in _ROWS if length == "-")
SECRET_NOUNS = {kind: words.split("|") for form, kind, words in _ROWS if form == "beside"}


def list_prefixes(form: str) -> list[tuple[str, int]]:
    """Return each prefix of a token form with the minimum length of the rest. form: OPAQUE or WIDE."""
    return [(prefix, int(length)) for row_form, length, words in _ROWS if row_form == form for prefix in words.split()]


MAX_WORD_LETTERS = 24  # letters; a longer run is no word
MIN_JUDGED = 10  # characters; in fewer, chance looks like anything
_MIN_CHANGES = 0.2  # share of positions where the kind of character changes; CamelCase has less, random letters have .3 to .7
_MIN_CHANGES_ONE_CASE = 0.13  # for letters of one case and digits, which change less often
_MAX_WORDLIKE = 0.5  # maximum share of a random text in runs that could be a word
_MIN_WORD = 5  # small letters in a row, with a vowel among them
_VOWELS = frozenset("aeiouyAEIOUY")
_HEX = frozenset("0123456789abcdefABCDEF")
UUID = (8, 4, 4, 4, 12)
SIGNS = str.maketrans(dict.fromkeys("-_./+~@#$%&=:,;|!?^*\\\"'`()[]{}<>", " "))


def looks_random(text: str) -> bool:
    """Return whether the letters and digits of `text` look random. A hash in hexadecimal does, a UUID does not.

    >>> [looks_random(text) for text in ("kR7pWq2LxZ9vT4", "sessionTokenOfV2", "3fa85f64-5717-4562-b3fc-2c963f66afa6")]
    [True, False, False]
    """
    parts = text.translate(SIGNS).split()
    if tuple(map(len, parts)) == UUID:
        return False
    letters = "".join(parts)
    if len(letters) < MIN_JUDGED or not letters.isascii():
        return False
    has_digit = any(map(str.isdigit, letters))
    has_both_cases = letters != letters.upper() and letters != letters.lower()
    if not (has_digit or has_both_cases) or letters.isdigit():
        return False
    min_changes = _MIN_CHANGES if has_both_cases else _MIN_CHANGES_ONE_CASE
    changes = sum(count_changes(part) for part in parts)
    return changes >= min_changes * len(letters) and _count_wordlike(parts) <= _MAX_WORDLIKE * len(letters)


def is_unlike_words(text: str) -> bool:
    """Return whether `text` has several digits, is no UUID, and is mostly no words: enough behind a known prefix.

    >>> is_unlike_words("4ZTQ7KXWLM2NPVRB"), is_unlike_words("v2-workload-token")
    (True, False)
    """
    parts = text.translate(SIGNS).split()
    letters = "".join(parts)
    has_digits = sum(map(str.isdigit, letters)) >= 2 and not letters.isdigit()
    return has_digits and tuple(map(len, parts)) != UUID and _count_wordlike(parts) <= _MAX_WORDLIKE * len(letters)


def mixes_cases_and_digits(text: str) -> bool:
    """Return whether `text` has a digit, a small letter and a capital; hashes and identifiers of one case have not."""
    return any(map(str.isdigit, text)) and text.lower() != text != text.upper()


def is_hexadecimal(text: str) -> bool:
    """Return whether `text` is a hexadecimal number, as hashes and commit ids are.

    >>> is_hexadecimal("da39a3ee5e6b"), is_hexadecimal("kR7pWq2LxZ9v")
    (True, False)
    """
    return _HEX.issuperset(text)


def count_changes(part: str) -> int:
    """Count the changes between digits, capitals and small letters; a capital that begins a word does not count."""
    kinds = ["0" if letter.isdigit() else "A" if letter.isupper() else "a" for letter in part]
    return sum(kind != next_kind and kind + next_kind != "Aa" for kind, next_kind in pairwise(kinds))


def _count_wordlike(parts: list[str]) -> int:
    """Count the letters in runs that could be words: at most one capital, then small letters, or capitals alone."""
    covered = 0
    for part in parts:
        start = 0
        for end in range(1, len(part) + 1):
            if end < len(part) and _continues_run(part[end - 1], part[end]):
                continue
            run = part[start:end]
            if len(run) >= _MIN_WORD and run.isalpha() and not _VOWELS.isdisjoint(run):
                covered += len(run)
            start = end
    return covered


def _continues_run(last: str, following: str) -> bool:
    if not (last.isalpha() and following.isalpha()):
        return False
    return following.islower() or (last.isupper() and following.isupper())
