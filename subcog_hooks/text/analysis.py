"""The tokens of a text as the index has them: words, identifiers and their parts, stems, and function words of languages."""

from __future__ import annotations

import _datetime  # type: ignore[import-not-found]  # It has no types.
import sys
from itertools import pairwise

from subcog_hooks.core.files import read_rows
from subcog_hooks.core.quiet_imports import DeferredImport
from subcog_hooks.text import languages
from subcog_hooks.text.languages import is_unspaced

# Of `types` and `datetime`, tantivy needs four classes; the whole modules take a seventh of a bare interpreter to load.
with DeferredImport("types", SimpleNamespace=type(sys.implementation)), DeferredImport("datetime", **vars(_datetime)):
    import tantivy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
    if (language, stems) not in _analysers:
        filters = tantivy.Filter
        by_language = [filters.stemmer(language)] if stems else [filters.stopword(language)] if language else []
        _analysers[language, stems] = _build_analyser(tantivy.Tokenizer.simple(), *by_language, filters.ascii_fold())
    return _analysers[language, stems]


def _build_analyser(tokenizer: tantivy.Tokenizer, *filters: tantivy.Filter) -> tantivy.TextAnalyzer:
    """Return an analyser that lower-cases tokens before the filters; a regex tokenizer would take .5 ms to compile."""
    builder = tantivy.TextAnalyzerBuilder(tokenizer).filter(tantivy.Filter.remove_long(MAX_TERM))
    for text_filter in (tantivy.Filter.lowercase(), *filters):
        builder = builder.filter(text_filter)
    return builder.build()


BASES = {form: base for base, forms in read_rows(__file__, "irregular.tsv") for form in forms.split()}
MAX_TERM = 100  # characters; longer runs are encoded data, not words
BODY = "body"
EXACT = "exact"
CJK = "cjk"

_FOREIGN_SIGNS = "\u00a1\u00ab\u00bb\u00bf\u060c\u061b\u061f\u066a\u06d4\u0964\u201a\u201e\u2039\u203a\u30fb"
_CJK_SIGNS = "".join(map(chr, (*range(0x3001, 0x3004), *range(0x3008, 0x3012), *range(0x3014, 0x3020))))
_BREAKS = str.maketrans(
    dict.fromkeys('()[]{}<>"`,;!?=|*&^~%:\u00b4\u2018\u201c\u201d\u2013\u2014\u2026' + _FOREIGN_SIGNS + _CJK_SIGNS, " ")
)
_TRIM = "./\\-@_'"  # They are cut at the ends of a token; inside they join it: src/app/db.py, v2.1, parse_args.

# French and Italian articles and pronouns without their vowel
_ELIDED = frozenset("c d dell j l m n nell qu s sull t".split())
_LAST_OF_ELIDED = frozenset("cdjlmnstu")
_OPENING = '([{<"\u00ab\u201c\u201e'

# Names that have a sign in place of letters, by the sign and the letter before it
_SIGNED_NAMES = {"++": {"c": "cpp", "g": "gpp"}, "#": {"c": "csharp", "f": "fsharp"}, "*": {"a": "astar", "d": "dstar"}}
_BEFORE_NAME = _OPENING + "`'|,"

_MARKS = dict.fromkeys(range(0x300, 0x370))
_EDGES = '.,;:!?()[]{}<>"`*_=|/\\'


class Analysers:
    """tantivy's analysers for the two tokenised views; creating them takes some microseconds."""

    __slots__ = ("body", "exact")

    def __init__(self) -> None:
        tokenizer, filters = tantivy.Tokenizer, tantivy.Filter
        self.body = _build_analyser(tokenizer.simple(), filters.ascii_fold(), filters.stemmer("english"))
        self.exact = _build_analyser(tokenizer.whitespace(), filters.ascii_fold())

    def register(self, index: tantivy.Index) -> None:
        """Register the analysers: tantivy does not store them, so every open needs it."""
        index.register_tokenizer("subcog_body", self.body)
        index.register_tokenizer("subcog_exact", self.exact)

    def body_terms(self, text: str) -> list[str]:
        """Return the terms of the `body` view of a raw text, in order.

        >>> Analysers().body_terms("HttpClient's retries")
        ['httpclient', 'http', 'client', 'retri']
        """
        return list(self.body.analyze(spread_words(fold(text))))


