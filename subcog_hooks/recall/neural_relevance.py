"""The relevance of hits whose query vector the model has made: other weights for the same evidence. Pure."""

from __future__ import annotations

from subcog_hooks.recall import logit, relevance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.recall.logit import Terms

# scripts/relevance/neural.py fits the weights that the query's vector changes, shrunk towards recall.relevance. It uses 9,990
# candidates of 676 development prompts of one half of the projects. On the other half, at the same silence (.90), .19 of
# typed prompts are answered and .52 of the first hits are right; with recall.relevance alone .17 and .44. The threshold is
# the usual one: .9 of it adds one right answer and three wrong ones, 1.25 of it loses a quarter of the gain.
WITH_NEURAL_QUERY = relevance.WITH_MEANING | {
    "intercept": -4.828,
    "closeness": 2.392,
    "lead": 2.151,
    "above_tenth": 2.751,
    "margin": 7.04,
    "word_rank": 0.338,
    "meaning_rank": 1.128,
}
# An addition to a short note's intercept (recall.notes), because these cosines are higher for all notes. It was chosen on
# the histories of six people: second looks brought nine useless notes without it, and none with it.
NOTE_INTERCEPT = -0.56


def reweigh_hits(hits: Sequence[Hit]) -> None:
    """Weigh the evidence of hits anew, for cosines of the model; the evidence of triggers and keywords stays."""
    for hit in hits:
        hit.terms = reweigh_terms(hit.terms)
        hit.probability = logit.probability(hit.terms)


def reweigh_terms(terms: Terms) -> Terms:
    """Return the terms of a memory with the weights for such cosines.

    >>> reweigh_terms((("margin", 0.5, 2.0), ("keyword", 1.0, 2.0)))
    (('margin', 0.5, 3.52), ('keyword', 1.0, 2.0))
    >>> reweigh_terms((("intercept", 1.0, -1.0), ("begun", 0.0, 0.0)))
    (('intercept', 1.0, -1.56), ('begun', 0.0, 0.0))
    """
    weights = relevance.model_weights(terms)
    if weights is relevance.OF_NOTES:
        return tuple([(name, value, adds + NOTE_INTERCEPT if name == "intercept" else adds) for name, value, adds in terms])
    if weights is not relevance.WITH_MEANING:
        return terms  # the vector changes nothing for words alone
    return tuple(
        [
            (name, value, WITH_NEURAL_QUERY[name] * value) if name in WITH_NEURAL_QUERY else (name, value, adds)
            for name, value, adds in terms
        ]
    )
