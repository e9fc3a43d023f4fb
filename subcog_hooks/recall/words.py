"""The lexical channels: exact phrases and terms, relaxed terms, questions, and the labels that a query names."""

from __future__ import annotations

from math import log

import tantivy

from subcog_hooks.recall.hits import LABELS, LEXICAL, QUESTIONS
from subcog_hooks.recall.query import Query, rarity
from subcog_hooks.store.index import ASKED, ASKED_AT, LABEL, LexicalIndex
from subcog_hooks.store.index import LABELS as LABEL_WORDS
from subcog_hooks.store.memory import now_ms
from subcog_hooks.text import STOP, analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.hits import Ranked
    from subcog_hooks.recall.query import Term
    from subcog_hooks.store.store_reader import Filter

TIES = 8  # a factor on the depth, the limit for including all memories that score like the last
FLAT_SHARE = 0.5  # the share of rarity alone in a term's score; .3 to .7 do as well when fused
STEM_BOOST = 1.0  # a word by its stem
PART_BOOST = 0.5  # a part of an identifier that some memory has whole
WHOLE_BOOST = 1.5  # an unchanged identifier, path or version
GLUE_BOOST = 0.4  # a function word; chosen on one half of the development queries, .3 to .6 do as well
LABEL_BOOST = 0.2  # the minimum for a tag or keyword; 1.0 where no text has the word
MAX_ALL_TERMS = 8  # terms; a memory hardly has all terms of a longer query
UNKNOWN_SHARE = 0.25  # of the rarest word's score; .5 and 1.0 cost dialogue .002 to .005
PHRASE_BOOST = 2.0  # words that the query quotes, in their order
ACRONYM_BOOST = 0.8  # the long form of an acronym, in order

MAX_LABELS = 8  # of one query, the rarest
MAX_LABEL_WORDS = 3  # words of a label: "gray rock", "error-handling"
MAX_WORDS = 60  # words of the query that are compared with labels
WORDS_SHARE = 0.001  # of the words' score: it orders the memories of one label
MAX_RARE_HOLDERS = 5  # memories of all projects with the identifier
MAX_IDENTIFIERS = 4  # identifiers of a query; each costs a search


