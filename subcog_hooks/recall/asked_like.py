"""The likeness of a query to the questions that a memory answers: how much of one it asks, and how near it is. Pure.

How much of the query a question has says little more than the closeness does, which is the memory's evidence already: fitted
beside it on development prompts, that had no weight, and how much of the question is asked had the most.
"""

from __future__ import annotations

from subcog_hooks.recall import logit
from subcog_hooks.store.memory import LEARNED
from subcog_hooks.text import analysis, languages
from subcog_hooks.text.vocabulary import STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.store.memory import AnsweredQuestion


class Likeness:
    """The question of a memory that a query is most like.

    share: of the question's words that the query has; cosine: of the two, None where meaning was not compared; least: the
    value from which on the query is like the question.
    """

    __slots__ = ("cosine", "least", "question", "share")

    def __init__(self, question: str, share: float, cosine: float | None, least: float = logit.LIKE) -> None:
        self.question = question
        self.share = share
        self.cosine = cosine
        self.least = least

    @property
    def value(self) -> float:
        """The mean of both, or the share alone, 0.0 to 1.0."""
        return self.share if self.cosine is None else (self.share + max(0.0, self.cosine)) / 2


def most_like(
    text: str, questions: Sequence[AnsweredQuestion], cosines: Mapping[int, float], analysers: analysis.Analysers
) -> Likeness:
    """Return the likeness of a query's text to that one of a memory's questions which it is most like; the first of equals.

    cosines: of the questions to the query, by their place from 0.
    """
    asked = _stems(text, analysers)
    found = [
        Likeness(
            question.text,
            len(stems & asked) / len(stems) if stems else 0.0,
            cosines.get(place),
            logit.LEARNED_LIKE if question.by == LEARNED else logit.LIKE,
        )
        for place, question in enumerate(questions)
        for stems in (_stems(question.text, analysers),)
    ]
    return max(found, key=lambda one: one.value - one.least)


def _stems(text: str, analysers: analysis.Analysers) -> set[str]:
    """Return the stems of a text without its function words, and the bigrams of what is written without spaces."""
    folded = analysis.fold(text)
    words = analysis.wholes(folded)
    if language := languages.language_of(text):
        stems = languages.stems_by_word(text, language)
        silent = languages.function_words(text, language)
        words = [stems.get(word.lower(), word) for word in words if word.lower() not in silent]
    telling = [word for word in words if word.lower() not in STOP and not analysis.unspaced_runs(word)]
    pairs = {pair for run in analysis.unspaced_runs(folded) for pair in analysis.bigrams(run)[: max(1, len(run) - 1)]}
    return {*analysers.body.analyze(analysis.spread(" ".join(telling or ([] if pairs else words)))), *pairs}
