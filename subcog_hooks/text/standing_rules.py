"""Whether a note holds in every session, as rules do, by its own words."""

from __future__ import annotations

from itertools import islice, pairwise
from math import exp

from subcog_hooks.core.files import read_weights, read_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_READ = 600  # characters of a note, which begins with its rule
MAX_PIECES = 3
MIN_WORDS = 3  # words of a piece but the first: "No exceptions." says nothing by itself
REASONS = (" because", ", since", " otherwise", ", so that")  # Behind these a sentence gives its reason.
INTERCEPT = "intercept"
DEFAULT_CERTAINTY = 0.3  # the certainty of a note without signs
MAX_CERTAINTY = 0.99  # a higher certainty means that a person said so
MIN_RULE_CERTAINTY = 0.5  # from this certainty a note counts as a rule, unless a person decides

WEIGHTS = {sign: weight for sign, (weight,) in read_weights(__file__, "standing_weights.tsv").items()}

_WORDS = read_words(__file__, "standing.tsv")
ORDERS, _DUTIES, _GENERAL, _BARRED = _WORDS["orders"], _WORDS["duties"], _WORDS["general"], _WORDS["barred"]
_MOMENTS, _WISHES, _PERSON, _OTHERS = _WORDS["moments"], _WORDS["wishes"], _WORDS["person"], _WORDS["others"]
_PAST, _NOT_PAST, _STATE_OF_THINGS = _WORDS["past"], _WORDS["not past"], _WORDS["state of things"]
_CAUSES, _SMALL, _NAMES = _WORDS["causes"], _WORDS["small"], _WORDS["names"]
_BEFORE_NO_PAST = frozenset("is are be being the a an not get no".split())  # Behind these a word in -ed is a participle.


def certainty_of(text: str) -> float:
    """Return the probability that a note holds in every session, 0.0 to 1.0, by its surest piece.

    A rule may come with its reason, which is a fact, and an order may follow a fact.

    >>> certainty_of("Never push to main without a review.") > 0.8, certainty_of("The build broke on 3 May.") < 0.2
    (True, True)
    """
    pieces = signs_of(text)
    if all(len(signs) == 1 for signs in pieces):  # It has no known sign, as in another language.
        return DEFAULT_CERTAINTY
    total = max([sum([WEIGHTS.get(name, 0.0) * value for name, value in signs.items()]) for signs in pieces])
    return min(MAX_CERTAINTY, round(1.0 / (1.0 + exp(-max(-20.0, min(20.0, total)))), 4))


def is_standing(decided: bool | None, text: str) -> bool:
    """Return whether a note holds in every session. decided: a person's decision, None to judge the text."""
    return certainty_of(text) >= MIN_RULE_CERTAINTY if decided is None else decided


def signs_of(text: str) -> list[dict[str, float]]:
    """Return the signs of each piece of a note for or against a rule: 1.0 by the name of each sign.

    The pieces are its sentences without their reasons, split at colons, too.
    """
    text = text[:MAX_READ]
    for sign in (". ", "! ", "? ", "; ", ": "):
        text = text.replace(sign, sign.rstrip() + "\n")
    for sign in REASONS:
        text = text.replace(sign, f"{sign}\0")
    pieces = filter(None, [line.partition("\0")[0].strip() for line in text.split("\n")])
    signs: list[dict[str, float]] = []
    for index, piece in enumerate(islice(pieces, MAX_PIECES)):
        words = [bare for word in piece.lower().split() if (bare := word.strip("\"'`*_()[]{}<>.,;:!?-"))]
        if len(words) >= MIN_WORDS or (words and not signs):
            signs.append(_signs_of_piece(words, piece, is_first=not index))
    return signs or [{INTERCEPT: 1.0}]


def _signs_of_piece(words: Sequence[str], sentence: str, *, is_first: bool) -> dict[str, float]:
    word_set, first = {*words}, words[0]
    head = [word for word in words if word not in ("please", "always", "then", "and", "also", "just", "so")] or list(words)
    behind_comma = sentence.lower().partition(",")[2].split()[:1] if first in _MOMENTS else []
    is_name = first.endswith(("ss", "us", "is")) or first in _NAMES or sentence[:2].isupper()
    past = [word for word in words[1:] if word.endswith("ed") and len(word) > 4 and word not in _NOT_PAST]
    signs = {
        "order": head[0] in ORDERS or not ORDERS.isdisjoint(behind_comma),
        "barred first": first in ("no", "never", "not", "don't", "avoid", "nothing", "without", "stop"),
        "duty": bool(word_set & _DUTIES) or "have to" in sentence or "has to" in sentence,
        "general": bool(word_set & _GENERAL),
        "barred": bool(word_set & _BARRED) or "n't" in sentence,
        "moment first": first in _MOMENTS,
        "wish": bool(word_set & _WISHES),
        "person": bool(word_set & _PERSON),
        "told of others": bool(word_set & _OTHERS),
        "past": bool(word_set & _PAST)
        or any(word in past and before not in _BEFORE_NO_PAST for before, word in pairwise(words)),
        "state of things": bool(word_set & _STATE_OF_THINGS),
        "cause": bool(word_set & _CAUSES),
        "digits": any(map(str.isdigit, sentence)),
        "is done": any(word in ("is", "are") and other.endswith(("ed", "en")) for word, other in pairwise(words)),
        "of many": is_first and first.endswith("s") and first not in _SMALL and not is_name and head[0] not in ORDERS,
        "of one": is_first and first in _SMALL,
        "such as": "such as" in sentence or "e.g." in sentence,
        "colon": ":" in sentence,
    }
    return {INTERCEPT: 1.0, **{name: 1.0 for name, holds in signs.items() if holds}}
