"""Scores: of a typed turn, the certainty that it is worth proposing and the kind of memory; of a model's proposal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp

from subcog_hooks.core.files import read_weights
from subcog_hooks.learn.signs import CALL_REFUSED, NOTE, Sentence, TypedTurn, read_sentences, strip_bullet
from subcog_hooks.text.typed_prompt import is_typed

Weights = Mapping[str, tuple[float, ...]]

SENTENCE_BAR = 0.365  # the certainty from which a sentence belongs to its turn's proposal
ANSWER_BAR = 0.2  # bar of an answer to a refused call; no real ones were available to fit it
REPEATED_BAR = 0.2  # bar of a turn that another session repeats
NOTE_CERTAINTY = 0.95  # the certainty of a turn that the person called a note
MAX_CERTAINTY = 0.99
MAX_PROPOSAL = 600  # characters of a proposal
REFERRING_WORDS = tuple(f"{word} " for word in "it this that these those they so otherwise because and but then".split())
SENTENCE, TURN_MAX, TURN_MEAN, CORRECTION_MAX, CORRECTION_MEAN = range(5)  # indices into a sign's weights


def calibrate(logit: float, slope: float, shift: float) -> float:
    """Return the probability of a logit, 0.0 to 1.0. slope, shift: fitted on people who were not in the training set."""
    return round(min(MAX_CERTAINTY, 1.0 / (1.0 + exp(-max(-20.0, min(20.0, slope * logit + shift))))), 4)


class Fit:
    """The fitted models. bar: the certainty that proposes a turn; correction_bar: the certainty of a correction that does."""

    __slots__ = ("_of_correction", "_of_sentence", "_of_turn", "_weights", "bar", "correction_bar")

    def __init__(self, by_sign: Weights, lines: Sequence[tuple[float, ...]], bars: tuple[float, ...]) -> None:
        """Collect the models. by_sign: weights ordered SENTENCE to CORRECTION_MEAN; lines: of sentence, turn, correction."""
        self._weights = by_sign
        self._of_sentence, self._of_turn, self._of_correction = lines
        self.bar, self.correction_bar = bars

    def certainty(self, sentence: Sentence) -> float:
        """Return the probability that a sentence is worth remembering."""
        return calibrate(self._sum(SENTENCE, sentence.signs), *self._of_sentence)

    def certainties_of_turn(self, sentences: Sequence[Sentence]) -> tuple[float, float]:
        """Return the probabilities that a turn is worth remembering, and that it also corrects the agent."""
        greatest: dict[str, float] = {}
        means: dict[str, float] = {}
        for sentence in sentences:
            for name, value in sentence.signs.items():
                greatest[name] = max(greatest.get(name, 0.0), value)
                means[name] = means.get(name, 0.0) + value / len(sentences)
        turn = self._sum(TURN_MAX, greatest) + self._sum(TURN_MEAN, means)
        correction = self._sum(CORRECTION_MAX, greatest) + self._sum(CORRECTION_MEAN, means)
        return calibrate(turn, *self._of_turn), calibrate(correction, *self._of_correction)

    def _sum(self, index: int, signs: Mapping[str, float]) -> float:
        return sum([self._weights[name][index] * value for name, value in signs.items() if name in self._weights])


WEIGHTS = read_weights(__file__, "weights.tsv")
*CALIBRATIONS, _BARS = read_weights(__file__, "calibration.tsv").values()
PACKAGED_FIT = Fit(WEIGHTS, CALIBRATIONS, _BARS)


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """The judgement on a turn.

    certainty: that it is worth remembering; corrects: it is proposed as a probable correction of the agent; text: the proposed
    part; signs: of its surest sentence.
    """

    certainty: float
    text: str
    signs: Mapping[str, float]
    corrects: bool = field(default=False, kw_only=True)


def judge_turn(turn: TypedTurn, fit: Fit = PACKAGED_FIT) -> JudgedTurn | None:
    """Judge whether a turn is worth remembering, and choose its text; None if it says nothing."""
    if turn.kind == NOTE:
        return JudgedTurn(NOTE_CERTAINTY, " ".join(turn.text.split())[:MAX_PROPOSAL], {})
    if not is_typed(turn.text) and not turn.text.lstrip().startswith("/"):
        return None
    sentences = read_sentences(turn)
    if not sentences:
        return None
    sure = [fit.certainty(sentence) for sentence in sentences]
    best = max(range(len(sure)), key=sure.__getitem__)
    certainty, corrects = fit.certainties_of_turn(sentences)
    is_correction = corrects >= fit.correction_bar
    return JudgedTurn(certainty, _choose_text(sentences, sure, best), sentences[best].signs, corrects=is_correction)


def _choose_text(sentences: Sequence[Sentence], sure: Sequence[float], best: int) -> str:
    chosen = {best}
    if best and sentences[best].text.lower().startswith(REFERRING_WORDS):
        chosen.add(best - 1)
    size = sum(len(sentences[index].text) for index in chosen)
    for index in sorted(range(len(sure)), key=lambda index: -sure[index]):
        if index not in chosen and sure[index] >= SENTENCE_BAR and size + len(sentences[index].text) < MAX_PROPOSAL:
            chosen.add(index)
            size += len(sentences[index].text) + 1
    texts = [sentences[index].text for index in sorted(chosen)]
    return " ".join(texts if len(texts) > 1 else map(strip_bullet, texts))[:MAX_PROPOSAL].strip()


TURN_KINDS = ("correction", "preference", "decision", "fact", "procedure", "pitfall")
CORRECTION, PREFERENCE, DECISION, FACT, PROCEDURE, PITFALL = TURN_KINDS
RULE, WORK_STATE = "rule", "state"
MODEL_KINDS = (RULE, DECISION, FACT, PROCEDURE, PITFALL, WORK_STATE)  # kinds of a model's proposals
ALL_KINDS = tuple(dict.fromkeys((*TURN_KINDS, *MODEL_KINDS)))
NAMESPACES = dict.fromkeys((CORRECTION, PREFERENCE, RULE), "patterns") | {
    DECISION: "decisions",
    FACT: "context",
    PROCEDURE: "learnings",
    PITFALL: "blockers",
    WORK_STATE: "progress",
}
_OBJECTION_SIGNS = frozenset(("no", "wrong", "said before", "you did", "why you", "loud"))
_RULE_SIGNS = frozenset(("always", "from now on", "told not to", "not wanted", "prefers", "rule", "each", "must"))
_DECISION_SIGNS = frozenset(("decided", "instead", "one not the other", "use it", "we use", "keep it", "only", "no need"))
_CONDUCT_PHRASES = (  # phrases about the agent's conduct in any project
    *("commit", "push", "ask me", "tell me", "show me", "explain", "your answer", "your code", "comment", "refactor"),
    *("when you", "before you", "you should", "you did", "you said", "you have to", "done", "my machine", "i prefer", "i'm "),
    *("i am ", "my text", "my wording", "diff", "emoji", "don't touch", "dont touch", "i asked", "i ask"),
)


def turn_kind(turn: TypedTurn, judgement: JudgedTurn) -> str:
    """Return the kind of a turn's memory."""
    signs = judgement.signs.keys()
    is_behind_a_call = turn.before.changed or turn.before.outcome != ""
    if judgement.corrects and (is_behind_a_call or signs & _OBJECTION_SIGNS):
        return CORRECTION
    if turn.before.outcome == CALL_REFUSED or (signs & _OBJECTION_SIGNS and (is_behind_a_call or {"no", "wrong"} & signs)):
        return CORRECTION
    if "trap" in signs and not signs & {"prefers", "decided", "told not to"}:
        return PITFALL
    if "if" in signs and signs & {"order", "must", "always", "we use", "sure"} and not signs & {"prefers", "decided"}:
        return PROCEDURE
    is_rule = signs & {"prefers", "from now on", "told not to", "always"}
    if signs & {"decided", "goal"} or (signs & _DECISION_SIGNS and not is_rule):
        return DECISION
    return PREFERENCE if signs & _RULE_SIGNS else FACT


