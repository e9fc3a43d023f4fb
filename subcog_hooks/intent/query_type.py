"""The type of a query, one of S1's five, from its spelling alone. The balance of words and vectors depends on it.

A text has the first of its lines' types in S1's order. So a line never changes the type of another. Lines are split at
blanks and looked up in tables. Regular expressions would cost the hook 3 ms to import. It never fails.
"""

from subcog_hooks.core.files import read_words
from subcog_hooks.text.prompt_needs import lines_outside_code, quoted_phrases
from subcog_hooks.text.vocabulary import SMALL_WORDS

EXACT_QUOTE = "exact_quote"  # "not a conventional company"
ENTITY = "entity"  # Oak Ridge laboratories, parse_args
CONCEPTUAL = "conceptual"  # how does auth work
FACTUAL = "factual"  # revenue 2024, E0308
EXPLORATORY = "exploratory"  # machine learning

_WORDS = read_words(__file__, "query_type.tsv")

# --- questions
REASONS, POINTERS = _WORDS["reasons"], _WORDS["pointers"]
UNDERSTANDING, DEFINING, INDIRECT = _WORDS["understanding"], _WORDS["defining"], _WORDS["indirect"]
CONTRACTED = {"whats": "what", "hows": "how", "whys": "why", "whos": "who", "wheres": "where", "whens": "when"}
AUXILIARIES, BEING, DETERMINERS = _WORDS["auxiliaries"], _WORDS["being"], _WORDS["determiners"]
GREETINGS = _WORDS["greetings"]
OPENERS = GREETINGS | _WORDS["openers"]

# --- values
METRICS, NOT_AFTER_METRICS = _WORDS["metrics"], _WORDS["not after metrics"]
NUMBERED, MONTHS, UNITS = _WORDS["numbered"], _WORDS["months"], _WORDS["units"]
NAMES_WITH_NUMBERS = _WORDS["names with numbers"]
MAX_CODE_PREFIX = 8  # letters: SQLSTATE40001
CURRENCIES = "$\u20ac\u00a3\u00a5"

# --- names
NEVER_NAMES = MONTHS | _WORDS["weekdays"]
_LOWER_IN_HEADINGS = SMALL_WORDS | {"but", "into", "nor", "onto", "via", "vs"}
ABBREVIATIONS, GERMAN, ENGLISH = _WORDS["abbreviations"], _WORDS["german"], _WORDS["english"]

_EDGES = (  # ASCII; dashes and typographic quotes; full-width
    ".,;:!?()[]{}<>\"'`*_~|-"
    "\u2013\u2014\u2026\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
    "\u300c\u300d\u3001\u3002\uff0c\uff1a\uff1f\uff01"
)
# A capital behind one of these signs says as little as at a sentence's start.
_OPENING = tuple("([{\"'\u2018\u201a\u201c\u201e\u00ab\u300c")
_CLOSING = ")]}\"'`*_\u2019\u201d\u201c\u00bb\u300d"
_ENDS = tuple(".!?:\u2026\u3002\uff1a\uff1f\uff01")
_BEFORE_CODE = "([{\"'"
_BEHIND_CODE = ",.;:!?)]}\"'"
_COMMAS = tuple(",;\uff0c\u3001")
_PAUSES = (",", "(")
_APART = str.maketrans(dict.fromkeys(_EDGES + "/\\+=&@#$%", " "))
_HEX = frozenset("0123456789abcdef-")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_AT_START, _BEHIND_A_PAUSE, _INSIDE = 2, 1, 0  # positions in a sentence
_QUESTIONS = REASONS | POINTERS
_BEFORE_NUMBERS = NUMBERED | MONTHS
_BEHIND_NUMBERS = MONTHS | UNITS


def classify_query(text: str) -> str:
    """Return the type of a query: exact_quote, entity, conceptual, factual or exploratory.

    entity: a name (a capital that no sentence start, heading or German noun explains) or an identifier in code. Both are found
    by their spelling, hence S1's .6 for words; a vector knows neither a person nor `parse_args`. It wins over the question
    around it, as in S1, but not over the bare definition ("what is Kubernetes"). Acronyms are no names.

    conceptual: a question, or asks to understand. factual: names a value (year, version, code, price) and is no question.

    Questions in another language than English are not recognised: such a text is exploratory, unless it names or quotes
    something.

    The time is linear in the length of the text: .02 ms for 100 characters, .7 ms for 4,000.

    >>> classify_query("Oak Ridge laboratories"), classify_query("how does auth work"), classify_query("revenue 2024")
    ('entity', 'conceptual', 'factual')
    >>> classify_query("machine learning"), classify_query("what is JWT"), classify_query("where is parse_args tested")
    ('exploratory', 'conceptual', 'entity')
    """
    if quoted_phrases(text):
        return EXACT_QUOTE
    query_type = EXPLORATORY
    for line in lines_outside_code(text):
        words = line.split()
        if not words:
            continue
        if _has_code_span(line) or any(map(_is_identifier, words)):
            return ENTITY
        bare = [word.strip(_EDGES) for word in words]
        german = _is_german(bare)
        for sentence in _sentences(words, bare):
            if not german and _has_name(sentence):
                return ENTITY
            if query_type != CONCEPTUAL:
                query_type = _question_type(sentence) or query_type
    return query_type


