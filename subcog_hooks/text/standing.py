"""Telling rules from facts: how surely a note holds in every session, as rules, preferences, procedures and corrections do.

A logistic model of words and of the form of sentences. It knows no subject: what is looked at is how something is said. Pure.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp

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

# Weights of the signs, fitted by scripts/standing/fit.py to 320 notes of thirteen projects, written for it.
WEIGHTS: dict[str, float] = {
    "intercept": 0.21,
    "barred": 0.67,
    "barred first": 1.65,
    "cause": -0.86,
    "colon": 0.52,
    "digits": -1.84,
    "duty": 1.22,
    "general": 1.65,
    "is done": 0.75,
    "moment first": 0.11,
    "of many": 1.2,
    "of one": -1.18,
    "order": 1.84,
    "past": -1.69,
    "person": 0.77,
    "state of things": -1.27,
    "such as": 0.91,
    "told of others": 0.67,
    "wish": 0.67,
}

# verbs that begin an order; those that are as often nouns ("test", "build", "release") are left out where nothing shows it
_ORDERS = frozenset(
    "add adopt align annotate answer apply ask assume avoid be begin bump call check choose clean close commit consider "
    "convert copy create declare define delete deploy describe document don't dont do double drop edit enable ensure "
    "escape exclude explain export extract fetch fix follow format generate get give group handle hash hide "
    "import include inject install "
    "keep leave limit list load log look make mark mask mention merge mind mock move name never note only open pass pin place "
    "please prefer prefix print propose push put query quote raise read rebase record refer regenerate remember remove rename "
    "repeat replace report request respect restart return reuse review rewrite round run save say see send separate set show "
    "skip sort spell split spread start state stay stick stop store take tell test throw translate treat try update use "
    "validate verify wait wrap write".split()
)
_DUTIES = frozenset("must should shall ought mustn't shouldn't needs need forbidden allowed required mandatory".split())
_GENERAL = frozenset("always never every each all any only whenever everywhere nowhere anything nothing nobody".split())
_BARRED = frozenset("no not don't never without avoid neither nor stop".split())
_MOMENTS = frozenset("when whenever before if after unless once".split())
_WISHES = frozenset("prefer prefers want wants like likes instead rather please wish expect".split())
_PERSON = frozenset("i me my myself".split())
_WE_TOLD = frozenset("we our us they their he she".split())
_PAST = frozenset(
    "was were had did been became came went found got took made gave broke chose won lost grew fell felt kept left told saw "
    "ran wrote led held hung wasn't weren't hadn't didn't cut".split()
)
_NOT_PAST = frozenset(
    "need needed red bed speed feed embed seed indeed allowed required hundred based shared typed nested".split()
)
_STATE_OF_THINGS = frozenset(
    "still yet already now currently today yesterday tomorrow monday tuesday wednesday thursday friday saturday sunday january "
    "february march april june july august september october november december spring summer autumn winter done finished "
    "half planned planning missing running pending until week weeks month months year years day days euros percent will ago "
    "about some".split()
)
_CAUSES = frozenset("because since caused due thanks therefore".split())
_SMALL = frozenset("the a an this that these those there it its our we they he she".split())
_NAMES = frozenset("jenkins postgres redis kubernetes windows macos aws grafana pandas rails dns tls".split())  # no plurals
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
        "told of others": bool(known & _WE_TOLD),
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
