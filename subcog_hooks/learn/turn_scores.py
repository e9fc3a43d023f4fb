"""A typed turn, the signs that it is worth remembering, and the scores of turns and proposals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from math import exp

from subcog_hooks.capture.jsonl import replace_surrogates
from subcog_hooks.core.files import read_rows, read_weights
from subcog_hooks.text.typed_prompt import is_typed, prepare_prompt, split_sentences

TYPED, QUEUED, ANSWER, NOTE, ACCEPTED = "typed", "queued", "answer", "note", "accepted"  # the kinds of turns
CALL_FAILED, CALL_REFUSED = "failed", "refused"  # outcomes of the tool call before a turn


@dataclass(slots=True)
class Before:
    """The events between a turn and the turn before: the last tool call, "" for none, and its outcome.

    outcome: CALL_FAILED, CALL_REFUSED or ""; changed: a call changed a file; asked: the agent's last words were a question.
    """

    tool: str = ""
    path: str = ""
    command: str = ""
    outcome: str = ""
    changed: bool = field(default=False, kw_only=True)
    asked: bool = field(default=False, kw_only=True)


@dataclass(slots=True)
class MadeCall:
    """A tool call of the agent's. path, command: its arguments, "" for none; failure: its output if it failed."""

    tool: str
    path: str = ""
    command: str = ""
    failure: str = ""
    changed: bool = False
    has_ended: bool = False


@dataclass(slots=True)
class AgentWork:
    """The agent's answer to a turn: its last text, that text's row, and its calls in their order."""

    closing: str = ""
    row: str = ""
    calls: list[MadeCall] = field(default_factory=list)


@dataclass(slots=True)
class TypedTurn:
    """A turn that the person typed. Lone surrogates become U+FFFD.

    uuid: of its row, "" if rows have none; at_ms: milliseconds since the epoch, 0 for unknown; position: the number of turns
    before it; offset: of its row, bytes from the beginning; reply: the agent's closing words before the next turn, without
    code; work: the agent's answer, for a reader that asks for it.
    """

    text: str
    before: Before
    _: KW_ONLY
    kind: str = TYPED
    uuid: str = ""
    session: str = ""
    at_ms: int = 0
    folder: str = ""
    position: int = 0
    offset: int = 0
    reply: str = ""
    reply_uuid: str = ""
    work: AgentWork = field(default_factory=AgentWork)

    def __post_init__(self) -> None:
        self.text = replace_surrogates(self.text)
        self.session = replace_surrogates(self.session)
        self.folder = replace_surrogates(self.folder)

    def with_text(self, text: str) -> TypedTurn:
        return replace(self, text=text)


MAX_SENTENCES = 60  # sentences of a turn
MIN_SENTENCE_WORDS = 2  # words of a sentence that can be proposed
MAX_SENTENCE_LENGTH = 600  # characters; a longer sentence is data
INTERCEPT = "intercept"
WORD_PREFIX = "word: "  # prefix of the sign for a word; only words with a weight count
WORD_VALUE = 0.8  # the value of such a sign, since other signs say more

