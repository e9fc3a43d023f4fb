"""The type of a query, one of S1's five, from its spelling alone. The balance of words and vectors depends on it.

A text has the first of its lines' types in S1's order. Words are looked up in tables: regular expressions would cost the hook
3 ms to import.
"""

from itertools import pairwise

from subcog_hooks.text.typed_prompt import lines_outside_code, quoted_phrases

EXACT_QUOTE = "exact_quote"  # "not a conventional company"
ENTITY = "entity"  # Oak Ridge laboratories, parse_args
CONCEPTUAL = "conceptual"  # how does auth work
FACTUAL = "factual"  # revenue 2024, E0308
EXPLORATORY = "exploratory"  # machine learning

_QUESTIONS = frozenset("how why what when where who which".split())
_OPENERS = frozenset("hey hi hello ok okay so well and but please thanks".split())  # A question may begin behind these words.
_UNDERSTANDING = ("explain", "describ", "understand", "concept", "differen", "compar", "versus", "tradeoff", "trade-off")
_METRICS = ("price", "pricing", "cost", "revenue", "budget", "version", "release")
MIN_DIGITS = 3  # A word with fewer, and without another sign, names no value.
_EDGES = ".,;:!?()[]{}<>\"'`*_~|-\u2013\u2014\u2026\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_ENDS = (".", "!", "?", ":")


def classify_query(text: str) -> str:
    """Return the type of a query: exact_quote, entity, conceptual, factual or exploratory.

    entity: a capitalised word inside a sentence, or an identifier. Both are found by their spelling, hence S1's .6 for words; a
    vector knows neither a person nor `parse_args`. Acronyms are no names. conceptual: a question, or asks to understand.
    factual: names a value, such as a year, version, code or price.

    >>> classify_query("Oak Ridge laboratories"), classify_query("how does auth work"), classify_query("revenue 2024")
    ('entity', 'conceptual', 'factual')
    >>> classify_query("machine learning"), classify_query("what is JWT"), classify_query("where is parse_args tested")
    ('exploratory', 'conceptual', 'entity')
    """
    if quoted_phrases(text):
        return EXACT_QUOTE
    sentences = [sentence for line in lines_outside_code(text) for sentence in _sentences(line)]
    if any(_is_entity(sentence) for sentence in sentences):
        return ENTITY
    if any(_is_question(sentence) for sentence in sentences):
        return CONCEPTUAL
    return FACTUAL if any(_is_value(word) for sentence in sentences for word in sentence) else EXPLORATORY


def _sentences(line: str) -> list[list[str]]:
    """Return the words of each sentence in a line."""
    sentences: list[list[str]] = [[]]
    for word in line.split():
        if any(map(str.isalnum, word)):
            sentences[-1].append(word)
        if word.endswith(_ENDS):
            sentences.append([])
    return sentences


def _is_entity(sentence: list[str]) -> bool:
    """Return whether a sentence has an identifier or a name. Where each word has a capital, as in a heading, none is a name."""
    bare = [word.strip(_EDGES) for word in sentence]
    has_name = any(word[:1].isupper() and word[1:2].islower() for word in bare[1:])
    return (has_name and any(word[:1].islower() for word in bare)) or any(map(_is_identifier, sentence))


def _is_identifier(word: str) -> bool:
    """Return whether a word is a name in code: parse_args, HttpClient, src/app/db.py, foo::bar, --dry-run, run().

    >>> [word for word in "this.props 3.12 i.e. @cached C:\\\\x client/server $5 MHz useEffect".split() if _is_identifier(word)]
    ['this.props', '@cached', 'C:\\\\x', 'useEffect']
    """
    bare = word.strip(_EDGES)
    stem, _, extension = bare.rpartition(".")
    return any(map(str.isalpha, bare)) and (
        any(sign in word for sign in ("`", "()", "\\"))
        or any(sign in bare for sign in ("_", "::"))
        or (word.startswith(("--", "@", "$", "/", "~/")) and word.lstrip("-@$~/")[:1].isalpha())
        or bare.count("/") > 1
        or (len(stem) > 1 and stem.replace(".", "").isalpha() and extension[:1].isalpha())
        or any(left.islower() and right.isupper() for left, right in pairwise(bare))
    )


def _is_question(sentence: list[str]) -> bool:
    words = [word.strip(_EDGES).lower().replace("\u2019", "'") for word in sentence]
    first = next((word for word in words if word not in _OPENERS), "")
    return first.partition("'")[0] in _QUESTIONS or any(word.startswith(_UNDERSTANDING) or word == "vs" for word in words)


def _is_value(word: str) -> bool:
    """Return whether a word is a metric, a year, a version, an amount or a code.

    >>> [word for word in "costs E0308 v2.3 $5 30% #87 top 5 k8s".split() if _is_value(word)]
    ['costs', 'E0308', 'v2.3', '$5', '30%', '#87']
    """
    bare = word.strip(_EDGES)
    digits = sum(map(str.isdigit, bare))
    return digits >= MIN_DIGITS or (digits > 0 and not bare.isalnum()) or bare.lower().startswith(_METRICS)
