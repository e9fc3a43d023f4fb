"""Identifiers that a query names: INC-4211 is not INC-4212, and its only holder ranks among the first.

An identifier counts only where some memory has it unchanged. Without such a memory, a similar identifier is better than
nothing.
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

MAX_RARE_HOLDERS = 5  # memories of all projects with the identifier
MAX_IDENTIFIERS = 4  # identifiers of a query; each costs a search
TOP_POSITIONS = 3
MIN_LETTERS = 2  # an identifier with siblings has them: 3.11 and 3.12, h1 and h2 are mere numbers
_ABOVE = 1e-6  # the lead of a lifted score
_DIGITS = str.maketrans("123456789", "000000000")


def known_identifiers(query: Query) -> list[Term]:
    """Return the identifiers of a query that some memory has unchanged, the rarest first; no mere numbers."""
    return [term for term in query.terms if term.is_identifier and term.is_whole_known and any(map(str.isalpha, term.whole))]


def find_holders(query: Query, index: LexicalIndex, scope: Filter) -> tuple[list[str], list[int]]:
    """Return the query's identifiers in a scope, and the row numbers of the only holders of a rare one.

    Raises IndexUnusable.
    """
    identifiers: list[str] = []
    sole: dict[int, None] = {}  # a memory may have several
    for term in known_identifiers(query)[:MAX_IDENTIFIERS]:
        hits = words.search_index(index, words.identifier_query(index, term), scope, 2)
        if hits:
            identifiers.append(term.whole)
        if len(hits) == 1 and words.count_holders(index, term) <= MAX_RARE_HOLDERS:
            sole[hits[0][1]] = None
    return identifiers, list(sole)


def lift_scores(holders: Collection[int], scores: Mapping[int, float]) -> dict[int, float]:
    """Return the scores that lift these memories among the TOP_POSITIONS, by row number; only raised scores.

    >>> lift_scores([7, 1], {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 7: 0.2})
    {7: 0.700001}
    """
    others = sorted((score for seq, score in scores.items() if seq not in holders), reverse=True)
    position = TOP_POSITIONS - min(TOP_POSITIONS, len(holders))
    if len(others) <= position:
        return {}
    min_score = others[position] + _ABOVE
    return {seq: min_score for seq in holders if seq in scores and scores[seq] < min_score}


def discount_siblings(hits: Sequence[Hit], named: Sequence[str], texts: MemoryTexts) -> None:
    """Discount hits with a sibling of a named identifier but without the identifier that another memory has.

    One of several compared identifiers ("ROS1 or ROS2") is enough. It may be a part ("ros2_control"), lie beyond the compared
    words, or stand in a question. Hits of triggers and conditions stay as they are.
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
        if siblings and not any(_mentions_identifier(hit.memory, asked) for shape in siblings for asked in by_shape[shape]):
            hit.terms = logit.with_sibling(hit.terms)
            hit.probability = logit.probability(hit.terms)


def _mentions_identifier(memory: Memory, asked: str) -> bool:
    """Return whether a memory has an identifier anywhere, by itself or at the beginning of a longer one."""
    questions = [question.text for question in memory.questions]
    text = " ".join((memory.content, *memory.tags, *memory.keywords, *questions)).lower()
    start = text.find(asked)
    while start >= 0:
        end = start + len(asked)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            return True
        start = text.find(asked, end)
    return False


def _shape(token: str) -> str:
    """Return an identifier with equal digits; "" without a digit, or with too few letters.

    >>> _shape("inc-4211"), _shape("ros2"), _shape("3.11"), _shape("readme.md")
    ('inc-0000', 'ros0', '', '')
    """
    shape = token.translate(_DIGITS)
    return shape if "0" in shape and sum(map(str.isalpha, shape)) >= MIN_LETTERS else ""
