"""Probabilities as sums of evidence on the logit, with the evidence of triggers and conditions. Pure."""

from __future__ import annotations

from math import exp, log

from subcog_hooks.recall.hits import ACTION, BEGUN, BRIEF, PATH, PATTERN, PINNED, STATE, USED, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Terms = tuple[tuple[str, float, float], ...]  # of a probability: name, value, addition to the logit

CHANNELS = {  # the share of the doubt that a channel removes
    BRIEF: 0.5,
    ACTION: 0.6,
    WORDS: 0.6,
    PATTERN: 0.8,
    PATH: 0.9,
    PINNED: 0.9,
    STATE: 0.9,
    USED: 0.9,
}
KEYWORD = "keyword"
KEYWORD_SHARE = 0.5  # S3's weight
PART_OF_PROMPT = "part"
# More texts are compared, so more match by chance. With -.4 and -.8 as many are answered, with -.8 fewer wrongly.
PART_ADDS = -0.8
HEADING = "heading"
HEADING_LEAD = 0.05  # so small that a heading lets hardly a further prompt speak
SIBLING = "sibling"
SIBLING_ADDS = -3.0  # chosen, not fitted: a probability of a half becomes one in twenty
FEW_PROMPTS = 3
EARLY_PROGRESS = 0.65  # the share of BEGUN_ADDS at the second prompt and the third
# Fitted beside the prompt's own probability, to the memories that help with 478 prompts of six people. Of first prompts
# 31 % need a memory, of the second and third 14 %, of later prompts 6 %.
BEGUN_ADDS = -1.85
ASKED_LIKE = "asked_like"
# Chosen from weights 5 to 15 on half of the projects of development prompts whose memories have questions. Of titles .81 are
# answered (.58 without questions), of typed prompts .56 (.43). Unanswerable prompts meet silence in .76 (.71).
LIKE = 0.56  # the query is like the question from this likeness on
# The likeness for a question that was learned from a prompt and confirmed by use: people type it again in other forms.
# Chosen on half of the projects of development prompts, where each missed memory had learned the tidy form of the need.
# Of typed prompts .60 are answered (.57 with .50, .54 with .56); unanswerable prompts meet silence in .79 (.80, .80).
# On the other half the shares are .25 and .98 (.21 and .98, .18 and .99).
LEARNED_LIKE = 0.45
LIKE_WEIGHT = 10.0
OWN_LANGUAGE, OTHER_LANGUAGE = "own_language", "other_language"
# Chosen on prompts in eight languages. In a store of English notes and notes in all eight, .74 of the notes in a prompt's
# language are found (.72 with .6 and -1.0; alone .76), and of English notes .52 (.53; alone .53). More interrupts more prompts
# about other work: .033 of them, .046 with 1.15 and -1.0. Beside English notes and one other language .74 are found, too.
OWN_LANGUAGE_ADDS, OTHER_LANGUAGE_ADDS = 0.9, -1.5
_CERTAIN = 20.0  # the largest logit
_DIGITS = 4  # behind the point, so that all machines give equal numbers


def probability(terms: Terms) -> float:
    """Return the probability that a memory answers the query, 0.0 to 1.0.

    >>> probability((("intercept", 1.0, -2.0), ("lead", 1.0, 2.0)))
    0.5
    """
    return round(_sigmoid(sum([adds for _, _, adds in terms])), _DIGITS)


def with_channels(terms: Terms, channels: Iterable[str]) -> Terms:
    """Return the terms of a memory that these channels have found, for instance because its trigger matches.

    >>> probability(with_channels((("intercept", 1.0, 0.0),), ["pattern", "exact"]))
    0.9
    """
    for name in sorted(CHANNELS.keys() & set(channels)):
        terms = reduce_doubt(terms, name, 1.0, CHANNELS[name])
    return terms


def with_sibling(terms: Terms) -> Terms:
    """Return the terms of a memory with a sibling of an identifier that the query names and another memory has.

    Its other evidence cannot outweigh that.

    >>> [probability(with_sibling((("intercept", 1.0, logit),))) for logit in (-4.0, 0.0, 8.0)]
    [0.0009, 0.0474, 0.0474]
    """
    if any(name == SIBLING for name, _, _ in terms):
        return terms
    adds = SIBLING_ADDS - max(0.0, sum([adds for _, _, adds in terms]))
    return (*terms, (SIBLING, 1.0, round(adds, _DIGITS)))