_PATTERNS = [(name, re.compile(pattern)) for name, pattern in read_rows(__file__, "signs.tsv")]
_PATTERN_OF = dict(_PATTERNS)
_OBJECTIONS = ("no", "wrong", "said before", "missed", "time and again", "why you")
_CODE_NAME = re.compile(
    r"`[^`]+`|@[\w./-]+|\b[\w-]+\."
    r"(?:py|js|ts|tsx|jsx|md|json|toml|yaml|yml|css|html|rs|go|java|rb|sh|sql|ex|exs|mdc|txt|cfg|env)\b"
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6} |^\*\*.+\*\*:?$|:$")
_SLASH = re.compile(r"^/[a-z][\w-]*\s")
_WORD = re.compile(r"[a-z][a-z']*")
_CONTRACTED = {
    word.replace("'", ""): word
    for word in (
        *("don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "can't", "won't", "wouldn't", "shouldn't"),
        *("couldn't", "haven't", "hasn't", "mustn't", "needn't", "that's", "there's", "you're", "they're", "i've"),
    )
}
_WITHOUT_APOSTROPHE = re.compile(rf"\b({'|'.join(_CONTRACTED)})\b")
_LENGTHS = ((3, "3 words"), (7, "7 words"), (14, "14 words"), (28, "28 words"), (60, "60 words"))
_TURN_LENGTHS = ((60, "turn of 60"), (160, "turn of 160"), (400, "turn of 400"), (1_200, "turn of 1,200"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a turn as it was typed, with its signs."""

    text: str
    signs: dict[str, float]


def read_sentences(turn: TypedTurn) -> list[Sentence]:
    """Return the typed sentences of a turn with their signs."""
    prepared = prepare_prompt(turn.text)
    texts = [text for text in split_sentences(prepared.text) if len(text) <= MAX_SENTENCE_LENGTH][:MAX_SENTENCES]
    of_turn = _turn_signs(turn, prepared.text, len(texts), prepared.pasted)
    objecting = [any(_PATTERN_OF[name].search(_plain_text(text)) for name in _OBJECTIONS) for text in texts]
    typed_sentences = []
    for position, text in enumerate(texts):
        words = text.split()
        if len(words) >= MIN_SENTENCE_WORDS:
            signs = {INTERCEPT: 1.0, **_sentence_signs(text, len(words), position), **of_turn}
            if any(objecting[:position]) or any(objecting[position + 1 :]):
                signs["beside an objection"] = 1.0
            typed_sentences.append(Sentence(text, signs))
    return typed_sentences


def strip_bullet(text: str) -> str:
    """Return a list's line without its bullet.

    >>> strip_bullet("- no default exports"), strip_bullet("2. run it")
    ('no default exports', 'run it')
    """
    return _BULLET.sub("", text)


def _sentence_signs(text: str, words: int, position: int) -> dict[str, float]:
    bare = _BULLET.sub("", text)
    plain = _plain_text(_SLASH.sub("", bare))
    signs = {f"{WORD_PREFIX}{word}": WORD_VALUE for word in _WORD.findall(plain)}
    signs |= {name: 1.0 for name, pattern in _PATTERNS if pattern.search(plain)}
    length = next((name for max_words, name in _LENGTHS if words <= max_words), "")
    forms = {
        "question": plain.rstrip().endswith("?"),
        "bullet": len(bare) < len(text),
        "heading": _HEADING.search(text),
        "names code": _CODE_NAME.search(bare),
        "loud": bare.isupper() or sum(word.isupper() and len(word) > 2 for word in bare.split()) > 1,
        "exclaims": "!" in bare,
        "first": position == 0,
        length: length,
    }
    return signs | {name: 1.0 for name, holds in forms.items() if holds}


def _plain_text(text: str) -> str:
    """Return a text in lower case with the apostrophes that people leave out.

    >>> _plain_text("Dont just tell me, thats still wrong")
    "don't just tell me, that's still wrong"
    """
    return _WITHOUT_APOSTROPHE.sub(lambda match: _CONTRACTED[match[0]], text.lower().replace("\u2019", "'"))


def _turn_signs(turn: TypedTurn, typed: str, count: int, pasted: int) -> dict[str, float]:
    before = turn.before
    length = next((name for max_length, name in _TURN_LENGTHS if len(typed) <= max_length), "long turn")
    signs = {
        length: True,
        "pasted": pasted > 0,
        "much pasted": pasted > 5,
        "document": len(turn.text) > 4_000,
        "alone": count == 1,
        "opens": turn.position == 0,
        "was asked": before.asked,
        "behind an edit": before.changed,
        "answers a call": turn.kind == ANSWER,
        "refused": before.outcome == CALL_REFUSED,
        "behind a failure": before.outcome == CALL_FAILED,
    }
    return {name: 1.0 for name, holds in signs.items() if holds}


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
    """The judgement on a turn. certainty: that it is worth remembering; text: the proposed part.

    corrects: it is proposed as a probable correction of the agent; signs: of its surest sentence.
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
    chosen = {best}
    if best and sentences[best].text.lower().startswith(REFERRING_WORDS):
        chosen.add(best - 1)
    size = sum(len(sentences[index].text) for index in chosen)
    for index in sorted(range(len(sure)), key=lambda index: -sure[index]):
        if index not in chosen and sure[index] >= SENTENCE_BAR and size + len(sentences[index].text) < MAX_PROPOSAL:
            chosen.add(index)
            size += len(sentences[index].text) + 1
    texts = [sentences[index].text for index in sorted(chosen)]
    text = " ".join(texts if len(texts) > 1 else map(strip_bullet, texts))[:MAX_PROPOSAL].strip()
    certainty, corrects = fit.certainties_of_turn(sentences)
    return JudgedTurn(certainty, text, sentences[best].signs, corrects=corrects >= fit.correction_bar)


TURN_KINDS = ("correction", "preference", "decision", "fact", "procedure", "pitfall")
CORRECTION, PREFERENCE, DECISION, FACT, PROCEDURE, PITFALL = TURN_KINDS
RULE, WORK_STATE = "rule", "state"
MODEL_KINDS = (RULE, DECISION, FACT, PROCEDURE, PITFALL, WORK_STATE)  # kinds of a model's proposals
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
