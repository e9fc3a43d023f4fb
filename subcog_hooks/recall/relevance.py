"""The probability that a memory helps with a prompt, from evidence that does not depend on the store. Pure.

Short notes of the project have weights of their own. A note says one thing in one sentence. Its lead over others tells little,
and its missing terms even less. Its nearness and the prompt's number in the session tell most. Weighed like a section of
documentation, a note came with one of twenty prompts that it would have helped: measured on the histories of twelve people.
"""

from __future__ import annotations

from itertools import pairwise
from math import log

from subcog_hooks.core.files import read_rows
from subcog_hooks.recall import logit
from subcog_hooks.recall.hits import BEGUN
from subcog_hooks.recall.query import PART_SHARE, Query, Term
from subcog_hooks.text import EVERYDAY, STOP, analysis, languages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.recall.logit import Terms
    from subcog_hooks.store.memory import Memory

    Evidence = dict[str, float]  # by name

LONGEST_NOTE = 40  # words; most notes of two invented projects have 36, half of documentation's sections 53 or more
_MEANING_EVIDENCE = "margin"  # only memories compared by meaning have this evidence


def is_note(memory: Memory, terms: Terms) -> bool:
    """Return whether a memory is a short note of its project that was compared by meaning.

    Notes for all projects do not count: no history tells how often they help. Lines of a change log do not count either.
    """
    if memory.scope != "project" or memory.namespace.lower() in CHRONICLES or len(memory.content.split()) > LONGEST_NOTE:
        return False
    names = {name for name, _, _ in terms}
    return (_MEANING_EVIDENCE in names and FOREIGN_INTERCEPT not in names) or model_weights(terms) is OF_NOTES


def weigh_note(terms: Terms, confidence: float, prompt_number: int) -> Terms:
    """Return the terms of a note with the weights for notes.

    terms: weighed by relevance; confidence: of the prompt's intent; prompt_number: of the prompt in its session, from 1.

    >>> near = (("closeness", 0.5, 0.5), ("margin", 0.1, 0.5))
    >>> [logit.probability(weigh_note(near, 0.9, number)) for number in (1, 2, 4)]
    [0.3051, 0.1366, 0.0836]
    """
    values = {name: value for name, value, _ in terms} | {
        "intercept": 1.0,
        "intent": confidence,
        BEGUN: logit.session_progress(prompt_number),
    }
    weighed: Terms = tuple([(name, values[name], weight * values[name]) for name, weight in OF_NOTES.items() if name in values])
    if logit.KEYWORD in values:
        weighed = logit.with_keyword(weighed, values[logit.KEYWORD])
    for name, value, adds in terms:
        if name == logit.ASKED_LIKE and adds > 0.0:  # a question unlike the prompt does not count against a note
            weighed = (*weighed, (name, value, adds))
    return logit.with_sibling(weighed) if logit.SIBLING in values else weighed


_ROWS = read_rows(__file__, "relevance.tsv")
WITH_MEANING, WORDS_ALONE, OF_NOTES, FOREIGN = (
    {cells[0]: float(cells[column]) for cells in _ROWS if cells[column] != "-"} for column in (1, 2, 3, 4)
)
FOREIGN_INTERCEPT = "foreign"  # the intercept of the model for queries in other languages, which no other model has
UNFITTED = frozenset(("prose", "words"))  # weights that are not fitted

NEUTRAL_INTENT = 0.8  # of a query that was typed to be answered
MAX_RELEVANCE_TEXT = 4_000  # characters of a memory: a thousand take 50 µs
OPENING = 50  # words
MAX_KEPT_TEXTS = 100  # memories whose words are cached: some more than a prompt compares
LONGEST_TITLE = 8  # words; a longer first line is a sentence
BIGRAM = 0.25  # weight of two characters of a script without spaces: a word has several, and they overlap
HEADING_SHARE = 0.33  # of the terms' weight: a heading with as much of it is the question; the rest tells about the work
MIN_ITEMS = 3  # lines of a list
_ITEM = ("-", "*", "+", "|")
MIN_ASKED = 1.5  # the weight of two rare words: no memory can cover a prompt such as "fix the build"
MEANING_SHARE = 0.7  # of closeness, independent of the share in the ranking
LEADS = (0.3, 3.0)  # limits of the lead, as a factor on the runner-up's closeness
NO_LEAD = 0.4  # for the only memory
USUAL_COSINE = 0.3  # of the nearest memory to an unanswerable prompt; margins are measured against it at least
USUAL_WORDS, MAX_PROMPT_WORDS = 12, 40  # words of a prompt: most titles have fewer, and more make no difference
USUAL_FOREIGN_WORDS = 4  # of the headings that the model for other languages is fitted to
TENTH = 9  # the position, from 0, of the tenth memory
USUAL_TENTH = 0.2  # the tenth's closeness at most, where fewer memories are found
CHRONICLES = frozenset("change changes changelog history release releases".split())  # namespaces


