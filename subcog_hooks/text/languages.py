"""Languages other than English: which one a text is in, its function words and the stems of its words, as tantivy knows them.

A text has one language. What can not be told, as a title of three words, is taken for English, and so is what is mixed half and
half: a wrong language would take its words apart wrongly.
"""

import tantivy

from subcog_hooks.text.vocabulary import STOP

MAX_READ = 600  # characters of a text by which its language is told
LEAST_MARKS = 2  # different function words of a language that a text has to have
LEAST_SHARE = 0.15  # of its words, when it is read by its function words
LONGEST_WORD = 100  # characters, as everywhere

# Function words by which a text is told, folded, in lower case; none that is an English word or a usual one of code.
_MARKS = {
    "danish": """
        af ikke hvad hvordan hvorfor hvor og det er jeg vi til fra kan skal efter eller noget blev bliver vores
    """,
    "dutch": """
        het een niet wij hoe waarom waar welke wordt worden voor ook zijn heeft moet naar bij onze maar deze dit wat dan
        nog
    """,
    "finnish": """
        ja ei on se miksi miten mika missa kun joka joita meidan mutta myos ovat voi pitaa onko taman kuin ennen jos
    """,
    "french": """
        le les des une est pas nous vous je il elle pourquoi quel quelle quels dans avec du au aux cette ces sont ont
        avons etre peut notre nos mais donc ou et qui que
    """,
    "german": """
        der das und ist nicht wir ich ein eine einen einem einer wie warum wo welche welcher welches welchem welchen
        wird werden fur auf auch von zu dem sind haben kann konnen muss mussen soll noch nur aber oder wenn nach bei
        uber durch beim zum zur unser unsere mein meine gibt bitte wieder schon wurde
    """,
    "hungarian": """
        az es nem hogy miert hogyan melyik egy ez vagy csak mar meg kell lehet hol mikor nincs volt mert
    """,
    "italian": """
        il gli della dei delle di che non una come dove quando perche quale sono abbiamo nostro nostra anche ma questo
        questa essere nel nella alla
    """,
    "norwegian": """
        av ikke hva hvordan hvorfor hvor og det er jeg vi til fra kan skal etter eller noe ble blir
    """,
    "portuguese": """
        uma nao que por qual onde esta sao nosso nossa mas foi tem temos fazer voce quando pelo pela isso este e ou dos
        das
    """,
    "romanian": """
        si nu este cum unde care pentru sunt avem mai din dar sau cand acest aceasta
    """,
    "spanish": """
        el los las del que una por para como cual cuando donde esta este estos hay nuestro nuestra pero tambien fue
        tiene tenemos hacer y se
    """,
    "swedish": """
        och att inte vi hur varfor vilken vilka ar ett det som till fran har kan ska vara eller efter nagot blev blir
    """,
    "turkish": """
        ve bir bu icin neden nasil nerede hangi ile degil yok ama olarak daha gibi
    """,
}
_SCRIPTS = (  # languages by the letters of which most of a text is made
    ("greek", "\u0370", "\u03ff"),
    ("russian", "\u0400", "\u04ff"),
    ("arabic", "\u0600", "\u06ff"),
    ("tamil", "\u0b80", "\u0bff"),
)
_NO_FUNCTION_WORDS = frozenset(("arabic", "greek", "romanian", "tamil", "turkish"))  # that tantivy knows

_LANGUAGES: dict[str, tuple[str, ...]] = {}  # of each mark
for _name, _words in _MARKS.items():
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
