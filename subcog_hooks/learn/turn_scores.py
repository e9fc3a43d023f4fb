"""The score of a typed turn: how sure it is worth proposing, and the kind of memory."""

from __future__ import annotations

from math import exp

from subcog_hooks.core.tables import read_weights
from subcog_hooks.learn.signs import Sentence, sentences_of, without_bullet
from subcog_hooks.learn.turns import CALL_REFUSED, NOTE, TypedTurn
from subcog_hooks.text.typed import is_typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Weights = Mapping[str, tuple[float, ...]]

CUT_BAR = 0.365  # the certainty of a sentence from which on it belongs to what is proposed of a turn
ANSWER_BAR = 0.2  # of an answer to a refused tool call, which names what it corrects; of these no real ones were at hand
REPEATED_BAR = 0.2  # and from which on where another session says the same
OF_A_NOTE = 0.95  # the certainty of what the person called a note
SUREST = 0.99
MOST_CHARACTERS = 600  # of a proposal
POINTING = ("it ", "this ", "that ", "these ", "those ", "they ", "so ", "otherwise ", "because ", "and ", "but ", "then ")
OF_SENTENCE, GREATEST, MEAN, CORRECTS_GREATEST, CORRECTS_MEAN = range(5)  # places in the weights of a sign


class Line:
    """A logit as a probability. slope, shift: make it one that holds for people who were not seen."""

    __slots__ = ("shift", "slope")

    def __init__(self, slope: float, shift: float) -> None:
        self.slope = slope
        self.shift = shift

    def probability(self, logit: float) -> float:
        """Return how probable it is, 0.0 to 1.0."""
        return round(min(SUREST, 1.0 / (1.0 + exp(-max(-20.0, min(20.0, self.slope * logit + self.shift))))), 4)


class Fit:
    """The numbers of the fitted models.

    bar: the certainty from which on a turn is proposed by itself; correction_bar: or the certainty that it corrects the agent.
    """

    __slots__ = ("_of_correction", "_of_sentence", "_of_turn", "_weights", "bar", "correction_bar")

    def __init__(self, by_sign: Weights, lines: Sequence[tuple[float, ...]], bars: tuple[float, ...]) -> None:
        """by_sign: its weights in the order of OF_SENTENCE to CORRECTS_MEAN; lines: of a sentence, a turn, a correction."""
        self._weights = by_sign
        self._of_sentence, self._of_turn, self._of_correction = (Line(*line) for line in lines)
        self.bar, self.correction_bar = bars

    def certainty(self, sentence: Sentence) -> float:
        """Return how probable it is that a sentence is worth remembering."""
        return self._of_sentence.probability(self._sum(OF_SENTENCE, sentence.signs))

    def certainties_of_turn(self, sentences: Sequence[Sentence]) -> tuple[float, float]:
        """Return how probable it is that a turn is worth remembering, and that it is and corrects the agent."""
        greatest: dict[str, float] = {}
        means: dict[str, float] = {}
        for sentence in sentences:
            for name, value in sentence.signs.items():
                greatest[name] = max(greatest.get(name, 0.0), value)
                means[name] = means.get(name, 0.0) + value / len(sentences)
        return (
            self._of_turn.probability(self._sum(GREATEST, greatest) + self._sum(MEAN, means)),
            self._of_correction.probability(self._sum(CORRECTS_GREATEST, greatest) + self._sum(CORRECTS_MEAN, means)),
        )

    def _sum(self, place: int, signs: Mapping[str, float]) -> float:
        return sum([self._weights[name][place] * value for name, value in signs.items() if name in self._weights])


WEIGHTS = read_weights(__file__, "weights.tsv")
*LINES, _BARS = read_weights(__file__, "calibration.tsv").values()
PACKAGED_FIT = Fit(WEIGHTS, LINES, _BARS)


class JudgedTurn:
    """The judgement on a turn.

    certainty: that it is worth it; corrects: it so probably is and corrects the agent that it is proposed for that alone; text:
    what of it is proposed; signs: of its surest sentence.
    """

    __slots__ = ("certainty", "corrects", "signs", "text")

    def __init__(self, certainty: float, text: str, signs: Mapping[str, float], *, corrects: bool = False) -> None:
        self.certainty = certainty
        self.corrects = corrects
        self.text = text
        self.signs = signs


