"""Identifiers that a query names: INC-4211 is not INC-4212, and the only memory that has a rare one belongs to the first.

Only an identifier that some memory has as it stands counts: where nothing else is known, its like is better than nothing.
"""

from __future__ import annotations

from subcog_hooks.recall import logit, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.recall.query import Query, Term
    from subcog_hooks.recall.relevance import MemoryTexts
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Filter

RARE = 5  # memories, of all projects, that have it at most
MOST_NAMED = 4  # identifiers of a query whose memories are looked for: each is a search
FIRST = 3  # places
LEAST_LETTERS = 2  # of what has a sibling: 3.11 and 3.12, h1 and h2 are mere numbers
_ABOVE = 1e-6  # the score of the one whose place is taken
_DIGITS = str.maketrans("123456789", "000000000")


def named_in(query: Query) -> list[Term]:
    """Return the identifiers of a query that some memory has as they stand, the rarest first; a number alone is none."""
    return [term for term in query.terms if term.is_identifier and term.is_whole_known and any(map(str.isalpha, term.whole))]


def look_up(query: Query, index: LexicalIndex, scope: Filter) -> tuple[list[str], list[int]]:
    """Return the identifiers of a query that memories of a scope have, and the row numbers of those that alone have a rare one.

    Raises IndexUnusable.
    """
    here: list[str] = []
    sole: dict[int, None] = {}  # one memory may have several
    for term in named_in(query)[:MOST_NAMED]:
        have = words.search(index, words.as_it_stands(index, term), scope, 2)
        if have:
            here.append(term.whole)
        if len(have) == 1 and words.holders(index, term) <= RARE:
            sole[have[0][1]] = None
    return here, list(sole)


def lift(holders: Collection[int], scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores of these memories, by row number, with which each is among the FIRST of all, where it is not yet.

    >>> lift([7, 1], {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 7: 0.2})
    {7: 0.700001}
    """
    others = sorted((score for seq, score in scores.items() if seq not in holders), reverse=True)
    place = FIRST - min(FIRST, len(holders))
    if len(others) <= place:
        return {}
    least = others[place] + _ABOVE
    return {seq: least for seq in holders if seq in scores and scores[seq] < least}


def discount_siblings(hits: Sequence[Hit], named: Sequence[str], texts: MemoryTexts) -> None:
    """Discount hits that have a sibling of an identifier, and not the one that the query names and another memory has.

    One of several that are compared ("ROS1 or ROS2") is enough, also as a part ("ros2_control"), beyond the words that are
    compared, or in a question. What a trigger or a condition has brought stays as it is.
    """
    by_shape: dict[str, list[str]] = {}
    for asked in named:
        if shape := _shape(asked):
            by_shape.setdefault(shape, []).append(asked)
    for hit in hits if by_shape else ():
        if hit.is_exact:
            continue
        shapes = set(map(_shape, texts.words_of(hit.memory).whole_tokens()))
        siblings = [shape for shape in by_shape if shape in shapes]
        if siblings and not any(_mentions(hit.memory, asked) for shape in siblings for asked in by_shape[shape]):
            hit.terms = logit.with_sibling(hit.terms)
            hit.probability = logit.probability(hit.terms)


def _mentions(memory: Memory, asked: str) -> bool:
    """Return whether a memory has an identifier anywhere, by itself or at the beginning of a longer one."""
    questions = [question.text for question in memory.questions]
    text = " ".join((memory.content, *memory.tags, *memory.keywords, *questions)).lower()
    at = text.find(asked)
    while at >= 0:
        end = at + len(asked)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(asked, end)
    return False


def _shape(token: str) -> str:
    """Return an identifier with its digits alike, "" where it has none, or is hardly more than a number.

    >>> _shape("inc-4211"), _shape("ros2"), _shape("3.11"), _shape("readme.md")
    ('inc-0000', 'ros0', '', '')
    """
    shape = token.translate(_DIGITS)
    return shape if "0" in shape and sum(map(str.isalpha, shape)) >= LEAST_LETTERS else ""
