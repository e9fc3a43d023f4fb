"""The needs of a prompt: what is asked among sentences that only tell where somebody is. Pure, without regular expressions.

All of what was typed is the first need. A question that stands among other sentences is one by itself, so that "I am back at
the ticket from yesterday" costs it nothing; so is, where there are few sentences, one that is no question.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.text.typed import Prompt

# That are searched for by themselves: each costs as much as the whole. With a second, third and fourth as many development
# prompts are answered (one of 96 more with a second, and one more wrongly), and as many of people's histories.
MOST_PARTS = 1
FEW_SENTENCES = 3  # of which those count that are no questions
SHORTEST_PART = 4  # words; "right?" asks nothing
_ENDS = (".", "?", "!")
_CLOSING = "\"')]"
_ASKING = frozenset(
    "how what why where when which who whose is are was were do does did has have can could should would will any".split()
)


def needs_of(prepared: Prompt) -> list[str]:
    """Return the part of a prompt that is a need by itself: the line that says what failed, else a sentence."""
    if not prepared.text:
        return []
    failure = [prepared.failure] if prepared.error else []
    return [*failure, *parts_of(prepared.text)][:MOST_PARTS]


def parts_of(typed: str) -> list[str]:
    """Return the sentence of what was typed that is a need by itself: a question before any other, then the longest.

    >>> parts_of("I am at the ticket again. How are the keys rotated? Thanks!")
    ['How are the keys rotated?']
    >>> parts_of("How are the keys rotated?"), parts_of("Rename it. Thanks.")
    ([], [])
    """
    every = sentences(typed)
    if len(every) < 2:
        return []
    long = [part for part in every if len(part.split()) >= SHORTEST_PART]
    kept = long if len(every) <= FEW_SENTENCES else [part for part in long if asks(part)]
    return sorted(kept, key=lambda part: (not asks(part), -len(part.split())))[:MOST_PARTS]


def sentences(typed: str) -> list[str]:
    """Return the sentences of what was typed, line by line.

    >>> sentences("See a.py. It fails?\\nYes, in v1.2")
    ['See a.py.', 'It fails?', 'Yes, in v1.2']
    """
    found = []
    for line in typed.split("\n"):
        begun: list[str] = []
        for word in line.split():
            begun.append(word)
            if word.rstrip(_CLOSING).endswith(_ENDS):
                found.append(" ".join(begun))
                begun = []
        if begun:
            found.append(" ".join(begun))
    return found


def asks(sentence: str) -> bool:
    """Return whether a sentence is a question, also without its mark.

    >>> asks("is there a lint rule"), asks("Rename it.")
    (True, False)
    """
    return sentence.rstrip(_CLOSING).endswith("?") or sentence.split(None, 1)[0].lower().strip(",") in _ASKING
