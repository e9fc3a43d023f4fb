"""The merge: what the keywords found and what an LLM answered become one intent (S0, DESIGN section 6). Pure."""

from __future__ import annotations

from subcog_hooks.intent.kinds import HYBRID, KEYWORD, LLM, MAX_CONFIDENCE, MAX_TOPICS, NONE, OFF, Intent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from subcog_hooks.intent.classifier import Classification

LLM_SHARE, KEYWORD_SHARE = 0.7, 0.3  # of the merged confidence (S0; DESIGN section 6)
AGREEMENT = 0.1  # what equal topics add
SAME_TOPICS = 0.5  # from that Jaccard index on they are equal
UNCERTAINTY = 0.1  # what an LLM costs that was asked and did not answer
SURE = 0.8  # from that confidence on the keywords alone are trusted
_DIGITS = 4  # behind the point of a confidence

# the rows of S0's topic table, and the cases that it leaves out
MATCH = "the LLM answered, topics match: +0.1"
DIFFER = "the LLM answered, topics differ"
NO_KEYWORD_TOPICS = "the LLM answered, no keyword topics"
NO_LLM_TOPICS = "the LLM answered, without topics"
LLM_ALONE = "the LLM answered, no keyword result"
FAILED = "the LLM failed: -0.1"
FAILED_AT_THRESHOLD = "the LLM failed: -0.1, but not below min_confidence"
FAILED_SURE = "the LLM failed, keywords sure: no adjustment"
NOT_ASKED = "no LLM was asked: the keyword result"
NOTHING = "no topics on either side: none, 0.0"


class Merged:
    """The intent that counts, and how it was made.

    row: of the table. is_vetoed: the LLM is sure enough that memories would not help. certainty: the intent's confidence
    without what a failed LLM costs it, which is no reason to hand over less.
    """

    __slots__ = ("certainty", "intent", "is_vetoed", "row")

    def __init__(self, intent: Intent, row: str, certainty: float, *, is_vetoed: bool = False) -> None:
        self.intent = intent
        self.row = row
        self.certainty = certainty
        self.is_vetoed = is_vetoed


def merged(
    keyword: Intent | None,
    answer: Classification | None,
    *,
    attempted: bool,
    min_confidence: float,
    llm_status: str = OFF,
    words: tuple[str, ...] = (),
) -> Merged:
    """Return the intent that a keyword result and an LLM's answer make together.

    keyword: None when there is none; words: the topics that the prompt's words are all the same. answer: None when no LLM was
    asked, or none that is valid came; `attempted` tells which. llm_status: what the intent says of the LLM.

    An answer's type counts from `min_confidence` on, also its `none`: a veto. Its confidence is that in its type; an answer
    `none` of confidence c makes it 1 - c probable that memories could help. A failed LLM leaves type and topics as they are,
    and its -0.1 alone never takes a confidence below `min_confidence`: the keyword result is held there, S0's floor.
    """
    topics = _topics(answer.topics if answer else (), keyword.topics if keyword else words)
    is_vetoed = answer is not None and answer.type == NONE and answer.confidence >= min_confidence
    if not topics or (keyword is None and answer is None):
        signals = keyword.keywords if keyword else ()
        nothing = Intent(NONE, 0.0, (), signals, source=_source(keyword, answer), llm_status=llm_status)
        return Merged(nothing, NOTHING, 0.0, is_vetoed=is_vetoed)
    if answer is None:
        assert keyword is not None
        confidence, row = _unanswered(keyword.confidence, min_confidence) if attempted else (keyword.confidence, NOT_ASKED)
        kind = keyword.type
    elif keyword is None:
        kind, confidence, row = answer.type, _helpful(answer), LLM_ALONE
    else:
        kind = answer.type if answer.confidence >= min_confidence else keyword.type
        confidence, row = _weighed(keyword, answer)
    signals = keyword.keywords if keyword else ()
    intent = Intent(kind, _capped(confidence), topics, signals, source=_source(keyword, answer), llm_status=llm_status)
    certainty = _capped(keyword.confidence) if keyword and answer is None else intent.confidence
    return Merged(intent, row, certainty, is_vetoed=is_vetoed)


def _weighed(keyword: Intent, answer: Classification) -> tuple[float, str]:
    confidence = LLM_SHARE * _helpful(answer) + KEYWORD_SHARE * keyword.confidence
    theirs = {topic.casefold() for topic in answer.topics}
    ours = {topic.casefold() for topic in keyword.topics}
    if not ours:
        row = NO_KEYWORD_TOPICS
    elif not theirs:
        row = NO_LLM_TOPICS
    elif len(theirs & ours) >= SAME_TOPICS * len(theirs | ours):
        confidence, row = confidence + AGREEMENT, MATCH
    else:
        row = DIFFER
    return round(confidence, _DIGITS), row


def _unanswered(confidence: float, min_confidence: float) -> tuple[float, str]:
    if confidence >= SURE:
        return confidence, FAILED_SURE
    lower = round(confidence - UNCERTAINTY, _DIGITS)
    if lower < min_confidence <= confidence:
        return min_confidence, FAILED_AT_THRESHOLD
    return lower, FAILED


def _helpful(answer: Classification) -> float:
    """Return how probable an answer makes it that memories could help."""
    return round(1.0 - answer.confidence, _DIGITS) if answer.type == NONE else answer.confidence


def _capped(confidence: float) -> float:
    return min(MAX_CONFIDENCE, max(0.0, confidence))


def _source(keyword: Intent | None, answer: Classification | None) -> str:
    if answer is None:
        return KEYWORD
    return HYBRID if keyword else LLM


def _topics(theirs: Iterable[str], ours: Iterable[str]) -> tuple[str, ...]:
    """Return at most five topics, the LLM's first, each once."""
    found: dict[str, str] = {}
    for topic in (*theirs, *ours):
        found.setdefault(topic.casefold(), topic)
    return tuple(found.values())[:MAX_TOPICS]