def with_own_language(terms: Terms, others: float) -> Terms:
    """Return the terms of a memory in the prompt's language, which is not English.

    others: the share of memories in other languages among the hits, 0.0 to 1.0.

    >>> probability(with_own_language((("intercept", 1.0, -0.9),), 1.0))
    0.5
    """
    return (*terms, (OWN_LANGUAGE, round(others, _DIGITS), round(others * OWN_LANGUAGE_ADDS, _DIGITS))) if others else terms


def session_progress(prompt_number: int) -> float:
    """Return the progress of a session at a prompt, 0.0 for the first.

    prompt_number: of the prompt in its session, from 1.

    >>> [session_progress(prompt_number) for prompt_number in (1, 2, 3, 4, 40)]
    [0.0, 0.65, 0.65, 1.0, 1.0]
    """
    return 0.0 if prompt_number <= 1 else EARLY_PROGRESS if prompt_number <= FEW_PROMPTS else 1.0


def with_prompt_number(terms: Terms, prompt_number: int) -> Terms:
    """Return the terms of a memory at a prompt of its session: at the first prompt, most memories help.

    prompt_number: of the prompt in its session, from 1.

    >>> [probability(with_prompt_number((("intercept", 1.0, 0.0),), prompt_number)) for prompt_number in (1, 2, 3, 4, 40)]
    [0.5, 0.231, 0.231, 0.1359, 0.1359]
    """
    progress = session_progress(prompt_number)
    return (*terms, (BEGUN, progress, round(progress * BEGUN_ADDS, _DIGITS))) if progress else terms


def with_keyword(terms: Terms, rarity: float) -> Terms:
    """Return the terms of a memory one of whose keywords the query names.

    rarity: of the keyword in the store, 0.0 to 1.0.
    """
    return reduce_doubt(terms, KEYWORD, rarity, KEYWORD_SHARE * rarity)


def with_question(terms: Terms, likeness: float, min_likeness: float = LIKE, *, leads: bool) -> Terms:
    """Return the terms of a memory that answers questions.

    likeness: of the query to the nearest question, 0.0 to 1.0. min_likeness: from this value on the query is like it. leads:
    the question is nearer than the memory's text, so a low likeness counts against the memory. Otherwise a question only helps.

    >>> plain = (("intercept", 1.0, 0.0),)
    >>> [probability(with_question(plain, likeness, leads=True)) for likeness in (0.46, 0.56, 0.66)]
    [0.2689, 0.5, 0.7311]
    >>> with_question(plain, 0.35, leads=False) == plain
    True
    """
    adds = LIKE_WEIGHT * (likeness - min_likeness)
    return (*terms, (ASKED_LIKE, round(likeness, _DIGITS), round(adds, _DIGITS))) if leads or adds > 0.0 else terms


def reduce_doubt(terms: Terms, name: str, value: float, share: float) -> Terms:
    """Return the terms with another one, which removes `share` of the remaining doubt.

    >>> probability(reduce_doubt((("intercept", 1.0, 0.0),), "keyword", 1.0, 0.5))
    0.75
    """
    logit = max(-_CERTAIN, min(_CERTAIN, sum([adds for _, _, adds in terms])))
    raised_probability = 1.0 - (1.0 - _sigmoid(logit)) * (1.0 - share)
    return (*terms, (name, round(value, _DIGITS), round(log(raised_probability / (1.0 - raised_probability)) - logit, _DIGITS)))


def with_heading(terms: Terms, best: float) -> Terms:
    """Return the terms of a section whose heading is the query, which bring it just before the best list.

    best: the list's probability, 0.0 for no list. A better section keeps its own.

    >>> [probability(with_heading((("intercept", 1.0, own),), 0.5)) for own in (-2.0, 0.0, 2.0)]
    [0.5125, 0.5125, 0.8808]
    """
    lead = log(best / (1.0 - best)) + HEADING_LEAD - sum([adds for _, _, adds in terms]) if 0.0 < best < 1.0 else 0.0
    return (*terms, (HEADING, 1.0, round(lead, _DIGITS))) if lead > 0.0 else terms


def terms_of_channels(channels: Iterable[str]) -> Terms:
    """Return the terms of a memory with these channels as its only evidence.

    >>> probability(terms_of_channels(["pattern"])), probability(terms_of_channels(["pattern", "state"]))
    (0.8, 0.98)
    """
    return with_channels((("intercept", 1.0, -_CERTAIN),), channels)


def _sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + exp(-max(-_CERTAIN, min(_CERTAIN, logit))))