def fold(text: str) -> str:
    """Return `text` without apostrophes and the possessive 's, and beyond ASCII in plain letters without diacritics.

    Letters keep their case: identifiers are split by it later. Names with signs are spelled in letters.

    >>> fold("the user’s Café doesn't ﬁle"), fold("A*'s port to C++17")
    ('the user Cafe doesnt file', 'astar port to cpp17')
    """
    text = spell_signs(text)
    if text.isascii():
        return _close_apostrophes(text)
    import unicodedata  # .2 ms, and most text is ASCII

    decomposed = unicodedata.normalize("NFKD", _close_apostrophes(text.replace("\u2019", "'").replace("\u02bc", "'")))
    bare = decomposed.translate(_MARKS)  # only the marks that NFKD splits off letters
    text = unicodedata.normalize("NFC", bare)
    if not any(map(is_unspaced, set(text))):
        return text
    pieces: list[str] = []
    for before, c in pairwise(f" {text}"):
        if before.isalnum() and c.isalnum() and is_unspaced(c) != is_unspaced(before):
            pieces.append(" ")  # `Redis` in `キャッシュにはRedisを使う` is a word.
        pieces.append(c)
    return "".join(pieces)


def spell_signs(text: str) -> str:
    """Return `text` with names such as C++ and A*, and the operator :=, in letters.

    >>> spell_signs("C#, (F#) and g++; A*. *Plan A*, 2*a*b, **a**, src/a*, `A*`, issue #3"), spell_signs("n:=1")
    ('csharp, (fsharp) and gpp; astar. *Plan A*, 2*a*b, **a**, src/a*, `astar`, issue #3', 'n walrus 1')
    """
    for sign, names in _SIGNED_NAMES.items():
        if sign in text:
            pieces = text.split(sign)
            spelled: list[str] = []
            for position, (piece, behind) in enumerate(pairwise(pieces)):
                name = names.get(piece[-1:].lower(), "")
                if name and (behind[:1].isalpha() or not _may_begin_name(piece[-2:-1], sign)):
                    name = ""
                if name and sign == "*" and ((position and piece[:1].isalnum()) or not (behind or position + 2 == len(pieces))):
                    name = ""  # It closes an emphasis.
                spelled += (piece[:-1], name) if name else (piece, sign)
            text = "".join((*spelled, pieces[-1]))
    return text.replace(":=", " walrus ")


def _may_begin_name(before: str, sign: str) -> bool:
    """Return whether a name may begin behind this character; a star may also multiply, or stand for files."""
    if sign == "*":
        return not before or before.isspace() or before in _BEFORE_NAME
    return not (before.isalnum() or before == "_")


def _close_apostrophes(text: str) -> str:
    """Return `text` without apostrophes.

    >>> _close_apostrophes("the user's, don't, l'index qu'il n'utilise, d'Argo")
    'the user, dont, l index qu il n utilise, d Argo'
    """
    pieces = text.split("'")
    parts = pieces[:1]
    for before, piece in pairwise(pieces):
        is_possessive = piece[:1] in "sS" and not piece[1:2].isalnum()
        if not is_possessive and piece[:1].isalpha() and before[-1:].lower() in _LAST_OF_ELIDED:
            word = before.rsplit(None, 1)[-1].lstrip(_OPENING)
            parts += [" "] if word.lower() in _ELIDED else []
        parts.append(piece[1:] if is_possessive else piece)
    return "".join(parts)


def spread_words(text: str) -> str:
    """Return `text` with irregular forms as their base, and behind each camelCase or letter-digit word its parts.

    >>> spread_words("we chose HttpClient or OAuth2, not utf8")
    'we choose HttpClient Http Client or OAuth2, Auth OAuth not utf8 utf'
    >>> spread_words("on .NET 8")
    'on .NET dotNET 8'
    """
    words: list[str] = []
    bases: list[str] = []  # They come last, so that neighbouring words stay neighbours.
    for word in text.split():
        if word.islower() and word.isalpha():  # Most words. The checks below take four times as long.
            words.append(BASES.get(word, word))
            continue
        bare = word if word.isalpha() else word.strip(_EDGES)
        if bare.isalpha() and (bare.islower() or bare.isupper() or bare[1:].islower()):
            words.append(BASES.get(bare.lower(), word))
            if word[0] == "." and word.startswith(bare, 1):  # `.NET` is no `mail.net`, and `dotnet` its other name.
                words.append(f"dot{bare}")
            continue
        words.append(word)
        if any(map(str.isalnum, bare)):
            stretches = _stretches(word)
            parts = _parts_of(stretches)
            words += parts
            pieces = (*(stretch for stretch, _ in stretches), *parts)
            bases += [BASES[piece] for piece in map(str.lower, pieces) if piece in BASES]
    return " ".join(words + bases)


