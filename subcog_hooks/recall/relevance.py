"""How sure we are that a memory answers a query: from which of the query's terms it covers, never from its BM25 score.

Absolute BM25 scores do not transfer between stores; the share of the query's rarity that a memory covers does better.
"""

from math import exp, log

from subcog_hooks.memory import analysis
from subcog_hooks.memory.model import Memory
from subcog_hooks.recall.query import PART_SHARE, Query, Term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_TOTAL = 1.5  # two rare words: "fix the build" can not be covered, whatever has these words
MAX_READ = 4_000  # characters of a memory that are looked at: 50 µs a thousand


class Evidence:
    """What a memory has of a query. covered and total: sums of term weights, 0.0 to 1.0 a term."""

    __slots__ = ("covered", "total")

    def __init__(self, covered: float, total: float) -> None:
        self.covered = covered
        self.total = total

    @property
    def coverage(self) -> float:
        """The share of the query's rarity that the memory has, 0.0 to 1.0; of a query that says little, less."""
        return self.covered / max(self.total, LEAST_TOTAL)


def evidence(query: Query, memory: Memory, analysers: analysis.Analysers) -> Evidence:
    """What `memory` has of `query`: words by their stems, identifiers whole or by their parts, CJK by its bigrams."""
    text = memory.content[:MAX_READ]
    folded = analysis.fold(" ".join((text, *memory.tags, *memory.keywords)) if memory.tags or memory.keywords else text)
    stems = set(analysers.body.analyze(analysis.spread(folded)))
    whole_tokens: set[str] = set()
    if any(term.is_identifier for term in query.terms):
        whole_tokens = set(analysers.exact.analyze(analysis.exact_view(folded)))
    covered = total = 0.0
    for term in query.terms:
        share = _share(term, stems, whole_tokens, folded)
        total += term.weight
        covered += term.weight * share
    return Evidence(covered, total)


def _share(term: Term, stems: set[str], whole_tokens: set[str], folded: str) -> float:
    """How much of a term a memory has, 0.0 to 1.0."""
    if term.is_cjk:
        return float(term.whole in folded)
    if term.is_identifier:
        if term.whole in whole_tokens:
            return 1.0
        return PART_SHARE * sum(stem in stems for stem in term.stems) / len(term.stems) if term.stems else 0.0
    return float(term.stems[0] in stems or (bool(term.spelled_out) and stems.issuperset(term.spelled_out)))


# Logistic models of "this memory answers this prompt", each fitted on one half of 675 real prompts, 28 % of which the store can
# answer, and judged on the other half (figures in CHANGELOG.md). First gates, not yet calibrated ones.
_WORDS = (-11.5, 4.4, 2.2, 3.5)  # intercept, coverage, ln(1 + covered), lead
_WORDS_AND_MEANING = (-8.65, 2.06, 2.68, 5.55, 6.44)  # intercept, coverage, lead, cosine, margin
MAX_LEAD = 2.0
NO_LEAD = 1.5  # where there is nothing to compare with: the middle
USUAL_COSINE = 0.3  # of the nearest memory to a prompt that none answers; a margin is measured against no less


def lead(score: float, others: "Sequence[float]") -> float:
    """A hit's BM25 score as a multiple of the best of the others' scores, 0.0 to MAX_LEAD; NO_LEAD when they have none."""
    best = max(others, default=0.0)
    return min(MAX_LEAD, score / best) if best else NO_LEAD


def margin(cosine: float, others: "Sequence[float]") -> float:
    """How far a hit's cosine is above the best of the others' cosines; below it: negative."""
    return cosine - max((USUAL_COSINE, *others))


def by_words(found: Evidence, lead_: float) -> float:
    """How probable it is that the memory answers the query, 0.0 to 1.0: rises with the coverage, what is covered, and the lead.

    >>> round(by_words(Evidence(4.0, 4.0), 1.5), 2), round(by_words(Evidence(0.9, 0.9), 1.0), 2)
    (0.84, 0.02)
    """
    return _logistic(_WORDS, (found.coverage, log(1.0 + found.covered), lead_))


def by_words_and_meaning(found: Evidence, lead_: float, cosine: float, margin_: float) -> float:
    """As `by_words`, from the memory's cosine to the query and its margin too: rises with each of the four.

    >>> round(by_words_and_meaning(Evidence(2.0, 2.0), 1.5, 0.6, 0.2), 2)
    0.89
    """
    return _logistic(_WORDS_AND_MEANING, (found.coverage, lead_, cosine, margin_))


def _logistic(weights: tuple[float, ...], values: tuple[float, ...]) -> float:
    z = weights[0]
    for weight, value in zip(weights[1:], values, strict=True):
        z += weight * value
    return 1.0 / (1.0 + exp(-z))