def is_list(text: str) -> bool:
    """Return whether most lines of a text are items of a list or table.

    >>> is_list("Parts\\n\\n- dialog\\n- form\\n- table"), is_list("Dialog\\n\\nA dialog has a title.\\n- Escape closes it")
    (True, False)
    """
    lines = [line for line in text.partition("\n")[2].split("\n") if line.strip()]
    items = sum([line.lstrip().startswith(_ITEM) or line.lstrip()[:1].isdigit() for line in lines])
    return items >= MIN_ITEMS and 2 * items > len(lines)


class MemoryText:
    """The words of a memory, for comparing with queries.

    folded: text, tags and keywords; stems: in their order; has, opening, title: the stems of the whole text, of its first words
    and of its title line; heading: of the last heading above a section; chronicle: 1.0 for a report of past work, else 0.0.
    """

    def __init__(self, memory: Memory, analysers: analysis.Analysers, language: str = "") -> None:
        """language: of the queries; a memory in the same language also gets that language's stems."""
        text = memory.content[:MAX_RELEVANCE_TEXT]
        self.folded = analysis.fold(" ".join((text, *memory.tags, *memory.keywords)))
        self.stems = analysers.body.analyze(analysis.spread_words(self.folded))
        self.has = frozenset(self.stems)
        self.opening = frozenset(self.stems[:OPENING])
        line, _, body = text.partition("\n")
        has_title = bool(body) and len(line.split()) <= LONGEST_TITLE
        self.title = frozenset(analysers.body.analyze(analysis.spread_words(analysis.fold(line))) if has_title else ())
        heading = line.rpartition(" > ")[2].lower() if body.startswith("\n") else ""
        words = [word for word in heading.split() if word not in STOP]
        names = [word for word in words if word not in EVERYDAY] or words
        self.heading = frozenset(analysers.body.analyze(analysis.spread_words(analysis.fold(" ".join(names)))))
        if language and languages.language_of(text) == language:
            inflected = analysis.stems_by_word(text, language)
            self.has |= frozenset(analysers.body.analyze(" ".join(inflected.values())))
            opening = analysis.fold(" ".join(text.split()[:OPENING])).lower().split()
            self.opening |= frozenset(analysers.body.analyze(" ".join(filter(None, map(inflected.get, opening)))))
        self.chronicle = float(memory.namespace.lower() in CHRONICLES)
        self._analysers = analysers
        self._whole: frozenset[str] | None = None

    def whole_tokens(self) -> frozenset[str]:
        """Return its whole tokens, cached: only identifiers of queries are compared with these."""
        if self._whole is None:
            self._whole = frozenset(self._analysers.exact.analyze(analysis.exact_view(self.folded)))
        return self._whole


class MemoryTexts:
    """A cache of the words of the last memories, because the parts of a prompt find much the same memories."""

    def __init__(self, analysers: analysis.Analysers) -> None:
        self._analysers = analysers
        self._cache: dict[tuple[object, ...], MemoryText] = {}

    def words_of(self, memory: Memory, language: str = "") -> MemoryText:
        """Return the words of a memory from the cache. language: of the query."""
        key = (memory.content, memory.namespace, memory.tags, memory.keywords, language)
        text = self._cache.get(key)
        if text is None:
            if len(self._cache) >= MAX_KEPT_TEXTS:
                self._cache.clear()
            text = self._cache[key] = MemoryText(memory, self._analysers, language)
        return text