class WordChannel:
    """A channel of words; subclasses build the query."""

    strategy = LEXICAL
    is_floor = False

    def __init__(self, index: LexicalIndex) -> None:
        self._index = index

    def search(self, query: Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
        """Search as `candidates.Channel` does; a score is a BM25 score, for patterns their number. Raises IndexUnusable.

        All memories that score like the last are included: the order of insertion must not show at the cut. Beyond TIES times
        as many, the newest rows are left out. Among 100,000 memories a common word has thousands; reading all took 200 ms,
        everything else 10 ms.
        """
        matching = self._matching(query)
        hits = search_index(self._index, matching, scope, k + 1)
        if len(hits) > k and hits[k][0] == hits[k - 1][0]:
            hits = search_index(self._index, matching, scope, TIES * k + 1)
        if len(hits) <= k:
            return hits
        last_score = hits[k - 1][0]
        return [hit for hit in hits[: TIES * k] if hit[0] >= last_score]

    def _matching(self, query: Query) -> tantivy.Query | None:
        """Return the query that a memory has to match; None for nothing."""
        raise NotImplementedError


class Relaxed(WordChannel):
    """Memories with any of the query's terms, stemmed."""

    name = "lexical_relaxed"
    is_floor = True

    def _matching(self, query: Query) -> tantivy.Query | None:
        return any_term_query(self._index, query)


class ExactWords(WordChannel):
    """Memories with every quoted phrase of the query or, without quotes, with every term.

    A score adds the phrases to the score of `Relaxed`. A term that no memory has, or too many terms, find nothing.
    """

    name = "lexical_exact"

    def _matching(self, query: Query) -> tantivy.Query | None:
        index = self._index
        if query.phrases:
            phrases = [phrase for stems in query.phrases if (phrase := _phrase_query(index, stems, PHRASE_BOOST))]
            terms = [part for term in query.terms if term.is_known for part in _term_queries(index, term)]
            optional = [*terms, *_glue_queries(index, query)]
            return _all_of([_all_of(phrases)], optional) if len(phrases) == len(query.phrases) else None
        if not 0 < len(query.terms) <= MAX_ALL_TERMS or not all(term.is_known for term in query.terms):
            return None
        every_term = _all_of([any_of(_term_queries(index, term)) for term in query.terms])
        return _all_of([every_term], _glue_queries(index, query))


class AskedLike(WordChannel):
    """Memories that answer a question with any of the query's terms, stemmed; their best question counts.

    A score is the sum of the terms' rarities: questions are short, so length and repetition say nothing.
    """

    name = QUESTIONS

    def _matching(self, query: Query) -> tantivy.Query | None:
        make, index = tantivy.Query, self._index
        word_scores: list[tuple[str, float]] = []
        for term in query.terms:
            boost = PART_BOOST if term.is_identifier and len(term.stems) > 1 else STEM_BOOST
            field, words = (analysis.CJK, (term.whole,)) if term.is_cjk else (analysis.BODY, term.stems)
            asked = [word for word in words if term.is_known and index.document_frequency(ASKED, word)]
            word_scores += [(word, boost * _word_rarity(index, field, word)) for word in asked]
        by_question = [
            [make.const_score_query(make.term_query(index.schema, field, word), score) for word, score in word_scores]
            for field in ASKED_AT[: index.max_questions]
        ]
        return make.disjunction_max_query(list(map(any_of, by_question))) if word_scores else None


class Labels(WordChannel):
    """Memories with a tag or keyword that the query names. A score is the sum of their rarities and a little of the words'."""

    name = strategy = LABELS

    def __init__(self, index: LexicalIndex, named: Mapping[str, float]) -> None:
        """Prepare the channel for one query. named: the labels that the query names, from `labels_named_in`."""
        super().__init__(index)
        self._named = named

    def _matching(self, query: Query) -> tantivy.Query | None:
        make, schema = tantivy.Query, self._index.schema
        labels = [
            make.const_score_query(make.term_query(schema, LABEL, label), label_rarity)
            for label, label_rarity in self._named.items()
        ]
        words = any_term_query(self._index, query)
        return _all_of([any_of(labels)], [make.boost_query(words, WORDS_SHARE)] if words is not None else [])


def labels_named_in(text: str, index: LexicalIndex, scope: Filter) -> dict[str, float]:
    """Return the labels that a text names and some memory of the scope has, with their rarities.

    Rarities are 0.0 to 1.0, the rarest first. Candidates are words without function words, and runs of two or three words.
    Compounds count whole and in parts, because a hyphen or underscore is a blank here. Raises IndexUnusable.
    """
    words = analysis.label_form(text).split()[:MAX_WORDS]
    candidates = [word for word in words if word not in STOP]
    for length in range(2, MAX_LABEL_WORDS + 1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if run[0] not in STOP and run[-1] not in STOP:
                candidates.append(" ".join(run))
    rarities = {}
    for label in dict.fromkeys(candidates):
        frequency = index.document_frequency(LABEL, label)
        if frequency and search_index(index, tantivy.Query.term_query(index.schema, LABEL, label), scope, 1):
            rarities[label] = rarity(frequency, index.documents)
    return dict(sorted(rarities.items(), key=lambda item: (-item[1], item[0]))[:MAX_LABELS])


def find_holders(query: Query, index: LexicalIndex, scope: Filter) -> tuple[list[str], list[int]]:
    """Return the query's identifiers that memories of a scope have unchanged, and the row numbers of the only holders.

    Mere numbers do not count, and the only holder of an identifier counts where few memories of all projects have it. Raises
    IndexUnusable.
    """
    identifiers: list[str] = []
    sole: dict[int, None] = {}  # a memory may have several
    known = [
        term.whole for term in query.terms if term.is_identifier and term.is_whole_known and any(map(str.isalpha, term.whole))
    ]
    for identifier in known[:MAX_IDENTIFIERS]:
        hits = search_index(index, tantivy.Query.term_query(index.schema, analysis.EXACT, identifier), scope, 2)
        if hits:
            identifiers.append(identifier)
        if len(hits) == 1 and index.document_frequency(analysis.EXACT, identifier) <= MAX_RARE_HOLDERS:
            sole[hits[0][1]] = None
    return identifiers, list(sole)


def search_index(index: LexicalIndex, words: tantivy.Query | None, wanted: Filter, depth: int) -> Ranked:
    """Return the best `depth` matches of `words` as (BM25 score, row number), best first; None matches nothing.

    Of `wanted`, audiences, statuses, namespaces, tags and since are applied here. The store checks expiry and paths. Raises
    IndexUnusable.
    """
    return index.search(_filtered_query(index, words, wanted), depth) if words is not None else []


def count_memories(index: LexicalIndex, wanted: Filter) -> int:
    """Return the number of searched memories in the index. Raises IndexUnusable."""
    return index.count(scope_query(index, wanted))


def scope_query(index: LexicalIndex, wanted: Filter) -> tantivy.Query:
    """Return the query for all memories of a filter, as far as the index knows: without their paths."""
    clauses = [(tantivy.Occur.Must, _filtered_query(index, tantivy.Query.all_query(), wanted))]
    if not wanted.include_expired:
        expired = tantivy.Query.range_query(index.schema, "expires", tantivy.FieldType.Integer, upper_bound=now_ms())
        clauses.append((tantivy.Occur.MustNot, expired))
    return tantivy.Query.boolean_query(clauses)


def any_term_query(index: LexicalIndex, query: Query) -> tantivy.Query | None:
    """Return a query that one of the terms must match; function words only add to the score.

    None when no memory has any of the terms.
    """
    if query.any_of is None:
        terms = [part for term in query.terms if term.is_known for part in _term_queries(index, term)]
        if terms:
            query.any_of = _all_of([any_of(terms)], _glue_queries(index, query))
    return query.any_of


def any_of(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    """Return the query that one of several must match."""
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def _all_of(queries: Iterable[tantivy.Query], optional: Iterable[tantivy.Query] = ()) -> tantivy.Query:
    """Return the query that all of several must match; the optional queries only add to the score."""
    must, should = tantivy.Occur.Must, tantivy.Occur.Should
    return tantivy.Query.boolean_query([*((must, query) for query in queries), *((should, query) for query in optional)])


def _filtered_query(index: LexicalIndex, words: tantivy.Query, wanted: Filter) -> tantivy.Query:
    """Return the query for the matches of `words` that a filter accepts, which has no effect on the score."""
    make, schema = tantivy.Query, index.schema
    tags = [("tag", (tag.lower(),)) for tag in wanted.tags]
    named = [("audience", wanted.audiences or ()), ("status", wanted.statuses), ("namespace", wanted.namespaces), *tags]
    filters = [any_of([make.term_query(schema, name, value) for value in values]) for name, values in named if values]
    if wanted.since is not None:
        filters.append(make.range_query(schema, "created", tantivy.FieldType.Integer, lower_bound=wanted.since))
    return _all_of([words, *(make.const_score_query(accepted, 0.0) for accepted in filters)])


def _word_rarity(index: LexicalIndex, field: str, word: str) -> float:
    return index.rarity(field if index.document_frequency(field, word) else ASKED, word)


def _glue_queries(index: LexicalIndex, query: Query) -> list[tantivy.Query]:
    return [part for term in _known_glue(query) for part in _term_queries(index, term, GLUE_BOOST)]


def _known_glue(query: Query) -> list[Term]:
    return [term for term in query.glue if term.is_known]


def full_score(index: LexicalIndex, query: Query) -> float:
    """Return the score of a memory of the usual length that has each of the query's words once.

    A word of no memory counts less, because it may be a name for the same thing.
    """
    unknown_score = UNKNOWN_SHARE * index.rarity(analysis.BODY, "") * sum(not term.is_known for term in query.terms)
    score = unknown_score + sum(_term_score(index, term) for term in query.terms if term.is_known)
    return score + GLUE_BOOST * sum(_term_score(index, term) for term in _known_glue(query))


def _term_score(index: LexicalIndex, term: Term) -> float:
    if term.is_cjk:
        return _word_rarity(index, analysis.CJK, term.whole)
    if term.is_identifier and term.is_whole_known:
        return WHOLE_BOOST * index.rarity(analysis.EXACT, term.whole)
    return _word_rarity(index, analysis.BODY, term.stems[0]) if term.stems else 0.0


def _term_queries(index: LexicalIndex, term: Term, boost: float = 1.0) -> list[tantivy.Query]:
    make, schema = tantivy.Query, index.schema
    if term.is_cjk:  # A single character begins a bigram or stands alone.
        is_single = len(term.whole) == 1
        return [(make.regex_query if is_single else make.term_query)(schema, analysis.CJK, term.whole + ".?" * is_single)]
    queries: list[tantivy.Query] = []
    if len(term.instead) > 1:  # No word of these is likelier for being rare.
        begun = any_of([make.term_query(schema, field, stem) for stem in term.stems for field in (analysis.BODY, LABEL_WORDS)])
        return [make.const_score_query(begun, boost * index.rarity(analysis.BODY, term.stems[0]))]
    is_whole = term.is_identifier and term.is_whole_known
    scored = [(analysis.EXACT, term.whole, WHOLE_BOOST)] if is_whole else []
    stem_boost = PART_BOOST if is_whole else STEM_BOOST
    scored += [(analysis.BODY, stem, stem_boost) for stem in term.stems if not (is_whole and stem == term.whole)]
    for field, word, word_boost in scored:  # A term is scored half by BM25 and half by its rarity.
        matching = make.term_query(schema, field, word)
        flat = boost * word_boost * FLAT_SHARE * index.rarity(field, word)
        queries += [make.boost_query(matching, boost * word_boost * (1.0 - FLAT_SHARE)), make.const_score_query(matching, flat)]
    for stem, label_share in term.labels.items():
        label = make.term_query(schema, LABEL_WORDS, stem)
        queries.append(make.boost_query(label, boost * max(LABEL_BOOST, label_share)))
    if term.spelled_out and (phrase := _phrase_query(index, term.spelled_out, boost * ACRONYM_BOOST)):
        queries.append(phrase)
    return queries


def _phrase_query(index: LexicalIndex, stems: tuple[str, ...], boost: float) -> tantivy.Query | None:
    make = tantivy.Query
    if not stems:
        return None
    if len(stems) == 1:
        return make.boost_query(make.term_query(index.schema, analysis.BODY, stems[0]), boost)
    return make.boost_query(make.phrase_query(index.schema, analysis.BODY, [*stems]), boost)


def rarity_in_index(index: LexicalIndex) -> Callable[[str], float | None]:
    """Return a function that gives the rarity of a word in `index`.

    The rarity is 0.0 for a word of every memory, 1.0 for a word of one memory, None for a word of none. For an identifier the
    rarest part counts. The function raises IndexUnusable.
    """
    everything = log(1.0 + index.documents / 0.5)

    def rarity_of_word(word: str) -> float | None:
        stems = index.analysers.body.analyze(analysis.spread_words(analysis.fold(word)))
        known_stems = [stem for stem in stems if index.document_frequency(analysis.BODY, stem)]
        if not known_stems:
            return None
        return min(1.0, max(index.rarity(analysis.BODY, stem) for stem in known_stems) / everything)

    return rarity_of_word
