"""The topics of a prompt: the most telling words, for a search; a follow-up borrows the earlier prompt's. Pure."""

from __future__ import annotations

from subcog_hooks.intent.keywords import END, MAX_TOPICS, NOTHING_SURELY, QUESTION, is_file
from subcog_hooks.text import ACKNOWLEDGED, CLASSES, FILLERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.store.sessions import LastPrompt

MAX_ASKED = 60  # different words of a prompt whose rarity is looked up
LONGEST_TOPIC = 80  # characters; a longer word is data
LETTERS = ("C", "R")  # names of languages
LONGEST_COUNT = 2  # digits of a mere count; 101 and 8080 are names

# Chosen so that an identifier stands before any word, and a word of the store before one that no memory has.
IDENTIFIER = 3.0  # a bonus for an identifier, a file or a code
COMMON = 2.0  # a deduction for a word that names the action or the fault rather than its object
UNKNOWN = 1.0  # the rarity of a word that no memory has
KNOWN = 1.5  # a word of the store counts this plus its rarity

_WORK = ("build", "change", "review", "small", "order", "fix", "function", "fault", "done", "symptom", "size")
_TALK = ("acknowledgement", "goon", "want", "reveal", "auxiliary", "negation", "swearing", "those")
_EVERYDAY = """
    way best better today tomorrow yesterday time times question help current currently part parts kind sort case cases example
    idea ideas reason mean means set put puts
    """.split()
_POOR = frozenset(  # topics only where a prompt has no other
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


def extract_topics(words: Sequence[str], rarity: Callable[[str], float | None] | None = None) -> tuple[str, ...]:
    """Return at most MAX_TOPICS of the words of a prompt as typed, the most telling first.

    words: of `keywords.split_prompt`. rarity: of a word among the memories, 0.0 (all have it) to 1.0, None when none has it;
    without a store, None. Identifiers keep their spelling, other words become lower case.

    >>> extract_topics("Why does parse_args drop the timeout of the webhook ?".split())
    ('parse_args', 'webhook', 'drop', 'timeout')
    >>> extract_topics("what is the difference between C and C++ ?".split()), extract_topics("what is next ?".split())
    (('C', 'C++'), ('next',))
    """
    weights: dict[str, float] = {}
    poor: list[str] = []
    spellings: dict[str, str] = {}
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
        word_rarity = rarity(word) if rarity else None
        weights[lowered] = weight + (UNKNOWN if word_rarity is None else KNOWN + word_rarity)
        spellings[lowered] = word if is_telling else lowered
    ordered = sorted(weights, key=weights.__getitem__, reverse=True)  # stable: equal words stay in their order
    return tuple(spellings[word] for word in ordered[:MAX_TOPICS]) or tuple(dict.fromkeys(poor))[:MAX_TOPICS]


def is_identifier(word: str) -> bool:
    """Return whether only code, a file name, a code or a version has this spelling.

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


MAX_OWN_TOPICS = 1  # a prompt with more own topics stands for itself

_BEFORE = frozenset((END, *"ok okay so but hm hmm well oh ah yes yeah no thanks great cool nice good right and also".split()))
_OPENERS = (
    *(("what", "about"), ("how", "about"), ("what", "of")),
    *(("same", "for"), ("same", "with"), ("same", "in"), ("same", "on"), ("same", "question"), ("ditto", "for")),
)
_ORDERS = frozenset("you we i us me just if".split())  # "how about you open it" is one
# These words make a question of a text that begins with "and"; a verb would make an order of it.
_AFTER_AND = frozenset(
    """
    a an the this that these those it its our my your their his her for in on at with without from of about what how why where
    which when who whose is are was were does do did has have can could would if
    """.split()
)
_POINTING = frozenset("other others another second third fourth fifth last former latter rest else one ones both".split())
_POINTING_AT_ONE = ("that", "this", "next", "first")
_EMPTY_TOPICS = _POINTING | {"question", "ditto", "same"}  # words that are no topics


def drop_pointing_words(topics: Sequence[str]) -> tuple[str, ...]:
    """Return the topics of a prompt without the words that only point at something.

    >>> drop_pointing_words(("second", "redis"))
    ('redis',)
    """
    return tuple(topic for topic in topics if topic not in _EMPTY_TOPICS)


def is_follow_up(words: Sequence[str], topics: Sequence[str], confidence: float) -> bool:
    """Return whether a prompt asks the question before it again, about something else.

    words: as typed (Reading.words); topics: of them; confidence: of the intent. An order, an acknowledgement, or a question
    that names its subject is none.

    >>> is_follow_up("and the other one ?".split(), (), 0.3), is_follow_up("what about redis".split(), ("redis",), 0.5)
    (True, True)
    >>> is_follow_up("and fix it".split(), ("fix",), 0.3), is_follow_up("What is a thunk ?".split(), ("thunk",), 0.6)
    (False, False)
    """
    if len(drop_pointing_words(topics)) > MAX_OWN_TOPICS or confidence < NOTHING_SURELY:
        return False
    lowered = [word.lower() for word in words]
    remaining = lowered
    while remaining and remaining[0] in _BEFORE and remaining[1:2]:
        remaining = remaining[1:]
    if tuple(remaining[:2]) in _OPENERS:
        return remaining[2:3] == [] or remaining[2] not in _ORDERS
    is_question = QUESTION in lowered
    if "and" in lowered[: len(lowered) - len(remaining)] and (is_question or remaining[0] in _AFTER_AND):
        return True
    if not is_question:
        return False
    # The first question may end in a word that only points: "… the second?", "… any others?".
    *_, before, last = ["", "", *lowered[: lowered.index(QUESTION)]]
    return last in _POINTING and (last not in ("one", "ones") or before in _POINTING or before in _POINTING_AT_ONE)


def borrowed_topics(topics: Sequence[str], earlier: LastPrompt) -> tuple[str, ...]:
    """Return the topics of the earlier prompt that a follow-up does not have itself."""
    own_keys = {topic.casefold() for topic in topics}
    return tuple(topic for topic in earlier.topics if topic.casefold() not in own_keys)


def follow_up_confidence(own: float, earlier: LastPrompt, min_confidence: float) -> float:
    """Return the probability that memories help with a follow-up: the earlier prompt's, if that was enough.

    >>> from subcog_hooks.store.sessions import LastPrompt
    >>> follow_up_confidence(0.3, LastPrompt(("relay",), 0.8), 0.5), follow_up_confidence(0.3, LastPrompt(("relay",), 0.4), 0.5)
    (0.8, 0.3)
    """
    return max(own, earlier.confidence) if earlier.confidence >= min_confidence else own
