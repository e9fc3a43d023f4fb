"""Telling rules from facts: how surely a note holds in every session, as rules, preferences, procedures and corrections do.

A logistic model of words and of the form of sentences. It knows no subject: what is looked at is how something is said. Pure.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp

from subcog_hooks.core.tables import read_weights, read_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_READ = 600  # characters of a note: a rule is said at its beginning
MAX_PIECES = 3
LEAST_WORDS = 3  # of a piece but the first: "No exceptions." says nothing by itself
REASONS = (" because", ", since", " otherwise", ", so that")  # behind these a sentence says why
INTERCEPT = "intercept"
NO_SIGN = 0.3  # of a note that shows no sign
SUREST = 0.99  # more is said of what somebody has said
RULE = 0.5  # the certainty from which on a note is taken for a standing one where nobody has said so

WEIGHTS = {sign: weight for sign, (weight,) in read_weights(__file__, "standing_weights.tsv").items()}

_WORDS = read_words(__file__, "standing.tsv")
_ORDERS, _DUTIES, _GENERAL, _BARRED = _WORDS["orders"], _WORDS["duties"], _WORDS["general"], _WORDS["barred"]
_MOMENTS, _WISHES, _PERSON, _OTHERS = _WORDS["moments"], _WORDS["wishes"], _WORDS["person"], _WORDS["others"]
_PAST, _NOT_PAST, _STATE_OF_THINGS = _WORDS["past"], _WORDS["not past"], _WORDS["state of things"]
_CAUSES, _SMALL, _NAMES = _WORDS["causes"], _WORDS["small"], _WORDS["names"]
_BE = frozenset("is are".split())


def certainty_of(text: str) -> float:
    """Return how probable it is that a note holds in every session, 0.0 to 1.0: that of what is surest in it.

    A rule comes with its reason, which is a fact, and an order follows the fact that it comes from.

    >>> certainty_of("Never push to main without a review.") > 0.8, certainty_of("The build broke on 3 May.") < 0.2
    (True, True)
    """
    pieces = signs_of(text)
    if all(len(signs) == 1 for signs in pieces):  # nothing is known of it: another language, say
        return NO_SIGN
    total = max([sum([WEIGHTS.get(name, 0.0) * value for name, value in signs.items()]) for signs in pieces])
    return min(SUREST, round(1.0 / (1.0 + exp(-max(-20.0, min(20.0, total)))), 4))


def is_standing(said: bool | None, text: str) -> bool:
    """Return whether a note holds in every session. said: what somebody has said of it, None: its text tells."""
    return certainty_of(text) >= RULE if said is None else said


def signs_of(text: str) -> list[dict[str, float]]:
    """Return what shows that each piece of a note is a rule or none, by name: 1.0 for each sign that it has."""
    found: list[dict[str, float]] = []
    for place, piece in enumerate(_pieces(text[:MAX_READ])):
        words = [bare for word in piece.lower().split() if (bare := word.strip("\"'`*_()[]{}<>.,;:!?-"))]
        if len(words) >= LEAST_WORDS or (words and not found):
            found.append(_signs_of_piece(words, piece, is_first=not place))
    return found or [{INTERCEPT: 1.0}]


def _signs_of_piece(words: Sequence[str], sentence: str, *, is_first: bool) -> dict[str, float]:
    known = {*words}
    head = [word for word in words if word not in ("please", "always", "then", "and", "also", "just", "so")] or list(words)
    behind_comma = sentence.lower().partition(",")[2].split()[:1] if words[0] in _MOMENTS else []
    found = {
        "order": head[0] in _ORDERS or (behind_comma[:1] != [] and behind_comma[0] in _ORDERS),
        "barred first": words[0] in ("no", "never", "not", "don't", "avoid", "nothing", "without", "stop"),
        "duty": bool(known & _DUTIES) or "have to" in sentence or "has to" in sentence,
        "general": bool(known & _GENERAL),
        "barred": bool(known & _BARRED) or "n't" in sentence,
        "moment first": words[0] in _MOMENTS,
        "wish": bool(known & _WISHES),
        "person": bool(known & _PERSON),
        "told of others": bool(known & _OTHERS),
        "past": bool(known & _PAST) or any(_is_past(word, before) for before, word in pairwise(words)),
        "state of things": bool(known & _STATE_OF_THINGS),
        "cause": bool(known & _CAUSES),
        "digits": any(map(str.isdigit, sentence)),
        "is done": any(one in _BE and other.endswith(("ed", "en")) for one, other in pairwise(words)),
        "of many": is_first and _is_plural(words[0], sentence) and head[0] not in _ORDERS,
        "of one": is_first and words[0] in _SMALL,
        "such as": "such as" in sentence or "e.g." in sentence,
        "colon": ":" in sentence,
    }
    return {INTERCEPT: 1.0, **{name: 1.0 for name, holds in found.items() if holds}}


def _is_plural(word: str, sentence: str) -> bool:
    """Return whether a sentence that begins with this word is about many: no name that ends like a plural."""
    is_name = word.endswith(("ss", "us", "is")) or word in _NAMES or sentence[:2].isupper()
    return word.endswith("s") and word not in _SMALL and not is_name


def _is_past(word: str, before: str) -> bool:
    """Return whether a word tells what was: a participle behind "is" or "be" tells what is done."""
    return (
        word.endswith("ed")
        and len(word) > 4
        and word not in _NOT_PAST
        and before not in ("is", "are", "be", "being", "the", "a", "an", "not", "get", "no")
    )


def _pieces(text: str) -> list[str]:
    """Return the sentences of a text, each parted from what stands behind a colon, and without its reason."""
    for sign in (". ", "! ", "? ", "; ", ": "):
        text = text.replace(sign, sign.rstrip() + "\n")
    for sign in REASONS:
        text = text.replace(sign, f"{sign}\0")
    return [line for line in (line.partition("\0")[0].strip() for line in text.split("\n")) if line][:MAX_PIECES]