class AskedTerms:
    """The parts of a query that memories are compared with.

    total: the sum of its terms' weights, 0.0 to 1.5 each; count: of its terms; is_unspaced: it has text without spaces;
    has_replaced: other words stand in place of some that no memory has.
    """

    def __init__(self, query: Query, analysers: analysis.Analysers) -> None:
        self._terms = query.terms
        self._has_identifiers = any(term.is_identifier for term in query.terms)
        self.is_unspaced = any(term.is_cjk for term in query.terms)
        self.has_replaced = any(term.instead for term in query.terms)
        shares = [BIGRAM if term.is_cjk else 1.0 for term in query.terms]
        self._weights = [term.weight * share for term, share in zip(query.terms, shares, strict=True)]
        self.count = sum(shares)
        self.total = sum(self._weights)
        words = min(MAX_PROMPT_WORDS, languages.count_words(query.text))
        self._prose, self._words = [log((1 + max(usual, words)) / (1 + usual)) for usual in (USUAL_WORDS, USUAL_FOREIGN_WORDS)]
        self._by_stem: dict[str, float] = {}
        for term in query.terms:
            if term.stems:
                self._by_stem[term.stems[0]] = max(self._by_stem.get(term.stems[0], 0.0), term.weight)
        stems = analysers.body.analyze(analysis.spread_words(analysis.fold(query.text)))
        weights = self._by_stem
        self._pairs = {
            (first, second): min(weights[first], weights[second])
            for first, second in pairwise(stems)
            if first in weights and second in weights
        }
        self._of_pairs = sum(self._pairs.values())

    def found_in(self, text: MemoryText) -> Evidence:
        """Return the evidence for a memory from its words.

        Words are compared by their stems, identifiers whole or by their parts, CJK by its bigrams.
        """
        whole = self._whole_tokens(text)
        covered = term_count = in_opening = in_title = 0.0
        for term, weight in zip(self._terms, self._weights, strict=True):
            share = _matched_share(term, text.has, whole, text.folded)
            if share:
                term_count += BIGRAM if term.is_cjk else 1.0
                covered += weight * share
                if term.is_cjk or term.stems[0] in text.opening:
                    in_opening += weight
                if term.stems and term.stems[0] in text.title:
                    in_title += weight
        comparable = max(self.total, MIN_ASKED)
        neighbours = {pair for pair in pairwise(text.stems) if pair[0] in self._by_stem and pair in self._pairs}
        return {
            "covered": covered,
            "found": term_count,
            "asked": self.total,
            "terms": log(1.0 + self.count),
            "opening": in_opening / comparable,
            "title": in_title / comparable,
            "phrases": sum([self._pairs[pair] for pair in sorted(neighbours)]) / (self._of_pairs or 1.0),
            "length": log(1.0 + len(text.stems)),
            "chronicle": text.chronicle,
            "prose": self._prose,
            "words": self._words,
        }

    def is_typed_in(self, text: MemoryText) -> bool:
        """Return whether a text has a term as it was typed."""
        whole = self._whole_tokens(text)
        return any(_matched_share(term, text.has, whole, text.folded) for term in self._terms if not term.instead)

    def _whole_tokens(self, text: MemoryText) -> frozenset[str]:
        return text.whole_tokens() if self._has_identifiers else frozenset()

    def is_heading(self, text: MemoryText) -> bool:
        """Return whether the query has all words of a section's heading, and asks for little else."""
        heading = text.heading
        weight = sum([self._by_stem.get(stem, 0.0) for stem in heading])
        return bool(heading) and heading <= self._by_stem.keys() and weight >= HEADING_SHARE * sum(self._by_stem.values())


def _matched_share(term: Term, stems: set[str] | frozenset[str], whole_tokens: set[str] | frozenset[str], folded: str) -> float:
    if term.is_cjk:
        return float(term.whole in folded)
    if term.is_identifier:
        if term.whole in whole_tokens:
            return 1.0
        return PART_SHARE * sum(stem in stems for stem in term.stems) / len(term.stems) if term.stems else 0.0
    return float(not stems.isdisjoint(term.stems) or (bool(term.spelled_out) and stems.issuperset(term.spelled_out)))


class Standings:
    """All scores of a query's memories, for comparing each with the others.

    The closeness of a memory mixes its words' share of a full match with its cosine, in fixed shares. Without a cosine, its
    words alone are compared with the others' words.
    """

    def __init__(self, words: Mapping[int, float], cosines: Mapping[int, float], full_words: float) -> None:
        """Prepare the scores for comparing.

        words: BM25 scores by row number; cosines: by row number; full_words: the score of a memory with the whole query.
        """
        self._words = words
        self._cosines = cosines
        self._full = max(full_words, max(words.values(), default=0.0)) or 1.0
        self._shares = sorted([score / self._full for score in words.values()], reverse=True)
        self._nearest = sorted(cosines.values(), reverse=True)
        closest = [_closeness(words.get(seq, 0.0) / self._full, cosines.get(seq, 0.0)) for seq in {*words, *cosines}]
        self._closest = sorted(closest, reverse=True)

    def evidence_of(self, seq: int, share: float | None = None) -> Evidence:
        """Return the evidence of a memory's standing among the others.

        share: of a full match, given for a memory that the index has not reached.
        """
        if share is None:
            share = self._words.get(seq, 0.0) / self._full
        cosine = self._cosines.get(seq)
        ranked, closeness = (self._shares, share) if cosine is None else (self._closest, _closeness(share, cosine))
        runner_up = _runner_up(ranked, closeness)
        tenth = ranked[TENTH] if len(ranked) > TENTH else min([USUAL_TENTH, *ranked])
        evidence = {
            "closeness": closeness,
            "lead": log(min(LEADS[1], max(LEADS[0], closeness / runner_up))) if runner_up > 0.01 else NO_LEAD,
            "above_tenth": closeness - tenth,
        }
        if cosine is not None:
            evidence["margin"] = cosine - max(USUAL_COSINE, _runner_up(self._nearest, cosine))
            evidence["word_rank"] = 1.0 / (1 + sum([runner_up > share for runner_up in self._shares]))
            evidence["meaning_rank"] = 1.0 / (1 + sum([runner_up > cosine for runner_up in self._nearest]))
        return evidence


