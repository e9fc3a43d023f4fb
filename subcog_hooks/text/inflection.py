"""The function words of a text in another language than English, and the stems of its words."""

from __future__ import annotations

import tantivy

from subcog_hooks.text import languages

MAX_TOKEN = 100  # characters, as in `analysis`
_NO_FUNCTION_WORDS = frozenset(("arabic", "greek", "romanian", "tamil", "turkish"))  # tantivy has none for these languages.
_analysers: dict[tuple[str, bool], tantivy.TextAnalyzer] = {}  # Each takes .1 ms; the first text of its language needs it.


def function_words(text: str, language: str) -> frozenset[str]:
    """Return the function words of a text in this language, folded, in lower case.

    >>> sorted(function_words("Auf welchem Port, und f\u00fcr uns?", "german"))
    ['auf', 'fur', 'und', 'uns', 'welchem']
    """
    words = frozenset(_analyser("", stems=False).analyze(text))
    marks = frozenset([word for word in words if language in languages.languages_of_word(word)])
    if language in _NO_FUNCTION_WORDS:
        return marks
    return words.difference(_analyser(language, stems=False).analyze(text)) | marks


def stems_by_word(text: str, language: str) -> dict[str, str]:
    """Return the stems of a text's words in this language, except words that equal their stem; both folded.

    >>> stems_by_word("Buchungen der G\u00e4ste", "german")
    {'buchungen': 'buchung', 'gaste': 'gast'}
    """
    plain = _analyser("", stems=False).analyze(text)
    stems = _analyser(language, stems=True).analyze(text)
    return {word: stem for word, stem in zip(plain, stems, strict=True) if stem != word}


def _analyser(language: str, *, stems: bool) -> tantivy.TextAnalyzer:
    """Return the analyser for a language's stems, or for its words without function words; "": for all words."""
    analyser = _analysers.get((language, stems))
    if analyser is None:
        filters = tantivy.Filter
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(filters.remove_long(MAX_TOKEN))
        builder = builder.filter(filters.lowercase())
        if stems:
            builder = builder.filter(filters.stemmer(language))
        elif language:
            builder = builder.filter(filters.stopword(language))
        analyser = _analysers[language, stems] = builder.filter(filters.ascii_fold()).build()
    return analyser
