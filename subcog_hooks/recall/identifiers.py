"""Identifiers that a query names: INC-4211 is not INC-4212, and the only memory that has a rare one belongs to the first.

Only an identifier that some memory has as it stands counts: where nothing else is known, its like is better than nothing.
"""

from subcog_hooks.recall import lexical, logit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from subcog_hooks.memory.index import LexicalIndex
    from subcog_hooks.memory.store import Filter
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.recall.query import Query, Term
    from subcog_hooks.recall.relevance import MemoryTexts

RARE = 5  # memories, of all projects, that have it at most, so that one of them may be the only one here
MOST_RARE = 2  # identifiers of a query whose memory is looked for: each is a search
FIRST = 3  # places
LEAST_LETTERS = 2  # of what has a sibling: 3.11 and 3.12, h1 and h2 are mere numbers
_ABOVE = 1e-6  # the score of the one whose place is taken
_DIGITS = str.maketrans("123456789", "000000000")


def named_in(query: "Query") -> "list[Term]":
    """Return the identifiers of a query that some memory has as they stand, the rarest first; a number alone is none."""
    return [term for term in query.terms if term.is_identifier and term.is_whole_known and any(map(str.isalpha, term.whole))]


def sole_holders(query: "Query", index: "LexicalIndex", scope: "Filter") -> list[int]:
    """Return the row numbers of the memories that are the only ones in a scope with a rare identifier of a query.

    Raises IndexUnusable.
    """
    found: dict[int, None] = {}  # one memory may have several
    for term in [term for term in named_in(query) if lexical.holders(index, term) <= RARE][:MOST_RARE]:
        have = lexical.search(index, lexical.as_it_stands(index, term), scope, 2)
        if len(have) == 1:
            found[have[0][1]] = None
    return list(found)


def lift(holders: "Collection[int]", scores: "Mapping[int, float]", factors: "Mapping[int, float]") -> dict[int, float]:
    """Return what has to be added to the scores of memories so that each is among the FIRST of all.

    holders: by row number; factors: by which what is added is multiplied.

    >>> {seq: round(amount, 3) for seq, amount in lift([7, 1], {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 7: 0.2}, {7: 1.0}).items()}
    {7: 0.5}
    """
    others = sorted((score for seq, score in scores.items() if seq not in holders), reverse=True)
    place = FIRST - min(FIRST, len(holders))
    if len(others) <= place:
        return {}
    least = others[place] + _ABOVE
    return {seq: (least - scores.get(seq, 0.0)) / factors[seq] for seq in holders if scores.get(seq, 0.0) < least}


def discount_siblings(hits: "Sequence[Hit]", named: "Sequence[str]", texts: "MemoryTexts") -> None:
    """Discount hits that have a sibling of an identifier, where another hit has the one that the query names.

    One of several that are compared ("ROS1 or ROS2") is enough. What a trigger or a condition has brought stays as it is.
    """
    by_shape: dict[str, set[str]] = {}
    for asked in named:
        if shape := _shape(asked):
            by_shape.setdefault(shape, set()).add(asked)
    if not by_shape:
        return
    tokens = [texts.words_of(hit.memory).whole_tokens() for hit in hits]
    for shape, asked_for in by_shape.items():
        if all(asked_for.isdisjoint(has) for has in tokens):
            continue
        for hit, has in zip(hits, tokens, strict=True):
            if asked_for.isdisjoint(has) and not hit.is_exact and shape in map(_shape, has):
                hit.terms = logit.with_sibling(hit.terms)
                hit.probability = logit.probability(hit.terms)


def _shape(token: str) -> str:
    """Return an identifier with its digits alike, "" where it has none, or is hardly more than a number.

    >>> _shape("inc-4211"), _shape("ros2"), _shape("3.11"), _shape("readme.md")
    ('inc-0000', 'ros0', '', '')
    """
    shape = token.translate(_DIGITS)
    return shape if "0" in shape and sum(map(str.isalpha, shape)) >= LEAST_LETTERS else ""
