"""The share of meaning in a score when it is left to the query: by its type and by how much is searched (S1, S2). Pure."""

SMALL_SHARE, MIDDLE_SHARE, LARGE_SHARE = 0.5, 0.7, 0.8  # S2: words tell few memories apart, meaning many
UNKNOWN_SHARE = 0.5  # of a corpus whose size nobody knows (S2, error scenario 3)


def adaptive(query_type: str, by_type: float, corpus: int | None, small: int, large: int) -> tuple[float, str]:
    """Return the share of meaning that the query's type and the corpus ask for, their mean, and the reason in words.

    by_type: the share that its type asks for. corpus: how many memories are searched, None when that is not known; below
    `small` and from `large` on it counts as such.

    >>> adaptive("conceptual", 0.8, 800, 500, 5000)
    (0.75, 'conceptual asks for 0.8, a corpus of 800 for 0.7')
    """
    if corpus is None:
        by_corpus, size = UNKNOWN_SHARE, "unknown size"
    else:
        by_corpus = SMALL_SHARE if corpus < small else MIDDLE_SHARE if corpus < large else LARGE_SHARE
        size = f"{corpus}"
    share = (by_type + by_corpus) / 2.0  # .25 to .9, within the .1 to .9 that S2 allows
    return round(share, 4), f"{query_type} asks for {by_type}, a corpus of {size} for {by_corpus}"