def turn_scope(judgement: JudgedTurn, kind: str) -> str:
    """Return "user" for a memory that also holds in the person's other projects, else "project"."""
    text = judgement.text.lower()
    is_about_conduct = kind in (CORRECTION, PREFERENCE, PROCEDURE) and any(phrase in text for phrase in _CONDUCT_PHRASES)
    return "user" if is_about_conduct and not judgement.signs.keys() & {"names code", "project"} else "project"


# A strong model's 511 certainties on twelve people's sessions, by twentieth; they count as USUAL_ANSWERS of another model's.
_USUAL = {6: 13, 7: 5, 8: 49, 9: 17, 10: 72, 11: 14, 12: 96, 13: 27, 14: 88, 15: 29, 16: 63, 17: 20, 18: 15, 19: 3}
USUAL_ANSWERS = 100
MIN_ANSWERS = 30  # proposals of a model until its own scale is known
# Fitted on the labels of these sessions: with each person left out, the mean error of ten equal bins is .09.
_SLOPE, _SHIFT = 5.68, -3.47
ACTS_FROM = 0.4  # a score; of six people's proposals from it on .79 were worth keeping, of six others' .72
UNKNOWN_ACTS_FROM = 0.85  # a certainty, until the model's scale is known


def bucket_of(certainty: float) -> int:
    """Return the twentieth to which a certainty is rounded.

    >>> bucket_of(0.7), bucket_of(1.0)
    (14, 20)
    """
    return round(certainty * 20)


def score_of(certainty: float, counts: Mapping[int, int]) -> float:
    """Return the probability that a proposal is worth keeping. counts: of the model's proposals so far, by twentieth.

    >>> score_of(0.9, {}), score_of(0.5, {}), score_of(0.5, {4: 90, 10: 10})
    (0.89, 0.11, 0.47)
    """
    usual = USUAL_ANSWERS / sum(_USUAL.values())
    weights = {bucket: _USUAL.get(bucket, 0) * usual + counts.get(bucket, 0) for bucket in {*_USUAL, *counts}}
    own = bucket_of(certainty)
    below = sum(weight for bucket, weight in weights.items() if bucket < own) + weights.get(own, 0.0) / 2
    return round(1.0 / (1.0 + exp(-(_SLOPE * below / sum(weights.values()) + _SHIFT))), 2)


def is_sure(certainty: float, score: float, counts: Mapping[int, int]) -> bool:
    """Return whether a proposal is sure enough to act at once."""
    return score >= ACTS_FROM if sum(counts.values()) >= MIN_ANSWERS else certainty >= UNKNOWN_ACTS_FROM
