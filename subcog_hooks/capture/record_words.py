"""The words of decision records and dates in English, French, German and Spanish, and how a text is split into words."""

import re
import unicodedata

from subcog_hooks.core.tables import read_words

WORDS = read_words(__file__, "record_words.tsv")
MONTHS = {word: number for number in range(1, 13) for word in WORDS[f"month {number}"]}

_ARTICLE = re.compile(r"\b[ld]['’](?=\w)")  # `l'ADR`
_WORD = re.compile(r"[^\W_](?:[\w./:’'-]*\w)?|[.,;:()–—-]+")


def fold_words(text: str) -> list[str]:
    """Split a text into words without accents, in lower case, and its punctuation.

    >>> fold_words("Remplacée par l'ADR-7.")
    ['remplacee', 'par', 'adr-7', '.']
    """
    folded = _ARTICLE.sub("", unicodedata.normalize("NFKD", text).lower())
    return _WORD.findall("".join(letter for letter in folded if not unicodedata.combining(letter)))
