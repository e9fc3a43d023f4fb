"""The topics of a prompt: the few words that a search should use, the most telling first. Pure."""

from __future__ import annotations

from subcog_hooks.intent.keywords import is_file
from subcog_hooks.intent.kinds import MAX_TOPICS
from subcog_hooks.intent.matcher import END, QUESTION
from subcog_hooks.text.vocabulary import ACKNOWLEDGED, CLASSES, FILLERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_ASKED = 60  # different words of a prompt whose rarity is asked for
LONGEST_TOPIC = 80  # characters of a topic; what is longer is data
LETTERS = ("C", "R")  # that are names: of languages
LONGEST_COUNT = 2  # digits of a number that counts something: 101 and 8080 are names

# Chosen so that an identifier stands before any word, and a word of the store before one that no memory has.
IDENTIFIER = 3.0  # what a word gains that only code writes so, or that is a file or a code
COMMON = 2.0  # what a word loses that says what to do or that something is wrong, rather than with what
UNKNOWN = 1.0  # the rarity of a word that no memory has; a store's word counts from KNOWN on, more as it is rarer
KNOWN = 1.5  # what a word of the store counts before its rarity

_WORK = ("build", "change", "review", "small", "order", "fix", "function", "fault", "done", "symptom", "size")
_TALK = ("acknowledgement", "goon", "want", "reveal", "auxiliary", "negation", "swearing", "those")
_EVERYDAY = """
    way best better today tomorrow yesterday time times question help current currently part parts kind sort case cases example
    idea ideas reason mean means set put puts
    """.split()
_POOR = frozenset(  # topics only where there is no other
    """
    difference differences different differ between last next remaining left during through against within across among per via
    such using used whether however instead ever never always often usually take takes taken taking seem seems come comes say
    tell told ask asked happen happens happened happening anyway someone somebody everybody his
    """.split()
)
_COMMON = frozenset().union(*(CLASSES[name] for name in (*_WORK, *_TALK)), _EVERYDAY)
_NO_TOPICS = FILLERS.union(
    *(CLASSES[name] for name in ("acknowledgement", "auxiliary", "swearing", "those")),
    ACKNOWLEDGED,
    ("sounds", "looks", "since", END, QUESTION),
).difference(_POOR)


def topics(words: Sequence[str], rarity: Callable[[str], float | None] | None = None) -> tuple[str, ...]:
    """Return at most MAX_TOPICS of the words of a prompt as they were typed, the most telling first.

    words: those of `matcher.words_of`.

    rarity: of a word among the memories, 0.0 (all have it) to 1.0, None when none has it; without a store, None.
    Identifiers stay whole and as they are written; else lower case.

    >>> topics("Why does parse_args drop the timeout of the webhook ?".split())
    ('parse_args', 'webhook', 'drop', 'timeout')
    >>> topics("what is the difference between C and C++ ?".split()), topics("what is next ?".split())
    (('C', 'C++'), ('next',))
    """
    weights: dict[str, float] = {}
    poor: list[str] = []
    shown: dict[str, str] = {}
    for word in words:
        lowered = word.lower()
        if lowered in weights or lowered in _NO_TOPICS or not any(map(str.isalnum, word)):
            continue
        if lowered in _POOR:
            poor.append(lowered)
            continue
        is_letter = len(word) == 1 and word.isascii() and word not in LETTERS
        if is_letter or len(word) > LONGEST_TOPIC or len(weights) >= MAX_ASKED or _is_count(word):
            continue
        is_telling = is_identifier(word)
        weight = IDENTIFIER if is_telling else 0.0
        if lowered in _COMMON:
            weight -= COMMON
        known = rarity(word) if rarity else None
        weights[lowered] = weight + (UNKNOWN if known is None else KNOWN + known)
        shown[lowered] = word if is_telling else lowered
    ordered = sorted(weights, key=weights.__getitem__, reverse=True)  # stable: of equals the first that was written
    return tuple(shown[word] for word in ordered[:MAX_TOPICS]) or tuple(dict.fromkeys(poor))[:MAX_TOPICS]


def is_identifier(word: str) -> bool:
    """Return whether only code, a file name, a code or a version is written so.

    >>> [is_identifier(word) for word in ("parse_args", "useEffect", "src/db.py", "E0308", "101", "OAuth2", "GitHub")]
    [True, True, True, True, True, True, True]
    >>> [is_identifier(word) for word in ("C++", "F#", ".NET", ".github")]
    [True, True, True, True]
    >>> [is_identifier(word) for word in ("Redis", "HTTP", "20", "50%")]
    [False, False, False, False]
    """
    if "_" in word.strip("_") or "::" in word or word[0] == "." or word.endswith(("()", "++", "#")):
        return True
    if word in LETTERS or is_file(word):
        return True
    if any(map(str.isdigit, word)):
        return not _is_count(word)
    inner = word[1:]
    return not inner.isupper() and any(map(str.isupper, inner)) and not word.isupper()


def _is_count(word: str) -> bool:
    number = word.strip("%")
    return len(number) <= LONGEST_COUNT and number.isdigit()
