"""Prefixes of vendors' tokens, and nouns of secrets: data for the passes on the way in and out, and for disclosure."""

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
