"""The certainty that a typed turn holds something worth remembering, and the sentences of it that do. Pure.

A logistic model of the signs, by the surest sentence of a turn: a rule stands among orders, and an order among questions.
"""

from math import exp

from subcog_hooks.capture.sessions import weights
from subcog_hooks.capture.sessions.signs import Sentence, sentences_of, without_bullet
from subcog_hooks.capture.sessions.turns import NOTE, TypedTurn
from subcog_hooks.text.typed import is_typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROPOSED_BAR = 0.365  # the certainty from which on a turn is proposed by itself: .8 a session, of people who were not seen
ANSWER_BAR = 0.2  # of an answer to a refused tool call, which names what it corrects; of these no real ones were at hand
REPEATED_BAR = 0.2  # and from which on where another session says the same
OF_A_NOTE = 0.95  # the certainty of what the person called a note
SUREST = 0.99
MOST_CHARACTERS = 600  # of a proposal
POINTING = ("it ", "this ", "that ", "these ", "those ", "they ", "so ", "otherwise ", "because ", "and ", "but ", "then ")


class Fit:
    """The numbers of a fitted model. slope, shift: make a logit one whose probability holds for people who were not seen."""

    __slots__ = ("_weights", "shift", "slope")

    def __init__(self, by_sign: "Mapping[str, float]", slope: float, shift: float) -> None:
        self._weights = by_sign
        self.slope = slope
        self.shift = shift

    def certainty(self, sentence: Sentence) -> float:
        """Return how probable it is that a sentence is worth remembering, 0.0 to 1.0."""
        logit = sum([self._weights.get(name, 0.0) * value for name, value in sentence.signs.items()])
        return round(min(SUREST, 1.0 / (1.0 + exp(-max(-20.0, min(20.0, self.slope * logit + self.shift))))), 4)


PACKAGED_FIT = Fit(weights.WEIGHTS, weights.SLOPE, weights.SHIFT)


class JudgedTurn:
    """The judgement on a turn.

    certainty: that of its surest sentence; text: what of it is proposed; signs: of that sentence.
    """

    __slots__ = ("certainty", "signs", "text")

    def __init__(self, certainty: float, text: str, signs: "Mapping[str, float]") -> None:
        self.certainty = certainty
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
    return JudgedTurn(sure[best], _cut(sentences, sure, best), sentences[best].signs)


def _cut(sentences: "Sequence[Sentence]", sure: "Sequence[float]", best: int) -> str:
    """Return the sentences that hold, in their order, around the surest one; with the one that it leans on."""
    kept = {best}
    if best and sentences[best].text.lower().startswith(POINTING):
        kept.add(best - 1)
    size = sum(len(sentences[place].text) for place in kept)
    for place in sorted(range(len(sure)), key=lambda place: -sure[place]):
        if place not in kept and sure[place] >= PROPOSED_BAR and size + len(sentences[place].text) < MOST_CHARACTERS:
            kept.add(place)
            size += len(sentences[place].text) + 1
    texts = [sentences[place].text for place in sorted(kept)]
    return " ".join(texts if len(texts) > 1 else map(without_bullet, texts))[:MOST_CHARACTERS].strip()
