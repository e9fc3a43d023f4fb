"""Languages other than English: a text's language, as tantivy names it.

A text has one language. An unclear text, such as a title of three words, counts as English, and so does a text of two
languages: a wrong language would split its words wrongly.
"""

from __future__ import annotations

from subcog_hooks.core.tables import read_rows
from subcog_hooks.text.typed_prompt import LATIN_END
from subcog_hooks.text.vocabulary import STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_READ = 600  # characters of a text
MIN_MARKS = 2  # different function words of a language in a text
MIN_SHARE = 0.15  # share of these function words among its words
MIN_SCRIPT_SHARE = 0.2  # share of letters of other scripts
MIN_MARK_SHARE = 0.08

_SCRIPTS = (  # languages by the script of most letters
    ("greek", "\u0370", "\u03ff"),
    ("russian", "\u0400", "\u04ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("tamil", "\u0b80", "\u0bff"),
)

_SHARED = frozenset("a am an as do in is me no on or so was".split())  # words of English and of others
_ROWS = [(name, words.split()) for name, words in read_rows(__file__, "languages.tsv")]
_EVERY_MARK = frozenset([word for _, words in _ROWS for word in words])
_by_mark: dict[str, tuple[str, ...]] = {}  # languages of each mark; most prompts do not need it


def _languages_by_mark() -> dict[str, tuple[str, ...]]:
    if not _by_mark:
        for name, words in _ROWS:
            for word in words:
                _by_mark[word] = (*_by_mark.get(word, ()), name)
    return _by_mark


def _count_by_language(marks: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for mark in marks:
        for language in languages_of_word(mark):
            counts[language] = counts.get(language, 0) + 1
    return counts


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
    counts = _count_by_language(_EVERY_MARK.intersection(words))
    best = max(counts, key=lambda language: (counts[language], language), default="")
    best_words = [word for word in words if best in languages_of_word(word)]
    english = [word for word in words if word in STOP and best not in languages_of_word(word)]
    is_clear = counts.get(best, 0) >= MIN_MARKS and len(best_words) >= MIN_SHARE * len(words) and len(best_words) > len(english)
    return best if is_clear else ""


def languages_of_word(word: str) -> tuple[str, ...]:
    """Return the languages that a folded word identifies, () for most words."""
    return _languages_by_mark().get(word, ())


def is_function_word(word: str) -> bool:
    """Return whether a word identifies another language than English, because it is one of its function words.

    >>> [is_function_word(word) for word in ("für", "Что", "Schlüssel")]
    [True, True, False]
    """
    return any(folded in _EVERY_MARK for folded in _folded_words(word))


def is_foreign(text: str) -> bool:
    """Return whether a text is in another language than English, as far as its letters and function words tell.

    >>> [is_foreign(text) for text in ("Wie drehen wir die Schlüssel?", "CIの鍵はどこ", "How are the keys rotated?", "Café?")]
    [True, True, False, False]
    """
    beginning = text[:MAX_READ]
    if not beginning.isascii():
        letters = [c for c in beginning if c.isalpha()]
        if sum([c >= LATIN_END for c in letters]) > MIN_SCRIPT_SHARE * len(letters):
            return True
    elif _EVERY_MARK.isdisjoint(beginning.lower().split()):
        return False  # Most texts end here, after .01 ms.
    words = _folded_words(" ".join([word for word in beginning.split() if len(word) == 1 or not word.isupper()]))
    marks = _EVERY_MARK.intersection(words) - STOP
    accented = _accented_words(beginning) - _EVERY_MARK - STOP
    count = max(_count_by_language(marks).values()) + len(accented) if marks else 0  # names have accents in English, too
    english = STOP.intersection(words) - marks - _SHARED
    return count >= MIN_MARKS and count > len(english) and count >= MIN_MARK_SHARE * len(words)


def _accented_words(text: str) -> set[str]:
    """Return the folded words of a text that have Latin letters beyond ASCII."""
    if text.isascii():
        return set()
    accented = [word for word in text.split() if any(c.isalpha() and "\x7f" < c < LATIN_END for c in word)]
    return set(_folded_words(" ".join(accented)))


def _folded_words(text: str) -> list[str]:
    if not text.isascii():
        import unicodedata  # .2 ms, and most text is ASCII

        text = "".join([c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f"])
    pieces = text.lower().replace("\u2019", "'").replace("'", " ").split()
    return [word for piece in pieces if (word := piece.strip(".,;:!?()\"'\u00bf\u00a1\u201e\u201c\u201d"))]
