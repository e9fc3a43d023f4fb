"""Likeness of a query to the questions that a memory answers. Pure.

It measures the share of a question's words that the query has, and the cosine of both. The share of the query that a question
has says little more than closeness does. Closeness is evidence of the memory already. Fitted beside it on development prompts,
that share had no weight; the share of the question had the most.
"""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.recall import logit
from subcog_hooks.store.memory import LEARNED
from subcog_hooks.text import analysis, languages
from subcog_hooks.text.vocabulary import STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.store.memory import AnsweredQuestion


@record
class Likeness:
    """The question of a memory that is most like a query.

    share: of the question's words that the query has; cosine: of query and question, None where meaning was not compared;
    min_value: the value from which the query counts as like the question.
    """

    question: str
    share: float
    cosine: float | None
    min_value: float = logit.LIKE

    @property
    def value(self) -> float:
        """The mean of share and cosine, or the share without a cosine, 0.0 to 1.0."""
        return self.share if self.cosine is None else (self.share + max(0.0, self.cosine)) / 2


def most_alike_question(
    text: str, questions: Sequence[AnsweredQuestion], cosines: Mapping[int, float], analysers: analysis.Analysers
) -> Likeness:
    """Return the likeness of a query to the question of a memory that it is most like.

    The first of equal questions counts. cosines: of the questions to the query, by their position from 0.
    """
    query_stems = _content_stems(text, analysers)
    likenesses = [
        Likeness(
            question.text,
            len(stems & query_stems) / len(stems) if stems else 0.0,
            cosines.get(position),
            logit.LEARNED_LIKE if question.by == LEARNED else logit.LIKE,
        )
        for position, question in enumerate(questions)
        for stems in (_content_stems(question.text, analysers),)
    ]
    return max(likenesses, key=lambda likeness: likeness.value - likeness.min_value)


def _content_stems(text: str, analysers: analysis.Analysers) -> set[str]:
    folded = analysis.fold(text)
    words = analysis.whole_tokens(folded)
    if language := languages.language_of(text):
        stems = analysis.stems_by_word(text, language)
        silent = analysis.function_words(text, language)
        words = [stems.get(word.lower(), word) for word in words if word.lower() not in silent]
    telling = [word for word in words if word.lower() not in STOP and not languages.unspaced_runs(word)]
    every_pair = {pair for run in languages.unspaced_runs(folded) for pair in languages.bigrams(run)[: max(1, len(run) - 1)]}
    pairs = {pair for pair in every_pair if not languages.is_function_pair(pair)} or every_pair
    return {*analysers.body.analyze(analysis.spread_words(" ".join(telling or ([] if pairs else words)))), *pairs}
