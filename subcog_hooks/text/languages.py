"""Languages other than English: a text's language, as tantivy names it, and writing without blanks in pairs of characters.

A text has one language. An unclear text, such as a title of three words, counts as English, and so does a text of two
languages: a wrong language would split its words wrongly.
"""

from __future__ import annotations

from itertools import groupby

from subcog_hooks.core.files import read_rows, read_words
from subcog_hooks.text import STOP
from subcog_hooks.text.typed_prompt import LATIN_END

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

_UNSPACED = (  # code points of scripts without spaces between words
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai and Lao, Myanmar, Khmer
    *((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3040, 0x30FF), (0x3100, 0x318F)),  # radicals, kana, Bopomofo, single Hangul
    *((0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF)),  # ideographs, Hangul
    *((0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)
_function_words: dict[str, frozenset[str]] = {}  # read for the first text without spaces


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


def possible_languages(text: str) -> frozenset[str]:
    """Return the languages that a text may be in, by its function words or its script; none where neither tells.

    >>> [sorted(possible_languages(text)) for text in ("CIの鍵はどこ", "署名鍵", "que impuesto le meto al pienso", "keys")]
    [['japanese'], ['chinese', 'japanese'], ['french', 'portuguese', 'spanish'], []]
    >>> possible_languages("der Knopf 保存 speichert nicht sofort")
    frozenset({'german'})
    """
    beginning = text[:MAX_READ]
    unspaced = [c for c in beginning if "\u3040" <= c <= "\u30ff" or "\u4e00" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7af"]
    letters = sum(map(str.isalpha, beginning))
    if 2 * len(unspaced) <= letters:
        counts = _count_by_language(_EVERY_MARK.intersection(_folded_words(beginning)))
        most_marks = max(counts.values(), default=0)
        if most_marks >= MIN_MARKS:  # Neighbours share function words.
            return frozenset([language for language, count in counts.items() if count >= most_marks - 1])
    if len(unspaced) <= MIN_SCRIPT_SHARE * letters:
        return frozenset(filter(None, (language_of(text),)))
    if max(unspaced) >= "\uac00":
        return frozenset(("korean",))
    return frozenset(("japanese",) if min(unspaced) <= "\u30ff" else ("chinese", "japanese"))


def languages_of_word(word: str) -> tuple[str, ...]:
    """Return the languages that a folded word identifies, () for most words."""
    if not _by_mark:
        for name, words in _ROWS:
            for mark in words:
                _by_mark[mark] = (*_by_mark.get(mark, ()), name)
    return _by_mark.get(word, ())


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
    latin = [word for word in beginning.split() if any(c.isalpha() and "\x7f" < c < LATIN_END for c in word)]
    accented = {*_folded_words(" ".join(latin))} - _EVERY_MARK - STOP
    count = max(_count_by_language(marks).values()) + len(accented) if marks else 0  # names have accents in English, too
    english = STOP.intersection(words) - marks - _SHARED
    return count >= MIN_MARKS and count > len(english) and count >= MIN_MARK_SHARE * len(words)


def _folded_words(text: str) -> list[str]:
    if not text.isascii():
        import unicodedata  # .2 ms, and most text is ASCII

        text = "".join([c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f"])
    pieces = text.lower().replace("\u2019", "'").replace("'", " ").split()
    return [word for piece in pieces if (word := piece.strip(".,;:!?()\"'\u00bf\u00a1\u201e\u201c\u201d"))]


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of characters of scripts written without spaces.

    >>> unspaced_runs("use 東京都 and かな")
    ['東京都', 'かな']
    """
    if text.isascii() or max(text) <= "\u0dff":
        return []
    return ["".join(characters) for is_run, characters in groupby(text, is_unspaced) if is_run]


def is_unspaced(c: str) -> bool:
    """Return whether a character belongs to a script without spaces between words."""
    return c > "\u0dff" and any(low <= ord(c) <= high for low, high in _UNSPACED)


def bigrams(run: str) -> list[str]:
    """Return each character with the next, and the last alone: every substring of two is a term, every character begins one.

    >>> bigrams("東京都")
    ['東京', '京都', '都']
    """
    return [run[i : i + 2] for i in range(len(run))]


def is_function_pair(pair: str) -> bool:
    """Return whether two characters say little about a text's subject.

    >>> [pair for pair in ("です", "我们", "습니", "署名") if is_function_pair(pair)]
    ['です', '我们', '습니']
    """
    if not _function_words:
        _function_words.update(read_words(__file__, "unspaced_words.tsv"))
    if pair in _function_words["pairs"] or not _function_words["characters"].isdisjoint(pair):
        return True
    return all("\u3041" <= c <= "\u309f" for c in pair)  # hiragana


def count_words(text: str) -> int:
    """Return about how many words a text has, where some are written without spaces.

    >>> [count_words(text) for text in ("how are keys made", "CIの署名鍵はどうやって更新しますか", "키는 자주 갱신하나요")]
    [4, 7, 4]
    """
    unspaced = [c for run in unspaced_runs(text) for c in run]
    hangul = sum(["\uac00" <= c <= "\ud7af" for c in unspaced])  # It has spaces, but fewer than others.
    return len(text.split()) + (2 * len(unspaced) - hangul) // 5


def telling_words(run: str) -> list[str]:
    """Return the words of a run without spaces as far as its function words and changes of script tell.

    >>> telling_words("署名鍵はどうやって更新しますか"), telling_words("我们的签名密钥怎么更新")
    (['署名鍵', '更新'], ['签名密钥', '更新'])
    """
    words, begun = [], ""
    for c in run:
        is_function_word = is_function_pair(c)
        if begun and (is_function_word or ("\u30a0" <= c <= "\u30ff") != ("\u30a0" <= begun[-1] <= "\u30ff")):  # katakana
            words.append(begun)
            begun = ""
        begun += "" if is_function_word else c
    return [*words, begun] if begun else words


def spread_telling_words(text: str) -> str:
    """Return a text with blanks between the telling words of its runs without spaces.

    >>> spread_telling_words("CIの署名鍵はどこ?"), spread_telling_words("the signing key")
    ('CI 署名鍵 ?', 'the signing key')
    """
    pieces = []
    for is_run, characters in groupby(text, is_unspaced):
        piece = "".join(characters)
        pieces.append(f" {' '.join(telling_words(piece))} " if is_run else piece)
    return "\n".join(" ".join(line.split()) for line in "".join(pieces).split("\n"))
