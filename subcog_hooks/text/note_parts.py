"""A typed note apart from an order or a question to the agent behind it, in English. Pure.

A rule is an order as well ("Run just tidy before you commit"), and belongs to the note. So an order needs a sign that it is
meant once: a word such as "now" before it, or a verb that no rule begins with.
"""

from __future__ import annotations

from subcog_hooks.text.prompt_needs import split_sentences
from subcog_hooks.text.standing_rules import ORDERS

_AT_ONCE = frozenset("now please next then ok okay so great thanks".split())  # words before an order that is meant once
_SMALL = frozenset("and also just".split())
_ONCE_VERBS = frozenset(
    "fix implement continue refactor explain debug investigate summarise summarize tell show find look finish help".split()
)
_REQUESTS = (
    "can you",
    "could you",
    "would you",
    "will you",
    "let's",
    "let us",
    "go ahead",
    "go on",
    "i want you to",
    "i need you to",
)
_STANDING = frozenset(
    "always never every each whenever when before after if unless until must should only instead all any no not".split()
)


def split_note(text: str) -> tuple[str, str]:
    """Return a note without the sentences from an order or a question to the agent on, and those sentences.

    >>> split_note("We deploy on Tuesdays. Now fix the login bug.")
    ('We deploy on Tuesdays.', 'Now fix the login bug.')
    >>> split_note("We use pnpm. Run just tidy before you commit. Never use npm.")
    ('We use pnpm. Run just tidy before you commit. Never use npm.', '')
    """
    sentences = split_sentences(text)
    for index, sentence in enumerate(sentences[1:], 1):
        if _is_for_agent(sentence):
            return " ".join(sentences[:index]), " ".join(sentences[index:])
    return text, ""


def _is_for_agent(sentence: str) -> bool:
    words = [bare for word in sentence.lower().split() if (bare := word.strip("\"'`*_()[]{}<>.,;:!?-"))]
    is_at_once = False
    while words and words[0] in _AT_ONCE | _SMALL:
        is_at_once |= words[0] in _AT_ONCE
        del words[0]
    if sentence.endswith("?") or " ".join(words).startswith(_REQUESTS):
        return True
    if not words or not _STANDING.isdisjoint(words):
        return False
    return words[0] in _ONCE_VERBS or (is_at_once and words[0] in ORDERS)