def _parts_of(stretches: Sequence[tuple[str, bool]]) -> list[str]:
    """Return a word's humps, and its runs of letters without digits, by which the word is found, too.

    >>> _parts_of(_stretches("parseHTTPResponse2")), _parts_of(_stretches("snake_case"))
    (['parse', 'HTTP', 'Response', 'parseHTTPResponse'], [])
    """
    parts: list[str] = []
    for stretch, has_digit in stretches:
        if not (stretch.islower() or stretch.isupper()):
            humps = _split_humps(stretch)
            parts += [hump for hump in humps if len(hump) > 1 and len(humps) > 1]
        if has_digit and len(stretch) > 2:
            parts.append(stretch)
    return parts


def _stretches(word: str) -> list[tuple[str, bool]]:
    """Return the runs of letters in a word, and whether each has a digit beside it."""
    kinds = word.translate(_KINDS) if word.isascii() else "".join(map(_kind, word))
    runs = (run.split(_DIGIT) for run in kinds.split(" "))
    return [(stretch, len(stretches) > 1) for stretches in runs for stretch in stretches if stretch]


def _kind(c: str) -> str:
    return c if c.isalpha() else _DIGIT if c.isdigit() else " "


_DIGIT = "\x01"
_KINDS = [_kind(chr(code)) for code in range(128)]


def _split_humps(stretch: str) -> list[str]:
    humps: list[str] = []
    start = 0
    for i in range(1, len(stretch)):
        upper = stretch[i].isupper()
        if upper and (not stretch[i - 1].isupper() or (i + 1 < len(stretch) and stretch[i + 1].islower())):
            humps.append(stretch[start:i])
            start = i
    humps.append(stretch[start:])
    return humps


def whole_tokens(text: str) -> list[str]:
    """Return the whole tokens of a folded text: words, identifiers, versions, paths.

    >>> whole_tokens("in src/app/db.py:42, std::vec (C++) or foo.bar().")
    ['in', 'src/app/db.py', '42', 'std::vec', 'C++', 'or', 'foo.bar']
    >>> whole_tokens("on .NET, not ./net or ..."), whole_tokens(".env.")
    (['on', '.NET', 'not', 'net', 'or'], ['.env'])
    """
    words = text.replace("::", "\x00").translate(_BREAKS).split()
    tokens = [word.strip(_TRIM) for word in words]
    for position, word in enumerate(words):
        if word[0] == "." and word.startswith(tokens[position], 1) and tokens[position].isalpha():
            tokens[position] = f".{tokens[position]}"
    return [token.replace("\x00", "::") for token in tokens if token]


def bare_words(text: str) -> list[str]:
    """Return the words of a text for comparing long forms of acronyms: without hyphens, signs at the ends, and a plural's s.

    >>> bare_words("Conflict-free replicated data types (CRDTs)")
    ['conflict', 'free', 'replicated', 'data', 'type', 'crdt']
    """
    words = [word.strip(_EDGES).rstrip("s") for word in fold(text).replace("-", " ").lower().split()]
    return [word for word in words if word]


def label_form(label: str) -> str:
    """Return the comparable form of a tag or keyword: its words, folded, in lower case.

    >>> label_form("Area:Backend"), label_form("error-handling"), label_form(".NET"), label_form("Café menu")
    ('area backend', 'error handling', 'net', 'cafe menu')
    """
    return " ".join([word.lstrip(".") for word in whole_tokens(fold(label).replace("-", " ").replace("_", " "))]).lower()


def exact_view(text: str) -> str:
    """Return the `exact` view of a folded text: whole tokens, and the last component of paths and dotted names.

    >>> exact_view("src/app/db.py calls Allocator.findBest v2.1")
    'src/app/db.py db.py calls Allocator.findBest findBest v2.1'
    """
    tokens: list[str] = []
    for token in whole_tokens(text):
        tokens.append(token)
        if "/" in token or "\\" in token:
            tokens.append(token.replace("\\", "/").rpartition("/")[2])
        elif "." in token or "::" in token:
            last = token.replace("::", ".").rpartition(".")[2]
            if len(last) > 2 and not last[0].isdigit():
                tokens.append(last)
    return " ".join(tokens)
