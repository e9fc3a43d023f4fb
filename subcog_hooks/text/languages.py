"""Languages other than English: which one a text is in, its function words and the stems of its words, as tantivy knows them.

A text has one language. What can not be told, as a title of three words, is taken for English, and so is what is mixed half and
half: a wrong language would take its words apart wrongly.
"""

import tantivy

from subcog_hooks.core.tables import read_rows
from subcog_hooks.text.vocabulary import STOP

MAX_READ = 600  # characters of a text by which its language is told
LEAST_MARKS = 2  # different function words of a language that a text has to have
LEAST_SHARE = 0.15  # of its words, when it is read by its function words
LONGEST_WORD = 100  # characters, as everywhere

_SCRIPTS = (  # languages by the letters of which most of a text is made
    ("greek", "\u0370", "\u03ff"),
    ("russian", "\u0400", "\u04ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("tamil", "\u0b80", "\u0bff"),
)
_NO_FUNCTION_WORDS = frozenset(("arabic", "greek", "romanian", "tamil", "turkish"))  # that tantivy knows

_LANGUAGES: dict[str, tuple[str, ...]] = {}  # of each mark
for _name, _words in read_rows(__file__, "languages.tsv"):
    for _word in _words.split():
        _LANGUAGES[_word] = (*_LANGUAGES.get(_word, ()), _name)
_EVERY_MARK = frozenset(_LANGUAGES)

_analysers: dict[tuple[str, bool], tantivy.TextAnalyzer] = {}  # made where the language is met: .1 ms


def language_of(text: str) -> str:
    """Return the language of a text in tantivy's words, "" for English and for what can not be told.

    >>> language_of("Auf welchem Port lauscht PostgreSQL, und warum?"), language_of("¿Por qué usamos Redis y no Memcached?")
    ('german', 'spanish')
    >>> language_of("Почему мы храним сессии в Redis?"), language_of("Which port does the server listen on?")
    ('russian', '')
    """
    read = text[:MAX_READ]
    if not read.isascii():
        others = [c for c in read if c >= _SCRIPTS[0][1]]
        for language, first, last in _SCRIPTS if len(others) * 2 > sum(map(str.isalpha, read)) else ():
            if sum([first <= c <= last for c in others]) * 2 > len(others):
                return language
    elif len(_EVERY_MARK.intersection(read.lower().split())) < LEAST_MARKS:
        return ""  # most texts, in .01 ms
    words = _words_of(read)
    marks = _EVERY_MARK.intersection(words)
    counts: dict[str, int] = {}
    for mark in marks:
        for language in _LANGUAGES[mark]:
            counts[language] = counts.get(language, 0) + 1
    best = max(counts, key=lambda language: (counts[language], language), default="")
    own = [word for word in words if best in _LANGUAGES.get(word, ())]
    english = [word for word in words if word in STOP and best not in _LANGUAGES.get(word, ())]
    is_told = counts.get(best, 0) >= LEAST_MARKS and len(own) >= LEAST_SHARE * len(words) and len(own) > len(english)
    return best if is_told else ""


def _words_of(text: str) -> list[str]:
    if not text.isascii():
        import unicodedata  # .2 ms, and most text is ASCII

        text = "".join([c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f"])
    return [word for piece in text.lower().split() if (word := piece.strip(".,;:!?()\"'\u00bf\u00a1\u201e\u201c\u201d"))]


def function_words(text: str, language: str) -> frozenset[str]:
    """Return the words of a text in this language that say nothing by themselves, folded, in lower case.

    >>> sorted(function_words("Auf welchem Port, und f\u00fcr uns?", "german"))
    ['auf', 'fur', 'und', 'uns', 'welchem']
    """
    words = frozenset(_analyser("", stems=False).analyze(text))
    marks = frozenset([word for word in words if language in _LANGUAGES.get(word, ())])
    if language in _NO_FUNCTION_WORDS:
        return marks
    return words.difference(_analyser(language, stems=False).analyze(text)) | marks


def stems_by_word(text: str, language: str) -> dict[str, str]:
    """Return the stems of the words of a text in this language, of those that are not their own stem; both folded.

    >>> stems_by_word("Buchungen der G\u00e4ste", "german")
    {'buchungen': 'buchung', 'gaste': 'gast'}
    """
    plain = _analyser("", stems=False).analyze(text)
    stems = _analyser(language, stems=True).analyze(text)
    return {word: stem for word, stem in zip(plain, stems, strict=True) if stem != word}


def _analyser(language: str, *, stems: bool) -> tantivy.TextAnalyzer:
    """Return what takes a text apart: its stems, its words without function words, or, of no language, its words."""
    found = _analysers.get((language, stems))
    if found is None:
        filters = tantivy.Filter
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(filters.remove_long(LONGEST_WORD))
        builder = builder.filter(filters.lowercase())
        if stems:
            builder = builder.filter(filters.stemmer(language))
        elif language:
            builder = builder.filter(filters.stopword(language))
        found = _analysers[language, stems] = builder.filter(filters.ascii_fold()).build()
    return found
