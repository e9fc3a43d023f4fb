"""The probability that a short note of the project helps at a prompt. Pure; the model of all else is relevance's.

A note says one thing in one sentence. That it is ahead of the others tells little, and what it lacks of a prompt even less: how
near it is and where in its session the prompt stands tell most. Weighed as a section of documentation is, a note came with one
of twenty prompts that it would have helped (measured on the histories of twelve people).
"""

from __future__ import annotations

from subcog_hooks.recall import logit
from subcog_hooks.recall.hits import BEGUN
from subcog_hooks.recall.relevance import CHRONICLES, OF_NOTES, weights_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.recall.logit import Terms
    from subcog_hooks.store.memory import Memory

LONGEST_NOTE = 40  # words; most notes of two invented projects have 36, of sections of documentation half have 53 or more
_COMPARED = "margin"  # an evidence that only what was compared by meaning has


def is_note(memory: Memory, terms: Terms) -> bool:
    """Return whether a memory is a short note of its project that was compared by meaning.

    What holds for all projects is not: of such notes no history tells how often they help. Nor is a line of a change log.
    """
    if memory.scope != "project" or memory.namespace.lower() in CHRONICLES or len(memory.content.split()) > LONGEST_NOTE:
        return False
    return any(name == _COMPARED for name, _, _ in terms) or weights_of(terms) is OF_NOTES


def terms_of_note(terms: Terms, confidence: float, place: int) -> Terms:
    """Return the terms of a note, weighed by what is known of notes.

    terms: as relevance has weighed them; confidence: of the prompt's intent; place: of the prompt in its session, from 1.

    >>> near = (("closeness", 0.5, 0.5), ("margin", 0.1, 0.5))
    >>> [logit.probability(terms_of_note(near, 0.9, place)) for place in (1, 2, 4)]
    [0.3051, 0.1366, 0.0836]
    """
    values = {name: value for name, value, _ in terms} | {"intercept": 1.0, "intent": confidence, BEGUN: logit.begun(place)}
    weighed: Terms = tuple([(name, values[name], weight * values[name]) for name, weight in OF_NOTES.items() if name in values])
    if logit.KEYWORD in values:
        weighed = logit.with_keyword(weighed, values[logit.KEYWORD])
    for name, value, adds in terms:
        if name == logit.ASKED_LIKE and adds > 0.0:  # a question that is not like the prompt says nothing against a note
            weighed = (*weighed, (name, value, adds))
    return logit.with_sibling(weighed) if logit.SIBLING in values else weighed