def _has_code_span(line: str) -> bool:
    return "`" in line and any(any(map(str.isalpha, span)) for span in line.split("`")[1:-1:2])


def _is_identifier(word: str) -> bool:
    """Return whether a word is a name in code by its form alone.

    Examples: parse_args, HttpClient, src/app/db.py, foo::bar, --dry-run, @cached, .env, run().
    """
    if word.isalpha():
        return _has_hump(word)
    bare = word.strip(_EDGES)
    if bare.isalpha() and word.startswith(bare):  # only punctuation follows
        return word.startswith("()", len(bare)) or _has_hump(bare)
    whole = word.lstrip(_BEFORE_CODE).rstrip(_BEHIND_CODE)
    name = whole.lstrip("-@$.{")
    if name[:1].isalpha() and whole.startswith(("--", "@", "$", ".")) and not whole.startswith(".."):
        return True
    if name[:1].isalpha() and whole[0] == "-" and not name[1:2].isalpha():  # -S, -f/--file
        return True
    if not any(map(str.isalpha, bare)):
        return False
    if "_" in bare or "::" in bare or (whole.startswith("__") and whole.endswith("__")):
        return True
    calls = word.find("()")
    if calls > 0 and word[calls - 1].isalnum():
        return True
    if _is_path(bare) or _is_dotted(bare):
        return True
    return bare[1:] != bare[1:].lower() and any(map(_has_hump, bare.translate(_APART).split()))


def _is_path(bare: str) -> bool:
    if bare.startswith(("/", "~/")) or bare[1:3] == ":\\" or bare.count("\\") > 1:
        return True
    return bare.count("/") > 1 and not bare.isupper()  # GET/POST/PUT and client/server are alternatives


def _is_dotted(bare: str) -> bool:
    """Return whether a word has a dot like names in code: this.props, db.py:42, node.js; not v2.x, v2.3.1, e.g, U.S."""
    if "." not in bare:
        return False
    pieces = bare.partition(":")[0].split(".")
    is_version = not pieces[0].strip("v0123456789")
    return pieces[-1][:1].isalpha() and not is_version and max(map(len, pieces)) > 1 and all(pieces)


def _has_hump(word: str) -> bool:
    """Return whether a word has a capital inside: useEffect, HttpClient, PostgreSQL; not Redis, JWT, JWTs, MHz."""
    if word[1:].islower() or word.islower() or word.isupper() or len(word) < 3 or not word[0].isalpha():
        return False
    if (word[-1] == "s" and word[:-1].isupper()) or word.lower() in UNITS:
        return False
    return any(map(str.islower, word)) and any(map(str.isupper, word[1:]))


def _is_german(bare: list[str]) -> bool:
    head = "".join(bare[:1]).lower()  # inside a line, MIT and Der are names
    german = (head in GERMAN) + sum(map(GERMAN.__contains__, bare[1:]))
    return german > 0 and german > (head in ENGLISH) + sum(map(ENGLISH.__contains__, bare[1:]))


def _sentences(words: list[str], bare_words: list[str]) -> list[list[str]]:
    """Return the sentences of a line as bare words, without list markers, with "," and "(" for pauses."""
    sentences: list[list[str]] = [[]]
    for position, (word, bare) in enumerate(zip(words, bare_words, strict=True)):
        if position == 0 and len(bare) < 3 and word.endswith((".", ")")) and (bare.isdigit() or len(bare) == 1):
            continue  # 1. 2) a)
        if bare.isalnum() or any(map(str.isalnum, bare)):
            if word.startswith(_OPENING):
                sentences[-1].append("(")
            sentences[-1].append(bare.replace("\u2019", "'"))
        if word == bare:
            continue
        tail = word.rstrip(_CLOSING)
        if tail.endswith(_COMMAS):
            sentences[-1].append(",")
        elif tail.endswith(_ENDS):
            is_initial = len(bare) == 1 and bare.isupper()
            if not tail.endswith(".") or not (is_initial or bare.lower() in ABBREVIATIONS):
                sentences.append([])
    return sentences


def _has_name(sentence: list[str]) -> bool:
    """Return whether a capital names something.

    Excluded are the start of a sentence, where every word has a capital; a heading without a lower-case word; a word before a
    number, which is then the subject (Python 3.12), unless that is a year; the one word of a definition question.
    """
    names = 0
    in_lower_case = False
    starts = True
    for position, word in enumerate(sentence):
        low = word.lower()
        if word in _PAUSES:
            starts = starts or word == "("
            continue
        if word[0].islower():
            in_lower_case = in_lower_case or low not in _LOWER_IN_HEADINGS
        elif not starts and low not in NEVER_NAMES and _is_capitalised(word):
            names += not _is_number(_word_at(sentence, position + 1))
        starts = starts and low in GREETINGS
    return in_lower_case and names > 0 and not (names == 1 and _is_definition(sentence))


