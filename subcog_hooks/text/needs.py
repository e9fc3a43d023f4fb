"""The needs of a prompt: what is asked among sentences that only tell where somebody is. Pure, without regular expressions.

All of what was typed is the first need. A question that stands among other sentences is one by itself, so that "I am back at
the ticket from yesterday" costs it nothing; so is, where there are few sentences, one that is no question.
"""

MOST_PARTS = 2  # that are searched for by themselves: each costs as much as the whole
FEW_SENTENCES = 3  # of which those count that are no questions
SHORTEST_PART = 4  # words; "right?" asks nothing
_ENDS = (".", "?", "!")
_CLOSING = "\"')]"
_ASKING = frozenset(
    "how what why where when which who whose is are was were do does did has have can could should would will any".split()
)


def parts_of(typed: str) -> list[str]:
    """Return the sentences of what was typed that are needs by themselves: questions first, then the longest.

    >>> parts_of("I am at the ticket again. How are the keys rotated? Thanks!")
    ['How are the keys rotated?', 'I am at the ticket again.']
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
