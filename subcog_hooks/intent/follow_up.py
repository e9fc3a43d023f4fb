"""Follow-up prompts: "and the other one?" names nothing itself, and borrows the earlier prompt's topics. Pure."""

from __future__ import annotations

from subcog_hooks.intent.keywords import END, NOTHING_SURELY, QUESTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.store.sessions import LastPrompt

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


def own_topics(topics: Sequence[str]) -> tuple[str, ...]:
    """Return the topics of a prompt without the words that only point at something.

    >>> own_topics(("second", "redis"))
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
    if len(own_topics(topics)) > MAX_OWN_TOPICS or confidence < NOTHING_SURELY:
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
    return is_question and _ends_in_pointer(lowered)


def _ends_in_pointer(words: Sequence[str]) -> bool:
    """Return whether the first question ends in a word that only points: "… the second?", "… any others?"."""
    *_, before, last = ["", "", *words[: words.index(QUESTION)]]
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