def _is_capitalised(word: str) -> bool:
    """Return whether a word is capitalised like a name: Boston, Caroline's, O'Brien, X-Forwarded-For; not I'm, JWTs."""
    name, _, owner = word.partition("'")
    name = owner if owner[:1].isupper() else name
    return name[:1].isupper() and any(piece[:1].isupper() and piece[1:2].islower() for piece in name.split("-"))


def _is_number(word: str) -> bool:
    """Return whether a word is a number: 17, 3.12, v2; not a year, which may follow a name, and not 18th."""
    number = word.lstrip("v")
    is_year = len(number) == 4 and number.startswith(("19", "20")) and number.isdigit()
    return number.replace(".", "").isdigit() and not is_year


def _word_at(words: list[str], position: int) -> str:
    return words[position] if 0 <= position < len(words) else ""


def _is_definition(sentence: list[str]) -> bool:
    """Return whether a sentence only asks for one word's meaning: "what is X", "explain X"."""
    words = [word for word in _lower_words(sentence) if word not in OPENERS and word not in DETERMINERS and word not in _PAUSES]
    return (len(words) == 3 and words[0] == "what" and words[1] in BEING) or (len(words) == 2 and words[0] in DEFINING)


def _lower_words(sentence: list[str]) -> list[str]:
    """Return the words of a sentence in lower case, with "what's" as "what is"."""
    words: list[str] = []
    for word in sentence:
        low = word.lower()
        head = CONTRACTED.get(low) or low.partition("'")[0]
        words.append(head or low)
        if head != low and head in _QUESTIONS:
            words.append("is")
    return words


def _question_type(sentence: list[str]) -> str:
    """Return the type that a question's words tell: conceptual, factual or "".

    A sentence that begins with a question word asks to understand, as in S1, also where it names a value. How, why and what may
    also begin behind a comma or `tell me`, but not in `that is how it works`. `When I run it, …` is no question.
    """
    words = _lower_words(sentence)
    may_begin = _AT_START
    before = ""
    for position, word in enumerate(words):
        if word in UNDERSTANDING:
            return CONCEPTUAL
        if word in _PAUSES:
            may_begin = may_begin or _BEHIND_A_PAUSE
            continue
        if word in REASONS:
            begins = bool(may_begin) or before in INDIRECT
        elif word in ("when", "where"):
            is_question = _word_at(words, position + 1) in AUXILIARIES
            begins = may_begin > _INSIDE if is_question else may_begin == _AT_START and "," not in words[position:]
        else:
            begins = word in POINTERS and may_begin == _AT_START  # behind a comma it is a relative clause
        if begins:
            return CONCEPTUAL
        if word not in OPENERS:
            may_begin = _INSIDE
        before = word
    return FACTUAL if any(_is_value(sentence, position) for position in range(len(sentence))) else ""


def _is_value(sentence: list[str], position: int) -> bool:
    word = sentence[position]
    after = _word_at(sentence, position + 1).lower()
    if word.isalpha():
        return word.lower() in METRICS and after not in NOT_AFTER_METRICS
    if not word.isdigit():
        return any(map(str.isdigit, word)) and _is_exact(word)
    if len(word) > 2:
        return True  # a year, a status, a port
    before = _word_at(sentence, position - 1)
    if before.lower() in _BEFORE_NUMBERS or after in _BEHIND_NUMBERS:
        return True
    return before[:1].isupper() and (position > 1 or (before.isupper() and len(before) > 1))  # upgrade to Java 17, HTTP 2


def _is_exact(word: str) -> bool:
    """Return whether a word is a version, an amount, a date, a time, a code or a hash.

    The word has a digit and other characters.
    """
    low = word.lower()
    if word[0] in CURRENCIES or word[-1] in CURRENCIES or word[-1] == "%" or word[0] == "#" or low.startswith("0x"):
        return True
    prefix = low[: len(low) - len(low.lstrip(_LETTERS))]
    tail = low.removeprefix(prefix).lstrip("-")
    digits = sum(map(str.isdigit, low))
    if len(low) > 6 and digits > 2 and _HEX.issuperset(low):
        return True  # a commit, a UUID, a date
    if not tail[:1].isdigit():
        return False
    if not prefix:
        return digits > 5 or not {".", ":", ","}.isdisjoint(tail) or tail.lstrip("0123456789") in UNITS
    if prefix == "v" or "." in tail:
        return True  # v2, python3.12
    is_code = digits > 2 and tail.replace("-", "").isdigit() and len(prefix) <= MAX_CODE_PREFIX
    return is_code and prefix not in NAMES_WITH_NUMBERS
