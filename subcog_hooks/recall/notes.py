"""The probability that a short note of the project helps with a prompt. Pure. `relevance` models other memories.

A note says one thing in one sentence. Its lead over others tells little, and its missing terms even less. Its nearness and the
prompt's number in the session tell most. Weighed like a section of documentation, a note came with one of twenty prompts that
it would have helped. That was measured on the histories of twelve people.
"""

from __future__ import annotations

from subcog_hooks.recall import logit
from subcog_hooks.recall.hits import BEGUN
from subcog_hooks.recall.relevance import CHRONICLES, OF_NOTES, model_weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.recall.logit import Terms
    from subcog_hooks.store.memory import Memory

LONGEST_NOTE = 40  # words; most notes of two invented projects have 36, half of documentation's sections 53 or more
_MEANING_EVIDENCE = "margin"  # only memories compared by meaning have this evidence


def is_note(memory: Memory, terms: Terms) -> bool:
    """Return whether a memory is a short note of its project that was compared by meaning.

    Notes for all projects do not count: no history tells how often they help. Lines of a change log do not count either.
    """
    if memory.scope != "project" or memory.namespace.lower() in CHRONICLES or len(memory.content.split()) > LONGEST_NOTE:
        return False
    return any(name == _MEANING_EVIDENCE for name, _, _ in terms) or model_weights(terms) is OF_NOTES


def weigh_note(terms: Terms, confidence: float, prompt_number: int) -> Terms:
    """Return the terms of a note with the weights for notes.

    terms: weighed by relevance; confidence: of the prompt's intent; prompt_number: of the prompt in its session, from 1.

    >>> near = (("closeness", 0.5, 0.5), ("margin", 0.1, 0.5))
    >>> [logit.probability(weigh_note(near, 0.9, number)) for number in (1, 2, 4)]
    [0.3051, 0.1366, 0.0836]
    """
    values = {name: value for name, value, _ in terms} | {
        "intercept": 1.0,
        "intent": confidence,
        BEGUN: logit.session_progress(prompt_number),
    }
    weighed: Terms = tuple([(name, values[name], weight * values[name]) for name, weight in OF_NOTES.items() if name in values])
    if logit.KEYWORD in values:
        weighed = logit.with_keyword(weighed, values[logit.KEYWORD])
    for name, value, adds in terms:
        if name == logit.ASKED_LIKE and adds > 0.0:  # a question unlike the prompt does not count against a note
            weighed = (*weighed, (name, value, adds))
    return logit.with_sibling(weighed) if logit.SIBLING in values else weighed
