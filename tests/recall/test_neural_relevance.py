"""The relevance of a second look: the hook's evidence with other weights; the other factors stay."""

from __future__ import annotations

import pytest

from subcog_hooks.recall import logit, neural_relevance, relevance
from subcog_hooks.recall.hits import Hit
from subcog_hooks.recall.relevance import weigh_note
from subcog_hooks.store.memory import Memory

EVIDENCE = {name: 0.5 for name in relevance.WITH_MEANING if name != "intercept"}


def hit_of(terms: logit.Terms) -> Hit:
    return Hit(Memory(id="a", content="x"), 0.0, logit.probability(terms), {}, {}, terms=terms)


def test_it_weighs_the_evidence_that_the_hook_weighs() -> None:
    assert neural_relevance.WITH_NEURAL_QUERY.keys() == relevance.WITH_MEANING.keys()


def test_evidence_of_meaning_is_reweighed_and_the_rest_stays() -> None:
    terms = logit.with_keyword(relevance.weigh_evidence(EVIDENCE), 1.0)
    hit = hit_of(terms)
    neural_relevance.reweigh_hits([hit])
    assert {name: adds for name, _, adds in hit.terms}["margin"] == pytest.approx(
        0.5 * neural_relevance.WITH_NEURAL_QUERY["margin"]
    )
    assert hit.terms[-1] == terms[-1]
    assert hit.probability == logit.probability(hit.terms)


def test_words_alone_stay_as_they_were() -> None:
    terms = relevance.weigh_evidence({name: 0.5 for name in relevance.WORDS_ALONE if name != "intercept"})
    assert neural_relevance.reweigh_terms(terms) == terms


def test_a_note_needs_more_than_at_the_first_look() -> None:
    note = weigh_note(relevance.weigh_evidence(EVIDENCE), 0.9, 1)
    assert logit.probability(neural_relevance.reweigh_terms(note)) < logit.probability(note)
