"""Likeness of a query to earlier ones: to questions that a memory answers, and to prompts for which it was marked wrong."""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.records import record
from subcog_hooks.recall import logit, query
from subcog_hooks.store.memory import LEARNED
from subcog_hooks.text import STOP, analysis, languages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.memory import AnsweredQuestion
    from subcog_hooks.store.store_reader import Mark


@record
class Likeness:
    """The question of a memory that is most like a query.

    value: the mean of the share of the question's words that the query has, and of the cosine of both, where meaning was
    compared, 0.0 to 1.0; min_value: the value from which the query counts as like the question.
    """

    question: str
    value: float
    min_value: float


def most_alike_question(
    text: str, questions: Sequence[AnsweredQuestion], cosines: Mapping[int, float], analysers: analysis.Analysers
) -> Likeness:
    """Return the likeness of a query to the question of a memory that it is most like.

    The first of equal questions counts. cosines: of the questions to the query, by their position from 0.
    """
    query_stems = _content_stems(text, analysers)
    likenesses = []
    for position, question in enumerate(questions):
        stems = _content_stems(question.text, analysers)
        value = len(stems & query_stems) / len(stems) if stems else 0.0
        if position in cosines:
            value = (value + max(0.0, cosines[position])) / 2
        min_value = logit.LEARNED_LIKE if question.by == LEARNED else logit.LIKE
        likenesses.append(Likeness(question.text, value, min_value))
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


MAX_PROMPT = 2_000  # characters of a prompt; its verdict keeps as many
# Of 227,475 pairs of real prompts to one store 48 overlap by this share. Nine paraphrases overlap by .51 or more.
UNLIKE = 0.4
ALIKE = 0.8  # the same prompt in slightly other words
WEIGHT_DIGITS = 4  # behind the point of a weight


def discount_marked(hits: Sequence[Hit], marks: Sequence[Mark], prompt: str, index: LexicalIndex) -> None:
    """Discount the hits that were marked wrong for prompts like this one. Raises IndexUnusable."""
    asked = prompt_terms(prompt, index)
    factors: dict[int, float] = {}
    for mark in marks:
        factors[mark.seq] = min(factors.get(mark.seq, 1.0), remaining_share(terms_overlap(asked, terms_from_text(mark.terms))))
    for hit in hits:
        hit.marked = factors.get(hit.memory.seq, 1.0)


def prompt_terms(prompt: str, index: LexicalIndex) -> dict[str, float]:
    """Return the terms of a prompt with their weights: words by their stems, identifiers whole."""
    weights: dict[str, float] = {}
    for term in query.analyse_query(prompt[:MAX_PROMPT], index).terms:
        name = term.whole if term.is_identifier or not term.stems else term.stems[0]
        weights[name] = max(weights.get(name, 0.0), round(term.weight, WEIGHT_DIGITS))
    return weights


def terms_overlap(asked: Mapping[str, float], marked: Mapping[str, float]) -> float:
    """Return the share of the terms' weight that two prompts have in common, 0.0 to 1.0.

    The larger of a term's two weights counts.

    >>> terms_overlap({"rotat": 0.5, "key": 0.3, "sign": 0.2}, {"rotat": 0.5, "key": 0.3, "tonight": 0.2})
    0.6666666666666667
    """
    larger = {name: max(asked.get(name, 0.0), marked.get(name, 0.0)) for name in sorted({*asked, *marked})}
    total = sum(larger.values())
    return sum(weight for name, weight in larger.items() if name in asked and name in marked) / total if total else 0.0


def remaining_share(overlap: float) -> float:
    """Return the share of a relevance that remains: all of it up to UNLIKE, nothing from ALIKE on.

    Between these it falls linearly with the overlap of the prompts.

    >>> remaining_share(0.3), round(remaining_share(0.7), 2), remaining_share(1.0)
    (1.0, 0.25, 0.0)
    """
    return min(1.0, max(0.0, (ALIKE - overlap) / (ALIKE - UNLIKE)))


def terms_to_text(terms: Mapping[str, float]) -> str:
    """Return terms in the JSON of a mark, the heaviest first.

    >>> terms_to_text({"key": 0.3, "rotat": 0.5})
    '{"rotat":0.5,"key":0.3}'
    """
    heaviest = sorted(terms.items(), key=lambda term: (-term[1], term[0]))
    return light_json.dumps(dict(heaviest))


def terms_from_text(text: str) -> dict[str, float]:
    """Return the terms of a mark's JSON; none of any other text."""
    try:
        stored = light_json.loads(text)
    except ValueError:
        return {}
    if not isinstance(stored, dict):
        return {}
    return {name: float(weight) for name, weight in stored.items() if isinstance(weight, int | float)}
