"""Texts that a language model has written for memories: questions and short texts, validated. Pure."""

from collections.abc import Sequence

from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import MAX_QUESTION

SHORTEST_QUESTION = 8  # characters


def list_texts(value: object) -> list[str]:
    """Return the texts in a list of an answer, with single blanks; none for another value.

    >>> list_texts(["a  b", 3, "c"]), list_texts("a b")
    (['a b', 'c'], [])
    """
    return [" ".join(text.split()) for text in value if isinstance(text, str)] if isinstance(value, list) else []


def is_plain(text: str) -> bool:
    """Return whether a text has only printable characters and no secret."""
    return text.isprintable() and redact(text).text == text


def select_questions(questions: Sequence[str], max_questions: int) -> list[str]:
    """Return the first `max_questions` questions that a memory can have, without duplicates."""
    usable = [question for question in questions if SHORTEST_QUESTION <= len(question) <= MAX_QUESTION and is_plain(question)]
    return list(dict.fromkeys(usable))[:max_questions]
