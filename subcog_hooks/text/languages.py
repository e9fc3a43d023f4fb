"""Languages other than English: a text's language, its function words and the stems of its words, as tantivy names them.

A text has one language. An unclear text, such as a title of three words, counts as English, and so does a text of two
languages: a wrong language would split its words wrongly.
"""

import tantivy

from subcog_hooks.core.tables import read_rows
from subcog_hooks.text.vocabulary import STOP

MAX_READ = 600  # characters of a text
MIN_MARKS = 2  # different function words of a language in a text
MIN_SHARE = 0.15  # share of these function words among its words
MAX_TOKEN = 100  # characters, as in `analysis`

_SCRIPTS = (  # languages by the script of most letters
    ("greek", "\u0370", "\u03ff"),
    ("russian", "\u0400", "\u04ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("tamil", "\u0b80", "\u0bff"),
)
_NO_FUNCTION_WORDS = frozenset(("arabic", "greek", "romanian", "tamil", "turkish"))  # tantivy has none for these languages.

_LANGUAGES: dict[str, tuple[str, ...]] = {}  # function word -> languages
for _name, _words in read_rows(__file__, "languages.tsv"):
    for _word in _words.split():
        _LANGUAGES[_word] = (*_LANGUAGES.get(_word, ()), _name)
_EVERY_MARK = frozenset(_LANGUAGES)

_analysers: dict[tuple[str, bool], tantivy.TextAnalyzer] = {}  # Each takes .1 ms; the first text of its language needs it.


def language_of(text: str) -> str:
    """Return tantivy's name of a text's language, "" for English and for an unclear text.

    >>> language_of("Auf welchem Port lauscht PostgreSQL, und warum?"), language_of("¿Por qué usamos Redis y no Memcached?")
    ('german', 'spanish')
    >>> language_of("Почему мы храним сессии в Redis?"), language_of("Which port does the server listen on?")
    ('russian', '')
    """
    beginning = text[:MAX_READ]
    if not beginning.isascii():
        foreign = [c for c in beginning if c >= _SCRIPTS[0][1]]
        for language, first, last in _SCRIPTS if len(foreign) * 2 > sum(map(str.isalpha, beginning)) else ():
            if sum([first <= c <= last for c in foreign]) * 2 > len(foreign):
                return language
    elif len(_EVERY_MARK.intersection(beginning.lower().split())) < MIN_MARKS:
        return ""  # Most texts end here, after .01 ms.
    words = _folded_words(beginning)
    marks = _EVERY_MARK.intersection(words)
    counts: dict[str, int] = {}
    for mark in marks:
        for language in _LANGUAGES[mark]:
            counts[language] = counts.get(language, 0) + 1
    best = max(counts, key=lambda language: (counts[language], language), default="")
    best_words = [word for word in words if best in _LANGUAGES.get(word, ())]
    english = [word for word in words if word in STOP and best not in _LANGUAGES.get(word, ())]
    is_clear = counts.get(best, 0) >= MIN_MARKS and len(best_words) >= MIN_SHARE * len(words) and len(best_words) > len(english)
    return best if is_clear else ""


def _folded_words(text: str) -> list[str]:
    if not text.isascii():
        import unicodedata  # .2 ms, and most text is ASCII

        text = "".join([c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f"])
    return [word for piece in text.lower().split() if (word := piece.strip(".,;:!?()\"'\u00bf\u00a1\u201e\u201c\u201d"))]


def function_words(text: str, language: str) -> frozenset[str]:
    """Return the function words of a text in this language, folded, in lower case.

    >>> sorted(function_words("Auf welchem Port, und f\u00fcr uns?", "german"))
    ['auf', 'fur', 'und', 'uns', 'welchem']
    """
    words = frozenset(_analyser("", stems=False).analyze(text))
    marks = frozenset([word for word in words if language in _LANGUAGES.get(word, ())])
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
