"""A rejected verdict comes to a prompt or tool call that names its option: somebody is about to do it again."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_PART = 5  # letters of a name that may be part of a longer one
MAX_TITLE = 200  # characters
MAX_TEXT = 20_000  # characters of a prompt or of a tool's input
_WORD = re.compile(r"[^\W_]{2,}")
_GENERAL = frozenset(  # words of titles that are no option
    "use using do not don adopt store keep move migrate replace introduce add switch support run build write make allow have"
    " split merge create remove drop put let enable disable implement the for and in to of with on by from into as at our all"
    " adr mdr rfc decision record".split()
)


def names_option(content: str, payload: Mapping[str, object]) -> bool:
    """Return whether a hook's payload names the option of a rejected verdict: a name in its title, else each of its words.

    >>> names_option("1. Use Kafka for the event bus", {"prompt": "shall we send the orders through kafka?"})
    True
    >>> names_option("1. Use Kafka for the event bus", {"prompt": "which event bus do we use?"})
    False
    >>> names_option("Use Go", {"prompt": "shall we write it in go?"}), names_option("Use NATS", {"prompt": "add signatures"})
    (True, False)
    """
    words = [word for word in _WORD.findall(content[:MAX_TITLE].partition("\n")[0]) if word.lower() not in _GENERAL]
    names = [word.lower() for word in words if not word.islower() and not word.isdecimal()]
    text = _text_of(payload)
    text_words = frozenset(_WORD.findall(text))
    if names:  # A long name may be part of another, as kafka is of kafkajs.
        return any(name in text if len(name) >= MIN_PART else name in text_words for name in names)
    return bool(words) and text_words.issuperset(words)


def _text_of(payload: Mapping[str, object]) -> str:
    """Return the prompt, else the strings of a tool's input and of its edits, in lower case."""
    tool_input = payload.get("tool_input")
    fields = tool_input if isinstance(tool_input, dict) else {}
    edits = fields.get("edits")
    values = [payload.get("prompt"), *fields.values()]
    for edit in edits if isinstance(edits, list) else ():
        values += edit.values() if isinstance(edit, dict) else ()
    return "\n".join([value[:MAX_TEXT] for value in values if isinstance(value, str)]).lower()
