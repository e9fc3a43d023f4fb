"""The probability that a memory answers a query: a logistic model of evidence that means the same in every store.

What counts is which of the query's terms a memory has, and where; how near it is, and how far it stands out among all that was
found; what kind of note it is; how surely the prompt asks for something. Absolute BM25 scores and cosines do not transfer from
store to store: they are taken relative to a full match, to the runner-up and to the tenth.
"""

from __future__ import annotations

from itertools import pairwise
from math import log

from subcog_hooks.core.tables import read_rows
from subcog_hooks.recall.query import PART_SHARE, Query, Term
from subcog_hooks.text import analysis, languages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.recall.logit import Terms
    from subcog_hooks.store.memory import Memory

    Evidence = dict[str, float]  # by name

_ROWS = read_rows(__file__, "relevance.tsv")
WITH_MEANING, WORDS_ALONE, OF_NOTES = (
    {cells[0]: float(cells[column]) for cells in _ROWS if cells[column] != "-"} for column in (1, 2, 3)
)
CHOSEN = frozenset(("prose",))  # weights that are not fitted
NAMES = {  # what each evidence is
    "intercept": "what speaks against any memory, before anything is known of it",
    "intent": "how surely the prompt asks for something that memories help with",
    "closeness": "how near it is to a full match, by words and meaning",
    "lead": "how far it is ahead of the runner-up, or behind the first",
    "above_tenth": "how far it stands out from the tenth",
    "margin": "how much nearer by meaning it is than the next",
    "word_rank": "one divided by its rank by words",
    "meaning_rank": "one divided by its rank by meaning",
    "covered": "what it has of the prompt's terms, the rarer the more",
    "found": "how many of the prompt's terms it has",
    "asked": "how much there is to be answered, the rarer the more",
    "terms": "how many terms the prompt has",
    "opening": "the share of the terms that stands in its first words",
    "title": "the share of the terms that stands in its title line, which names a subject and tells nothing",
    "phrases": "the share of the prompt's pairs of words that it has side by side",
    "length": "its length",
    "chronicle": "it reports what was done, rather than what holds",
    "prose": "how many words the prompt has: in a long one nothing matches as well by chance",
    "sibling": "it has a sibling of the identifier that is asked for, which another memory has",
    "begun": "how far the session has gone: what is worth knowing is wanted at its beginning",
    "part": "it was compared with one sentence of the prompt alone",
    "asked_like": "the prompt is like a question that it answers",
    "keyword": "the prompt names one of its keywords, the rarer the more",
    "pattern": "one of its triggers matches",
    "state": "its conditions hold",
    "path": "it is about this file",
    "mention": "it names this file, command or symbol",
    "action": "it is a rule about what is about to be done",
    "pinned": "its priority puts it at the start of every session",
    "used": "the session was using it",
    "brief": "it is worth knowing whatever comes",
}

NEUTRAL_INTENT = 0.8  # of a query that was typed to be answered
MAX_RELEVANCE_TEXT = 4_000  # characters of a memory that are looked at: 50 µs a thousand
OPENING = 50  # words
MOST_TEXTS = 100  # whose words are kept: some more than a prompt looks at
LONGEST_TITLE = 8  # words; a longer first line says something
BIGRAM = 0.25  # of a word: what two characters of a script without spaces count; a word has several, and they overlap
LEAST_ASKED = 1.5  # two rare words: "fix the build" can not be covered, whatever has these words
MEANING_SHARE = 0.7  # of closeness, whatever share it has in the ranking
LEADS = (0.3, 3.0)  # times the runner-up's closeness
NO_LEAD = 0.4  # where there is nobody to compare with
USUAL_COSINE = 0.3  # of the nearest memory to a prompt that none answers; a margin is measured against no less
USUAL_WORDS, MOST_WORDS = 12, 40  # of a prompt: most titles have fewer, and more make no difference
TENTH = 9  # the place, from 0, of the tenth memory: a closeness is measured against its
USUAL_TENTH = 0.2  # its closeness at most, where fewer are found
CHRONICLES = frozenset("change changes changelog history release releases".split())  # namespaces


