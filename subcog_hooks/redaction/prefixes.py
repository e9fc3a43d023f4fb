"""Prefixes of vendors' tokens, and nouns of secrets: data for the pass on the way in, that on the way out, and disclosure."""

from subcog_hooks.core.tables import read_rows

OPAQUE, WIDE = "opaque", "wide"  # forms of tokens
WHOLE_WORD = 4  # letters of a word that others may hold

_ROWS = read_rows(__file__, "prefixes.tsv")
PREFIXES = frozenset(" ".join([words for form, _, words in _ROWS if form in (OPAQUE, WIDE)]).split())
UNMISTAKABLE, OF_SENTENCES = (frozenset(words.split()) for _, length, words in _ROWS if length == "-")
BESIDE = {kind: words.split("|") for form, kind, words in _ROWS if form == "beside"}


def list_prefixes(chosen: str) -> list[tuple[str, int]]:
    """Return each prefix of tokens of a form with the least length of what follows it. chosen: OPAQUE or WIDE."""
    return [(prefix, int(length)) for form, length, words in _ROWS if form == chosen for prefix in words.split()]
