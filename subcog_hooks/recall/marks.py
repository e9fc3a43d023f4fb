"""The marks of `subcog why bad`: a marked memory counts less for prompts like the marked one.

Two prompts are alike as far as the weights of their terms overlap (weighted Jaccard), so rare words decide.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.recall import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.store_reader import Mark

MAX_PROMPT = 2_000  # characters of a prompt; its decision keeps as many
# Of 227,475 pairs of real prompts to one store 48 overlap by this share. Nine paraphrases overlap by .51 or more.
UNLIKE = 0.4
ALIKE = 0.8  # the same prompt in slightly other words
_DIGITS = 4  # behind the point of a weight


def discount_marked(hits: Sequence[Hit], marks: Sequence[Mark], prompt: str, index: LexicalIndex) -> None:
    """Discount the hits that were marked wrong for prompts like this one. Raises IndexUnusable."""
    asked = prompt_terms(prompt, index)
    factors: dict[int, float] = {}
    for mark in marks:
        factors[mark.seq] = min(factors.get(mark.seq, 1.0), remaining_share(terms_overlap(asked, terms_from_text(mark.terms))))
    for hit in hits:
        hit.marked = factors.get(hit.memory.seq, 1.0)


def prompt_terms(prompt: str, index: LexicalIndex) -> dict[str, float]:
    """Return the terms of a prompt with their weights: words by their stems, identifiers whole."""
    weights: dict[str, float] = {}
    for term in query.analyse_query(prompt[:MAX_PROMPT], index).terms:
        name = term.whole if term.is_identifier or not term.stems else term.stems[0]
        weights[name] = max(weights.get(name, 0.0), round(term.weight, _DIGITS))
    return weights


def terms_overlap(asked: Mapping[str, float], marked: Mapping[str, float]) -> float:
    """Return the share of the terms' weight that two prompts have in common, 0.0 to 1.0.

    The larger of a term's two weights counts.

    >>> terms_overlap({"rotat": 0.5, "key": 0.3, "sign": 0.2}, {"rotat": 0.5, "key": 0.3, "tonight": 0.2})
    0.6666666666666667
    """
    larger = {name: max(asked.get(name, 0.0), marked.get(name, 0.0)) for name in sorted({*asked, *marked})}
    total = sum(larger.values())
    return sum(weight for name, weight in larger.items() if name in asked and name in marked) / total if total else 0.0


def remaining_share(overlap: float) -> float:
    """Return the share of a relevance that remains: all of it up to UNLIKE, nothing from ALIKE on.

    Between these it falls linearly with the overlap of the prompts.

    >>> remaining_share(0.3), round(remaining_share(0.7), 2), remaining_share(1.0)
    (1.0, 0.25, 0.0)
    """
    return min(1.0, max(0.0, (ALIKE - overlap) / (ALIKE - UNLIKE)))


def terms_to_text(terms: Mapping[str, float]) -> str:
    """Return terms in the JSON of a mark, the heaviest first.

    >>> terms_to_text({"key": 0.3, "rotat": 0.5})
    '{"rotat":0.5,"key":0.3}'
    """
    heaviest = sorted(terms.items(), key=lambda term: (-term[1], term[0]))
    return light_json.dumps(dict(heaviest))


def terms_from_text(text: str) -> dict[str, float]:
    """Return the terms of a mark's JSON; none of any other text."""
    try:
        stored = light_json.loads(text)
    except ValueError:
        return {}
    if not isinstance(stored, dict):
        return {}
    return {name: float(weight) for name, weight in stored.items() if isinstance(weight, int | float)}
