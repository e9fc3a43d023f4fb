"""The words that a language model has written for memories, as far as they can be kept: questions, short texts. Pure."""

from __future__ import annotations

from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import MAX_QUESTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST_QUESTION = 8  # characters


def texts_in(value: object) -> list[str]:
    """Return the texts in a list of an answer, their blanks made single; none where it is no list.

    >>> texts_in(["a  b", 3, "c"]), texts_in("a b")
    (['a b', 'c'], [])
    """
    return [" ".join(one.split()) for one in value if isinstance(one, str)] if isinstance(value, list) else []


def is_plain(text: str) -> bool:
    """Return whether a text has nothing but what can be seen, and no secret."""
    return text.isprintable() and redact(text).text == text


def usable_questions(questions: Sequence[str], most: int) -> list[str]:
    """Return the first questions that a memory can have, each once."""
    fit = [one for one in questions if SHORTEST_QUESTION <= len(one) <= MAX_QUESTION and is_plain(one)]
    return list(dict.fromkeys(fit))[:most]
