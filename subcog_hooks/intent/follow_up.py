"""Prompts that go on from the one before: "and the other one?" names nothing itself, and borrows its topics. Pure."""

from __future__ import annotations

from subcog_hooks.intent.detector import NOTHING_SURELY
from subcog_hooks.intent.matcher import END, QUESTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.store.sessions import Earlier

MOST_OWN = 1  # topics of its own; with more a prompt stands for itself

_BEFORE = frozenset((END, *"ok okay so but hm hmm well oh ah yes yeah no thanks great cool nice good right and also".split()))
_OPENERS = (
    *(("what", "about"), ("how", "about"), ("what", "of")),
    *(("same", "for"), ("same", "with"), ("same", "in"), ("same", "on"), ("same", "question"), ("ditto", "for")),
)
_ORDERS = frozenset("you we i us me just if".split())  # "how about you open it" is one
# what makes a question of a text that begins with "and", where a verb would make an order of it
_AFTER_AND = frozenset(
    """
    a an the this that these those it its our my your their his her for in on at with without from of about what how why where
    which when who whose is are was were does do did has have can could would if
    """.split()
)
_POINTING = frozenset("other others another second third fourth fifth last former latter rest else one ones both".split())
_HOLLOW = _POINTING | {"question", "ditto", "same"}  # no topics


def own_topics(topics: Sequence[str]) -> tuple[str, ...]:
    """Return the topics of a prompt that are its own, and do not only point at something.

    >>> own_topics(("second", "redis"))
    ('redis',)
    """
    return tuple(topic for topic in topics if topic not in _HOLLOW)


def is_follow_up(words: Sequence[str], topics: Sequence[str], confidence: float) -> bool:
    """Return whether a prompt asks the question before it again, of something else.

    words: as they were typed (Reading.words); topics: of them; confidence: of the intent. An order or an acknowledgement is
    none, nor is a question that names what it is about.

    >>> is_follow_up("and the other one ?".split(), (), 0.3), is_follow_up("what about redis".split(), ("redis",), 0.5)
    (True, True)
    >>> is_follow_up("and fix it".split(), ("fix",), 0.3), is_follow_up("What is a thunk ?".split(), ("thunk",), 0.6)
    (False, False)
    """
    if len(own_topics(topics)) > MOST_OWN or confidence < NOTHING_SURELY:
        return False
    lowered = [word.lower() for word in words]
    rest = lowered
    while rest and rest[0] in _BEFORE and rest[1:2]:
        rest = rest[1:]
    if tuple(rest[:2]) in _OPENERS:
        return rest[2:3] == [] or rest[2] not in _ORDERS
    is_question = QUESTION in lowered
    if "and" in lowered[: len(lowered) - len(rest)] and (is_question or rest[0] in _AFTER_AND):
        return True
    return is_question and _points(lowered)


def _points(words: Sequence[str]) -> bool:
    """Return whether the first question ends in what only points at something: "… the second?", "… any others?"."""
    before = words[: words.index(QUESTION)]
    return before[-1:] != [] and before[-1] in _POINTING and (before[-1] not in ("one", "ones") or _is_pointed(before[:-1]))


def _is_pointed(words: Sequence[str]) -> bool:
    return words[-1:] != [] and (words[-1] in _POINTING or words[-1] in ("that", "this", "next", "first"))


def borrowed(topics: Sequence[str], earlier: Earlier) -> tuple[str, ...]:
    """Return the topics that a follow-up takes over from the prompt before: those that it does not have itself."""
    known = {topic.casefold() for topic in topics}
    return tuple(topic for topic in earlier.topics if topic.casefold() not in known)


def confidence_of(own: float, earlier: Earlier, least: float) -> float:
    """Return how probable it is that memories help with a follow-up.

    It is as it was with the prompt before, if that was enough.

    >>> from subcog_hooks.store.sessions import Earlier
    >>> confidence_of(0.3, Earlier(("relay",), 0.8), 0.5), confidence_of(0.3, Earlier(("relay",), 0.4), 0.5)
    (0.8, 0.3)
    """
    return max(own, earlier.confidence) if earlier.confidence >= least else own