class MemoryText:
    """The words of a memory, as queries are compared with them.

    folded: text, tags and keywords; stems: in their order; has, opening, title: those of all of it, of its first words and of
    its title line; chronicle: 1.0 for a report of what was done, else 0.0.
    """

    __slots__ = ("_analysers", "_whole", "chronicle", "folded", "has", "opening", "stems", "title")

    def __init__(self, memory: Memory, analysers: analysis.Analysers, language: str = "") -> None:
        """language: of the queries that it is compared with; its words have the stems of it, too, where it is its own."""
        text = memory.content[:MAX_RELEVANCE_TEXT]
        self.folded = analysis.fold(
            " ".join((text, *memory.tags, *memory.keywords)) if memory.tags or memory.keywords else text
        )
        self.stems = analysers.body.analyze(analysis.spread(self.folded))
        self.has = frozenset(self.stems)
        self.opening = frozenset(self.stems[:OPENING])
        line, _, rest = text.partition("\n")
        has_title = bool(rest) and len(line.split()) <= LONGEST_TITLE
        self.title = frozenset(analysers.body.analyze(analysis.spread(analysis.fold(line))) if has_title else ())
        if language and languages.language_of(text) == language:
            inflected = languages.stems_by_word(text, language)
            self.has |= frozenset(analysers.body.analyze(" ".join(inflected.values())))
            opening = analysis.fold(" ".join(text.split()[:OPENING])).lower().split()
            self.opening |= frozenset(analysers.body.analyze(" ".join(filter(None, map(inflected.get, opening)))))
        self.chronicle = float(memory.namespace.lower() in CHRONICLES)
        self._analysers = analysers
        self._whole: frozenset[str] | None = None

    def whole_tokens(self) -> frozenset[str]:
        """Return its whole tokens; few queries have identifiers, which are compared with these."""
        if self._whole is None:
            self._whole = frozenset(self._analysers.exact.analyze(analysis.exact_view(self.folded)))
        return self._whole


class MemoryTexts:
    """The words of the memories that were looked at last: each part of a prompt finds much the same ones."""

    __slots__ = ("_analysers", "_known")

    def __init__(self, analysers: analysis.Analysers) -> None:
        self._analysers = analysers
        self._known: dict[tuple[object, ...], MemoryText] = {}

    def words_of(self, memory: Memory, language: str = "") -> MemoryText:
        """Return the words of a memory, worked out once. language: of the query."""
        key = (memory.content, memory.namespace, memory.tags, memory.keywords, language)
        text = self._known.get(key)
        if text is None:
            if len(self._known) >= MOST_TEXTS:
                self._known.clear()
            text = self._known[key] = MemoryText(memory, self._analysers, language)
        return text


class AskedTerms:
    """The parts of a query that memories are compared with.

    total: the sum of its terms' weights, 0.0 to 1.5 each; count: of its terms; is_unspaced: some are written without spaces.
    """

    __slots__ = (
        "_by_stem",
        "_has_identifiers",
        "_of_pairs",
        "_pairs",
        "_terms",
        "_weights",
        "_words",
        "count",
        "is_unspaced",
        "total",
    )

    def __init__(self, query: Query, analysers: analysis.Analysers) -> None:
        self._terms = query.terms
        self._has_identifiers = any(term.is_identifier for term in query.terms)
        self.is_unspaced = any(term.is_cjk for term in query.terms)
        shares = [BIGRAM if term.is_cjk else 1.0 for term in query.terms]
        self._weights = [term.weight * share for term, share in zip(query.terms, shares, strict=True)]
        self.count = sum(shares)
        self.total = sum(self._weights)
        self._words = log((1 + min(MOST_WORDS, max(USUAL_WORDS, len(query.text.split())))) / (1 + USUAL_WORDS))
        self._by_stem: dict[str, float] = {}
        for term in query.terms:
            if term.stems:
                self._by_stem[term.stems[0]] = max(self._by_stem.get(term.stems[0], 0.0), term.weight)
        stems = analysers.body.analyze(analysis.spread(analysis.fold(query.text)))
        weights = self._by_stem
        self._pairs = {
            (one, other): min(weights[one], weights[other])
            for one, other in pairwise(stems)
            if one in weights and other in weights
        }
        self._of_pairs = sum(self._pairs.values())

    def found_in(self, text: MemoryText) -> Evidence:
        """Return the evidence for a memory from its words.

        Words are compared by their stems, identifiers whole or by their parts, CJK by its bigrams.
        """
        whole = text.whole_tokens() if self._has_identifiers else frozenset()
        covered = in_opening = in_title = 0.0
        found = 0.0
        for term, weight in zip(self._terms, self._weights, strict=True):
            share = _share(term, text.has, whole, text.folded)
            if share:
                found += BIGRAM if term.is_cjk else 1.0
                covered += weight * share
                if term.is_cjk or term.stems[0] in text.opening:
                    in_opening += weight
                if term.stems and term.stems[0] in text.title:
                    in_title += weight
        least = max(self.total, LEAST_ASKED)
        return {
            "covered": covered,
            "found": found,
            "asked": self.total,
            "terms": log(1.0 + self.count),
            "opening": in_opening / least,
            "title": in_title / least,
            "phrases": self._side_by_side(text.stems),
            "length": log(1.0 + len(text.stems)),
            "chronicle": text.chronicle,
            "prose": self._words,
        }

    def split_by(self, memory: Memory, analysers: analysis.Analysers) -> tuple[list[Term], list[Term]]:
        """Return the terms that a memory has, also a part of, and those that it lacks, the rarest first.

        Acronyms that a memory spells out are among those that it has.
        """
        folded = analysis.fold(" ".join((memory.content[:MAX_RELEVANCE_TEXT], *memory.tags, *memory.keywords)))
        stems = set(analysers.body.analyze(analysis.spread(folded)))
        whole = set(analysers.exact.analyze(analysis.exact_view(folded)))
        ordered = sorted(self._terms, key=lambda term: (-term.weight, term.whole))
        has = [term for term in ordered if _share(term, stems, whole, folded)]
        return has, [term for term in ordered if term not in has]

    def _side_by_side(self, stems: list[str]) -> float:
        """Return the share of the query's pairs of neighbouring terms that stand side by side in a text."""
        if not self._pairs:
            return 0.0
        weights = self._by_stem
        before = ""
        found = set()
        for stem in stems:
            if stem in weights:
                if before and (before, stem) in self._pairs:
                    found.add((before, stem))
                before = stem
            else:
                before = ""
        return sum([self._pairs[pair] for pair in sorted(found)]) / self._of_pairs


