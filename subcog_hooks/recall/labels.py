"""Labels and identifiers that a query names: tags, keywords, INC-4211, and the only memory that holds one."""

from __future__ import annotations

import tantivy

from subcog_hooks.recall import logit
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.hits import LABELS
from subcog_hooks.recall.query import Query, rarity
from subcog_hooks.store.index import LABEL, LexicalIndex
from subcog_hooks.text import analysis
from subcog_hooks.text.vocabulary import STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.channel import Ranked
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.recall.query import Term
    from subcog_hooks.recall.relevance import MemoryTexts
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store_reader import Filter

MAX_LABELS = 8  # of one query, the rarest
MANY_LABELS = 3  # labels; so many in one query count half as much again
MANY_LABELS_FACTOR = 1.5
MAX_LABEL_WORDS = 3  # words of a label: "gray rock", "error-handling"
MAX_WORDS = 60  # words of the query that are compared
_WORDS_SHARE = 0.001  # of the words' score: it orders the memories of one label


class Labels:
    """Memories with a tag or keyword that the query names."""

    __slots__ = ("_index", "_named")
    name = LABELS
    strategy = LABELS
    is_floor = False

    def __init__(self, index: LexicalIndex, named: Mapping[str, float]) -> None:
        """Prepare the channel for one query. named: the labels that the query names, from `named_by`."""
        self._index = index
        self._named = named

    def search(self, query: Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
        """Search as `channel.Channel` does; a score is the sum of the labels' rarities and a little of the words'.

        Raises IndexUnusable.
        """
        make, should = tantivy.Query, tantivy.Occur.Should
        label_queries = [
            (should, make.const_score_query(make.term_query(self._index.schema, LABEL, label), rarity_of_label))
            for label, rarity_of_label in self._named.items()
        ]
        clauses = [(tantivy.Occur.Must, make.boolean_query(label_queries))]
        words = recall_words.any_term_query(self._index, query)
        if words is not None:
            clauses.append((should, make.boost_query(words, _WORDS_SHARE)))
        return recall_words.search_with_ties(self._index, make.boolean_query(clauses), scope, k)


def labels_named_in(text: str, index: LexicalIndex, scope: Filter) -> dict[str, float]:
    """Return the labels that a text names and some memory of the scope has, with their rarities.

    Rarities are 0.0 to 1.0, the rarest first. Candidates are words without function words, and runs of two or three words.
    Compounds count whole and in parts, because a hyphen or underscore is a blank here. Raises IndexUnusable.
    """
    words = analysis.label_form(text).split()[:MAX_WORDS]
    candidates = [word for word in words if word not in STOP]
    for length in range(2, MAX_LABEL_WORDS + 1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if run[0] not in STOP and run[-1] not in STOP:
                candidates.append(" ".join(run))
    rarities = {}
    for label in dict.fromkeys(candidates):
        frequency = index.document_frequency(LABEL, label)
        if frequency and _is_label_in_scope(label, index, scope):
            rarities[label] = rarity(frequency, index.documents)
    return dict(sorted(rarities.items(), key=lambda item: (-item[1], item[0]))[:MAX_LABELS])


def _is_label_in_scope(label: str, index: LexicalIndex, scope: Filter) -> bool:
    label_query = tantivy.Query.term_query(index.schema, LABEL, label)
    return bool(recall_words.search_index(index, label_query, scope, 1))


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
        hits = recall_words.search_index(index, recall_words.identifier_query(index, term), scope, 2)
        if hits:
            identifiers.append(term.whole)
        if len(hits) == 1 and recall_words.count_holders(index, term) <= MAX_RARE_HOLDERS:
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
