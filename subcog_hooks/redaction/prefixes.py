"""Prefixes of vendors' tokens, and nouns of secrets: data for the pass on the way in, that on the way out, and disclosure."""

from subcog_hooks.tables import read_rows

WHOLE_WORD = 4  # letters of a word that others may hold
_ROWS = [(form, int(length), words.split()) for form, length, words in read_rows(__file__, "prefixes.tsv")]

# Prefixes with the least length of what follows each.
OPAQUE = [(prefix, length) for form, length, prefixes in _ROWS if form == "opaque" for prefix in prefixes]
WIDE = [(prefix, length) for form, length, prefixes in _ROWS if form == "wide" for prefix in prefixes]
UNMISTAKABLE, OF_SENTENCES = (frozenset(words) for _, length, words in _ROWS if not length)
BESIDE = {kind: words.split("|") for kind, words in read_rows(__file__, "beside.tsv")}
