"""The channel of labels: memories whose tags and keywords the query names, the rare ones first."""

from __future__ import annotations

import tantivy

from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.hits import LABELS
from subcog_hooks.recall.query import Query, rarity
from subcog_hooks.store.index import LABEL, LexicalIndex
from subcog_hooks.text import analysis
from subcog_hooks.text.vocabulary import STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.channel import Ranked
    from subcog_hooks.store.store import Filter

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