def judge(turn: TypedTurn, fit: Fit = PACKAGED_FIT) -> JudgedTurn | None:
    """Return how sure it is that a turn is worth remembering, and what of it is; None for what says nothing."""
    if turn.kind == NOTE:
        return JudgedTurn(OF_A_NOTE, " ".join(turn.text.split())[:MOST_CHARACTERS], {})
    if not is_typed(turn.text) and not turn.text.lstrip().startswith(("/", "#")):
        return None
    sentences = sentences_of(turn)
    if not sentences:
        return None
    sure = [fit.certainty(sentence) for sentence in sentences]
    best = max(range(len(sure)), key=sure.__getitem__)
    certainty, corrects = fit.certainties_of_turn(sentences)
    is_correction = corrects >= fit.correction_bar
    return JudgedTurn(certainty, _cut(sentences, sure, best), sentences[best].signs, corrects=is_correction)


def _cut(sentences: Sequence[Sentence], sure: Sequence[float], best: int) -> str:
    """Return the sentences that hold, in their order, around the surest one; with the one that it leans on."""
    kept = {best}
    if best and sentences[best].text.lower().startswith(POINTING):
        kept.add(best - 1)
    size = sum(len(sentences[place].text) for place in kept)
    for place in sorted(range(len(sure)), key=lambda place: -sure[place]):
        if place not in kept and sure[place] >= CUT_BAR and size + len(sentences[place].text) < MOST_CHARACTERS:
            kept.add(place)
            size += len(sentences[place].text) + 1
    texts = [sentences[place].text for place in sorted(kept)]
    return " ".join(texts if len(texts) > 1 else map(without_bullet, texts))[:MOST_CHARACTERS].strip()


CORRECTION, PREFERENCE, DECISION, FACT, PROCEDURE, PITFALL = (
    *("correction", "preference", "decision"),
    *("fact", "procedure", "pitfall"),
)
NAMESPACES = {
    CORRECTION: "patterns",
    PREFERENCE: "patterns",
    DECISION: "decisions",
    FACT: "context",
    PROCEDURE: "patterns",
    PITFALL: "learnings",
}
SAID_KINDS = tuple(NAMESPACES)
COMMAND = "command"  # one that failed, and how it worked then: nobody said it
SESSION_KINDS = (*SAID_KINDS, COMMAND)
_OBJECTING = frozenset(("no", "wrong", "said before", "you did", "why you", "loud"))
_RULING = frozenset(("always", "from now on", "told not to", "not wanted", "prefers", "rule", "each", "must"))
_CHOOSING = frozenset(("decided", "instead", "one not the other", "use it", "we use", "keep it", "only", "no need"))
_OF_CONDUCT = (  # what an agent does, in whatever project
    *("commit", "push", "ask me", "tell me", "show me", "explain", "your answer", "your code", "comment", "refactor"),
    *("when you", "before you", "you should", "you did", "you said", "you have to", "done", "my machine", "i prefer", "i'm "),
    *("i am ", "my text", "my wording", "diff", "emoji", "don't touch", "dont touch", "i asked", "i ask"),
)


def kind_of(turn: TypedTurn, worth: JudgedTurn) -> str:
    """Return the kind of what a turn holds."""
    signs = worth.signs.keys()
    is_behind_a_call = turn.before.changed or turn.before.outcome != ""
    if worth.corrects and (is_behind_a_call or signs & _OBJECTING):
        return CORRECTION
    if turn.before.outcome == CALL_REFUSED or (signs & _OBJECTING and (is_behind_a_call or {"no", "wrong"} & signs)):
        return CORRECTION
    if "trap" in signs and not signs & {"prefers", "decided", "told not to"}:
        return PITFALL
    if "if" in signs and signs & {"order", "must", "always", "we use", "sure"} and not signs & {"prefers", "decided"}:
        return PROCEDURE
    if signs & {"decided", "goal"} or (signs & _CHOOSING and not signs & {"prefers", "from now on", "told not to", "always"}):
        return DECISION
    return PREFERENCE if signs & _RULING else FACT


def scope_of(worth: JudgedTurn, kind: str) -> str:
    """Return "user" for what holds in the person's other projects too, else "project"."""
    text = worth.text.lower()
    is_about_conduct = kind in (CORRECTION, PREFERENCE, PROCEDURE) and any(phrase in text for phrase in _OF_CONDUCT)
    return "user" if is_about_conduct and not worth.signs.keys() & {"names code", "project"} else "project"
