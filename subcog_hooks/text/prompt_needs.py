"""The needs of a prompt: its questions among sentences that only describe a situation. Pure, without regular expressions.

The whole typed text is the first need. A question among other sentences is a need by itself, so that "I am back at the ticket
from yesterday" costs it nothing. Among few sentences, a sentence that is no question may be one, too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.text.typed_prompt import Prompt

# Each need is searched by itself, at the cost of the whole prompt. With two, three or four needs, as many development prompts
# are answered (with two, one of 96 more, and one more wrongly), and as many of people's histories.
MAX_PARTS = 1
FEW_SENTENCES = 3  # up to here, sentences that are no questions count
MIN_PART_WORDS = 4  # words; "right?" is no question
_ENDS = (".", "?", "!")
_CLOSING = "\"')]"
_ASKING = frozenset(
    "how what why where when which who whose is are was were do does did has have can could should would will any".split()
)


def needs_of(prepared: Prompt) -> list[str]:
    """Return the part of a prompt that is a need by itself: the line that names the failure, else a sentence."""
    if not prepared.text:
        return []
    failure = [prepared.failure] if prepared.error else []
    return [*failure, *separate_needs(prepared.text)][:MAX_PARTS]


def separate_needs(typed: str) -> list[str]:
    """Return the typed sentence that is a need by itself: a question before any other, then the longest.

    >>> separate_needs("I am at the ticket again. How are the keys rotated? Thanks!")
    ['How are the keys rotated?']
    >>> separate_needs("How are the keys rotated?"), separate_needs("Rename it. Thanks.")
    ([], [])
    """
    every = split_sentences(typed)
    if len(every) < 2:
        return []
    long = [part for part in every if len(part.split()) >= MIN_PART_WORDS]
    candidates = long if len(every) <= FEW_SENTENCES else [part for part in long if is_question(part)]
    return sorted(candidates, key=lambda part: (not is_question(part), -len(part.split())))[:MAX_PARTS]


def split_sentences(typed: str) -> list[str]:
    """Return the typed sentences, line by line.

    >>> split_sentences("See a.py. It fails?\\nYes, in v1.2")
    ['See a.py.', 'It fails?', 'Yes, in v1.2']
    """
    sentences = []
    for line in typed.split("\n"):
        begun: list[str] = []
        for word in line.split():
            begun.append(word)
            if word.rstrip(_CLOSING).endswith(_ENDS):
                sentences.append(" ".join(begun))
                begun = []
        if begun:
            sentences.append(" ".join(begun))
    return sentences


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question, with or without its mark.

    >>> is_question("is there a lint rule"), is_question("Rename it.")
    (True, False)
    """
    return sentence.rstrip(_CLOSING).endswith("?") or sentence.split(None, 1)[0].lower().strip(",") in _ASKING
