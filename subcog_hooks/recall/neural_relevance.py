"""The relevance of hits where the model has made the query's vector: the same evidence, weighed for such cosines. Pure."""

from __future__ import annotations

from subcog_hooks.recall import logit, relevance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.recall.logit import Terms

# What the query's vector changes is fitted by scripts/relevance/neural.py, to 9,990 candidates of 676 development prompts
# of one half of the projects, and drawn towards recall.relevance; the rest is that. On the other half, at the same silence
# (.90), .19 of the prompts as people type them are answered and .52 of what comes first is right; with recall.relevance alone
# .17 and .44. The bar is the usual one: with .9 of it one answer more comes with three wrong ones, with 1.25 a quarter of the
# gain is lost.
WITH_NEURAL_QUERY = relevance.WITH_MEANING | {
    "intercept": -4.828,
    "closeness": 2.392,
    "lead": 2.151,
    "above_tenth": 2.751,
    "margin": 7.04,
    "word_rank": 0.338,
    "meaning_rank": 1.128,
}
# More of a short note's intercept (recall.notes), whose other weights stay: by such cosines all of them are nearer. Chosen on
# the histories of six people, whose second looks brought nine notes without it, and none of use; with it none.
NOTE_INTERCEPT = -0.56


def weigh_anew(hits: Sequence[Hit]) -> None:
    """Weigh the evidence of hits whose meaning was compared anew; what triggers and keywords add stays."""
    for hit in hits:
        hit.terms = terms_of(hit.terms)
        hit.probability = logit.probability(hit.terms)


def terms_of(terms: Terms) -> Terms:
    """Return the terms of a memory with these weights.

    >>> terms_of((("margin", 0.5, 2.0), ("keyword", 1.0, 2.0)))
    (('margin', 0.5, 3.52), ('keyword', 1.0, 2.0))
    >>> terms_of((("intercept", 1.0, -1.0), ("begun", 0.0, 0.0)))
    (('intercept', 1.0, -1.56), ('begun', 0.0, 0.0))
    """
    weights = relevance.weights_of(terms)
    if weights is relevance.OF_NOTES:
        return tuple([(name, value, adds + NOTE_INTERCEPT if name == "intercept" else adds) for name, value, adds in terms])
    if weights is not relevance.WITH_MEANING:
        return terms  # words alone, which the vector does not change
    return tuple(
        [
            (name, value, WITH_NEURAL_QUERY[name] * value) if name in WITH_NEURAL_QUERY else (name, value, adds)
            for name, value, adds in terms
        ]
    )