def _closeness(share: float, cosine: float) -> float:
    return (1.0 - MEANING_SHARE) * share + MEANING_SHARE * max(0.0, cosine)


def _runner_up(ordered: list[float], value: float) -> float:
    """Return the best of the other values, from values in descending order."""
    if not ordered:
        return 0.0
    return (ordered[1] if len(ordered) > 1 else 0.0) if value >= ordered[0] else ordered[0]


def weigh_evidence(evidence: Evidence, *, is_foreign: bool = False) -> Terms:
    """Return the terms of the evidence, with each addition to the logit, in the order of the model.

    is_foreign: the query is in another language than English.
    """
    evidence = {"intercept": 1.0, FOREIGN_INTERCEPT: 1.0, "intent": NEUTRAL_INTENT, **evidence}
    weights = WORDS_ALONE if _MEANING_EVIDENCE not in evidence else FOREIGN if is_foreign else WITH_MEANING
    return tuple([(name, evidence[name], weight * evidence[name]) for name, weight in weights.items()])


def model_weights(terms: Terms) -> Mapping[str, float]:
    """Return the model's weights behind these terms. Triggers and keywords have no weights there."""
    names = {name for name, _, _ in terms}
    if FOREIGN_INTERCEPT in names:
        return FOREIGN
    if _MEANING_EVIDENCE in names:
        return WITH_MEANING
    return OF_NOTES if "begun" in names and "lead" not in names else WORDS_ALONE


def with_intent(terms: Terms, confidence: float) -> Terms:
    """Return the terms for a prompt whose intent has this confidence."""
    weights = model_weights(terms)
    if weights is FOREIGN:  # a prompt in another language says nothing about its intent
        return terms
    term_of_intent = ("intent", confidence, weights["intent"] * confidence)
    return tuple([term_of_intent if term[0] == "intent" else term for term in terms])


MIN_LETTERS = 2  # an identifier with siblings has them: 3.11 and 3.12, h1 and h2 are mere numbers
_DIGITS = str.maketrans("123456789", "000000000")


def discount_siblings(hits: Sequence[Hit], named: Sequence[str], texts: MemoryTexts) -> None:
    """Discount hits with a sibling of a named identifier but without the identifier that another memory has.

    One of several compared identifiers ("ROS1 or ROS2") is enough. It may be a part ("ros2_control"), lie beyond the compared
    words, or stand in a question. Hits of triggers and conditions stay as they are.
    """
    by_shape: dict[str, list[str]] = {}
    for asked in named:
        if shape := _digit_shape(asked):
            by_shape.setdefault(shape, []).append(asked)
    for hit in hits if by_shape else ():
        if hit.is_exact:
            continue
        shapes = set(map(_digit_shape, texts.words_of(hit.memory).whole_tokens()))
        siblings = [shape for shape in by_shape if shape in shapes]
        if siblings and not any(_mentions_identifier(hit.memory, asked) for shape in siblings for asked in by_shape[shape]):
            hit.terms = logit.with_sibling(hit.terms)
            hit.probability = logit.probability(hit.terms)


def _mentions_identifier(memory: Memory, asked: str) -> bool:
    """Return whether a memory has an identifier anywhere, by itself or at the beginning of a longer one."""
    questions = [question.text for question in memory.questions]
    text = analysis.spell_signs(" ".join((memory.content, *memory.tags, *memory.keywords, *questions))).lower()
    start = text.find(asked)
    while start >= 0:
        end = start + len(asked)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            return True
        start = text.find(asked, end)
    return False


def _digit_shape(token: str) -> str:
    """Return an identifier with equal digits; "" without a digit, or with too few letters.

    >>> _digit_shape("inc-4211"), _digit_shape("ros2"), _digit_shape("3.11"), _digit_shape("readme.md")
    ('inc-0000', 'ros0', '', '')
    """
    shape = token.translate(_DIGITS)
    return shape if "0" in shape and sum(map(str.isalpha, shape)) >= MIN_LETTERS else ""
