"""The marks of `subcog why --bad`: how much less a memory counts for prompts like the one it was wrong for.

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
    from subcog_hooks.store.store import Mark

READ = 2_000  # characters of a prompt: as much as its decision keeps
UNLIKE = 0.4  # of 227,475 pairs of real prompts to one store 48 overlap so far; of nine paraphrases the least .51
ALIKE = 0.8  # the same prompt, put a little differently
_DIGITS = 4  # behind the point of a term's weight in a mark


def discount_marked(hits: Sequence[Hit], marks: Sequence[Mark], prompt: str, index: LexicalIndex) -> None:
    """Discount the hits that were called wrong for prompts like this one. Raises IndexUnusable."""
    asked = terms(prompt, index)
    factors: dict[int, float] = {}
    for mark in marks:
        factors[mark.seq] = min(factors.get(mark.seq, 1.0), factor(overlap(asked, from_text(mark.terms))))
    for hit in hits:
        hit.marked = factors.get(hit.memory.seq, 1.0)


def terms(prompt: str, index: LexicalIndex) -> dict[str, float]:
    """Return the terms that a prompt asks for, with how much each says: words by their stems, identifiers whole."""
    found: dict[str, float] = {}
    for term in query.analyse(prompt[:READ], index).terms:
        name = term.whole if term.is_identifier or not term.stems else term.stems[0]
        found[name] = max(found.get(name, 0.0), round(term.weight, _DIGITS))
    return found


def overlap(asked: Mapping[str, float], marked: Mapping[str, float]) -> float:
    """Return the share of the terms' weight that two prompts have in common, 0.0 to 1.0.

    The larger of a term's two weights counts.

    >>> overlap({"rotat": 0.5, "key": 0.3, "sign": 0.2}, {"rotat": 0.5, "key": 0.3, "tonight": 0.2})
    0.6666666666666667
    """
    both = {name: max(asked.get(name, 0.0), marked.get(name, 0.0)) for name in sorted({*asked, *marked})}
    every = sum(both.values())
    return sum(weight for name, weight in both.items() if name in asked and name in marked) / every if every else 0.0


def factor(overlap: float) -> float:
    """Return the share of a relevance that is left: all of it up to UNLIKE, nothing from ALIKE on.

    In between the share shrinks the more the prompts overlap.

    >>> factor(0.3), round(factor(0.7), 2), factor(1.0)
    (1.0, 0.25, 0.0)
    """
    return min(1.0, max(0.0, (ALIKE - overlap) / (ALIKE - UNLIKE)))


def to_text(terms: Mapping[str, float]) -> str:
    """Return terms as a mark keeps them, the heaviest first.

    >>> to_text({"key": 0.3, "rotat": 0.5})
    '{"rotat":0.5,"key":0.3}'
    """
    heaviest = sorted(terms.items(), key=lambda term: (-term[1], term[0]))
    return light_json.dumps(dict(heaviest))


def from_text(text: str) -> dict[str, float]:
    """Return the terms that a mark keeps; none of a text that holds something else."""
    try:
        stored = light_json.loads(text)
    except ValueError:
        return {}
    if not isinstance(stored, dict):
        return {}
    return {name: float(weight) for name, weight in stored.items() if isinstance(weight, int | float)}