def _share(term: Term, stems: set[str] | frozenset[str], whole_tokens: set[str] | frozenset[str], folded: str) -> float:
    """Return how much of a term a memory has, 0.0 to 1.0."""
    if term.is_cjk:
        return float(term.whole in folded)
    if term.is_identifier:
        if term.whole in whole_tokens:
            return 1.0
        return PART_SHARE * sum(stem in stems for stem in term.stems) / len(term.stems) if term.stems else 0.0
    return float(term.stems[0] in stems or (bool(term.spelled_out) and stems.issuperset(term.spelled_out)))


class Standings:
    """Everything that was found for a query, each compared with the others.

    A memory's closeness is the share of a full match that its words reach and its cosine, in fixed shares; where its meaning
    was not compared, its words alone, and it is compared with the others' words.
    """

    __slots__ = ("_closest", "_cosines", "_full", "_nearest", "_shares", "_words")

    def __init__(self, words: Mapping[int, float], cosines: Mapping[int, float], full_words: float) -> None:
        """Keep the scores of all that was found.

        words: BM25 scores by row number; cosines: by row number; full_words: the score of a memory that has all of the query.
        """
        self._words = words
        self._cosines = cosines
        self._full = max(full_words, max(words.values(), default=0.0)) or 1.0
        self._shares = sorted([score / self._full for score in words.values()], reverse=True)
        self._nearest = sorted(cosines.values(), reverse=True)
        closest = [_closeness(words.get(seq, 0.0) / self._full, cosines.get(seq, 0.0)) for seq in {*words, *cosines}]
        self._closest = sorted(closest, reverse=True)

    def evidence_of(self, seq: int, share: float | None = None) -> Evidence:
        """Return the evidence from how a memory stands.

        share: of a full match, the share that the words of a memory have which the index has not reached.
        """
        if share is None:
            share = self._words.get(seq, 0.0) / self._full
        near = self._cosines.get(seq)
        ranked, closeness = (self._shares, share) if near is None else (self._closest, _closeness(share, near))
        other = _runner_up(ranked, closeness)
        tenth = ranked[TENTH] if len(ranked) > TENTH else min([USUAL_TENTH, *ranked])
        known = {
            "closeness": closeness,
            "lead": log(min(LEADS[1], max(LEADS[0], closeness / other))) if other > 0.01 else NO_LEAD,
            "above_tenth": closeness - tenth,
        }
        if near is not None:
            known["margin"] = near - max(USUAL_COSINE, _runner_up(self._nearest, near))
            known["word_rank"] = 1.0 / (1 + sum([other > share for other in self._shares]))
            known["meaning_rank"] = 1.0 / (1 + sum([other > near for other in self._nearest]))
        return known


def _closeness(share: float, cosine: float) -> float:
    return (1.0 - MEANING_SHARE) * share + MEANING_SHARE * max(0.0, cosine)


def _runner_up(ordered: list[float], value: float) -> float:
    """Return the best of the other values, of values in descending order: the first is compared with the second."""
    if not ordered:
        return 0.0
    return (ordered[1] if len(ordered) > 1 else 0.0) if value >= ordered[0] else ordered[0]


def weigh_evidence(evidence: Evidence) -> Terms:
    """Return what each evidence adds to the logit of the probability, in the order of the model."""
    evidence = {"intercept": 1.0, "intent": NEUTRAL_INTENT, **evidence}
    weights = WITH_MEANING if "margin" in evidence else WORDS_ALONE
    return tuple([(name, evidence[name], weight * evidence[name]) for name, weight in weights.items()])


def weights_of(terms: Terms) -> Mapping[str, float]:
    """Return the model's weights by which such terms were weighed; what triggers and keywords add has none there."""
    names = {name for name, _, _ in terms}
    if "margin" in names:
        return WITH_MEANING
    return OF_NOTES if "begun" in names and "lead" not in names else WORDS_ALONE


def with_intent(terms: Terms, confidence: float) -> Terms:
    """Return the terms for a prompt whose intent is told with this confidence."""
    weights = weights_of(terms)
    asked = ("intent", confidence, weights["intent"] * confidence)
    return tuple([asked if term[0] == "intent" else term for term in terms])
