"""Probabilities as sums of what each evidence adds to the logit, and what triggers and conditions add. Pure."""

from __future__ import annotations

from math import exp, log

from subcog_hooks.recall.hits import ACTION, BEGUN, BRIEF, MENTION, PATH, PATTERN, PINNED, STATE, USED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Terms = tuple[tuple[str, float, float], ...]  # of a probability: name, value, what it adds to the logit

CHANNELS = {  # the share of the doubt that each takes
    BRIEF: 0.5,
    ACTION: 0.6,
    MENTION: 0.6,
    PATTERN: 0.8,
    PATH: 0.9,
    PINNED: 0.9,
    STATE: 0.9,
    USED: 0.9,
}
KEYWORD = "keyword"
KEYWORD_SHARE = 0.5  # S3's weight
PART = "part"
PART_ADDS = -0.8  # more is compared, so more matches by chance; with .4 and with .8 as many are answered, with .8 fewer wrongly
SIBLING = "sibling"
SIBLING_ADDS = -3.0  # chosen, not fitted: what is as likely as not, or likelier, becomes one in twenty
FEW_PROMPTS = 3
EARLY = 0.65  # of BEGUN_ADDS, at the second prompt and the third
# Fitted, beside the probability that the prompt alone gives, to which memories help at or are about 478 prompts of six people:
# 31 % of first prompts need a memory, 14 % of the second and third, 6 % of later ones.
BEGUN_ADDS = -1.85
ASKED_LIKE = "asked_like"
# Chosen on half of the projects of development prompts whose memories have questions, of weights 5 to 15: of titles .81 are
# answered, .76 of those that nothing answers met with silence (.58 and .71 without questions), as people type them .56 (.43).
LIKE = 0.56  # a likeness from which on the query is like the question
# The same for a question that was learned from a prompt, which use has confirmed, and which people type again in other forms.
# Chosen on half of the projects of development prompts, each memory that the hook missed having learned the tidy form of the
# need: as people type them .60 are answered (.57 with .50, .54 with .56), .79 of those that nothing answers met with silence
# (.80, .80); on the other half .25 and .98 (.21 and .98, .18 and .99).
LEARNED_LIKE = 0.45
LIKE_WEIGHT = 10.0
_CERTAIN = 20.0  # a logit beyond which nothing is surer
_DIGITS = 4  # behind the point, so that machines agree


def probability(terms: Terms) -> float:
    """Return how probable it is that a memory answers the query, 0.0 to 1.0.

    >>> probability((("intercept", 1.0, -2.0), ("lead", 1.0, 2.0)))
    0.5
    """
    return round(_squashed(sum([adds for _, _, adds in terms])), _DIGITS)


def with_channels(terms: Terms, channels: Iterable[str]) -> Terms:
    """Return the terms of a memory that these channels have found, say because its trigger matches.

    >>> probability(with_channels((("intercept", 1.0, 0.0),), ["pattern", "exact"]))
    0.9
    """
    for name in sorted(CHANNELS.keys() & set(channels)):
        terms = raised(terms, name, 1.0, CHANNELS[name])
    return terms


def with_part_of_prompt(terms: Terms) -> Terms:
    """Return the terms of a memory that was compared with one sentence of a prompt alone."""
    return (*terms, (PART, 1.0, PART_ADDS))


def with_sibling(terms: Terms) -> Terms:
    """Return the terms of a memory that has a sibling of the identifier which the query names, and another memory has.

    However like the query it is otherwise, it is as good as out of the question.

    >>> [probability(with_sibling((("intercept", 1.0, logit),))) for logit in (-4.0, 0.0, 8.0)]
    [0.0009, 0.0474, 0.0474]
    """
    if any(name == SIBLING for name, _, _ in terms):
        return terms
    adds = SIBLING_ADDS - max(0.0, sum([adds for _, _, adds in terms]))
    return (*terms, (SIBLING, 1.0, round(adds, _DIGITS)))


def begun(place: int) -> float:
    """Return how far a session has gone with the prompt of this place, from 1: 0.0 for the first.

    >>> [begun(place) for place in (1, 2, 3, 4, 40)]
    [0.0, 0.65, 0.65, 1.0, 1.0]
    """
    return 0.0 if place <= 1 else EARLY if place <= FEW_PROMPTS else 1.0


def with_place(terms: Terms, place: int) -> Terms:
    """Return the terms of a memory at the prompt of this place in its session, from 1: at the first, most is wanted.

    >>> [probability(with_place((("intercept", 1.0, 0.0),), place)) for place in (1, 2, 3, 4, 40)]
    [0.5, 0.231, 0.231, 0.1359, 0.1359]
    """
    gone = begun(place)
    return (*terms, (BEGUN, gone, round(gone * BEGUN_ADDS, _DIGITS))) if gone else terms


def with_keyword(terms: Terms, rarity: float) -> Terms:
    """Return the terms of a memory one of whose keywords the query names.

    rarity: of the keyword in the store, 0.0 to 1.0.
    """
    return raised(terms, KEYWORD, rarity, KEYWORD_SHARE * rarity)


def with_question(terms: Terms, likeness: float, least: float = LIKE, *, leads: bool) -> Terms:
    """Return the terms of a memory that answers questions.

    likeness: of the query to the nearest of them, 0.0 to 1.0. least: from which on it is like that one. leads: it is nearer
    than the memory's text, so that what it lacks counts against it; else a question only helps.

    >>> plain = (("intercept", 1.0, 0.0),)
    >>> [probability(with_question(plain, likeness, leads=True)) for likeness in (0.46, 0.56, 0.66)]
    [0.2689, 0.5, 0.7311]
    >>> with_question(plain, 0.35, leads=False) == plain
    True
    """
    adds = LIKE_WEIGHT * (likeness - least)
    return (*terms, (ASKED_LIKE, round(likeness, _DIGITS), round(adds, _DIGITS))) if leads or adds > 0.0 else terms


def raised(terms: Terms, name: str, value: float, share: float) -> Terms:
    """Return the terms with one more, which takes `share` of the doubt that is left.

    >>> probability(raised((("intercept", 1.0, 0.0),), "keyword", 1.0, 0.5))
    0.75
    """
    logit = max(-_CERTAIN, min(_CERTAIN, sum([adds for _, _, adds in terms])))
    likely = 1.0 - (1.0 - _squashed(logit)) * (1.0 - share)
    return (*terms, (name, round(value, _DIGITS), round(log(likely / (1.0 - likely)) - logit, _DIGITS)))


def terms_of_channels(channels: Iterable[str]) -> Terms:
    """Return the terms of a memory of which only these channels are known.

    >>> probability(terms_of_channels(["pattern"])), probability(terms_of_channels(["pattern", "state"]))
    (0.8, 0.98)
    """
    return with_channels((("intercept", 1.0, -_CERTAIN),), channels)


def _squashed(logit: float) -> float:
    return 1.0 / (1.0 + exp(-max(-_CERTAIN, min(_CERTAIN, logit))))
