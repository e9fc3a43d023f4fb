"""The lexical channels: exact phrases and terms, relaxed terms, and the rarity of a term."""

from __future__ import annotations

from math import log

import tantivy

from subcog_hooks.recall.hits import LEXICAL, QUESTIONS
from subcog_hooks.store.index import ASKED, ASKED_AT, LABEL, LABELS, LexicalIndex
from subcog_hooks.store.memory import now_ms
from subcog_hooks.text import analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.channel import Ranked
    from subcog_hooks.recall.query import Query, Term
    from subcog_hooks.store.store_reader import Filter

TIES = 8  # a factor on the depth, the limit for including all memories that score like the last
FLAT_SHARE = 0.5  # the share of rarity alone in a term's score; .3 to .7 do as well when fused
STEM_BOOST = 1.0  # a word by its stem
PART_BOOST = 0.5  # a part of an identifier that some memory has whole
WHOLE_BOOST = 1.5  # an unchanged identifier, path or version
GLUE_BOOST = 0.4  # a function word; chosen on one half of the development queries, .3 to .6 do as well
VERY_MANY, EVERYWHERE = 50_000, 10  # in so many memories, function words of one in ten are left out
LABEL_BOOST = 0.2  # the minimum for a tag or keyword; 1.0 where no text has the word
MAX_ALL_TERMS = 8  # terms; a memory hardly has all terms of a longer query
UNKNOWN_SHARE = 0.25  # of the rarest word's score; .5 and 1.0 cost dialogue .002 to .005
PHRASE_BOOST = 2.0  # words that the query quotes, in their order
BEGINNING, ENDING = 5, 3  # letters: the minimal beginning of a word, and the ending that may differ
PIECE = 3  # minimal letters of a word that may match inside others
MAX_EDITS = 2  # the limit of tantivy's fuzzy queries
LETTERS_PER_EDIT = 4  # letters; two edits in five letters turn any word into any other
MAX_PATTERNS = 8  # words of one query; each pattern reads the whole dictionary
ACRONYM_BOOST = 0.8  # the long form of an acronym, in order


class _WordChannel:
    """A channel of words; subclasses build the query."""

    __slots__ = ("_index",)
    strategy = LEXICAL
    is_floor = False

    def __init__(self, index: LexicalIndex) -> None:
        self._index = index

    def search(self, query: Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
        """Search as `channel.Channel` does; a score is a BM25 score, for patterns their number. Raises IndexUnusable."""
        return search_with_ties(self._index, self._matching(query), scope, k)

    def _matching(self, query: Query) -> tantivy.Query | None:
        """Return the query that a memory has to match; None for nothing."""
        raise NotImplementedError


class Relaxed(_WordChannel):
    """Memories with any of the query's terms, stemmed."""

    __slots__ = ()
    name = "lexical_relaxed"
    is_floor = True

    def _matching(self, query: Query) -> tantivy.Query | None:
        return any_term_query(self._index, query)


class ExactWords(_WordChannel):
    """Memories with every quoted phrase of the query or, without quotes, with every term.

    A score adds the phrases to the score of `Relaxed`.
    """

    __slots__ = ()
    name = "lexical_exact"

    def _matching(self, query: Query) -> tantivy.Query | None:
        return all_terms_query(self._index, query)


class AskedLike(_WordChannel):
    """Memories that answer a question with any of the query's terms, stemmed; their best question counts.

    A score is the sum of the terms' rarities: questions are short, so length and repetition say nothing.
    """

    __slots__ = ()
    name = QUESTIONS

    def _matching(self, query: Query) -> tantivy.Query | None:
        return question_query(self._index, query)


class Beginnings(_WordChannel):
    """Memories with a word, tag or keyword that begins, at least nearly, with one of the query's words."""

    __slots__ = ()
    name = "lexical_beginnings"

    def _matching(self, query: Query) -> tantivy.Query | None:
        beginnings = [word[: max(BEGINNING, len(word) - ENDING)] for word in _plain_terms(query, BEGINNING)]
        words = _plain_terms(query, PIECE)
        labels = [tantivy.Query.regex_query(self._index.schema, LABEL, f"(.* )?{word}.*") for word in words]
        return _pattern_query(self._index, [f"{start}.*" for start in (*words, *beginnings)], labels)


class Pieces(_WordChannel):
    """Memories with a word that contains one of the query's words, or differs in one or two letters."""

    __slots__ = ()
    name = "lexical_pieces"

    def _matching(self, query: Query) -> tantivy.Query | None:
        words = _plain_terms(query, PIECE)
        close = [
            tantivy.Query.fuzzy_term_query(
                self._index.schema, analysis.EXACT, word, min(MAX_EDITS, len(word) // LETTERS_PER_EDIT)
            )
            for word in words
            if len(word) > PIECE + 1
        ]
        return _pattern_query(self._index, [f".*{word}.*" for word in words], close)


def _plain_terms(query: Query, min_length: int) -> list[str]:
    return [term.whole for term in query.terms if term.whole.isalnum() and len(term.whole) >= min_length][:MAX_PATTERNS]


def _pattern_query(index: LexicalIndex, patterns: Sequence[str], others: Sequence[tantivy.Query] = ()) -> tantivy.Query | None:
    pattern_queries = [tantivy.Query.regex_query(index.schema, analysis.EXACT, pattern) for pattern in patterns]
    should = [(tantivy.Occur.Should, query) for query in (*pattern_queries, *others)]
    return tantivy.Query.boolean_query(should) if should else None


def search_index(index: LexicalIndex, words: tantivy.Query | None, wanted: Filter, depth: int) -> Ranked:
    """Return the best `depth` matches of `words` as (BM25 score, row number), best first; None matches nothing.

    Of `wanted`, audiences, statuses, namespaces, tags and since are applied here. The store checks expiry and paths. Raises
    IndexUnusable.
    """
    return index.search(_filtered_query(index, words, wanted), depth) if words is not None else []


def identifier_query(index: LexicalIndex, term: Term) -> tantivy.Query:
    """Return a query for an unchanged identifier, path or version."""
    return tantivy.Query.term_query(index.schema, analysis.EXACT, term.whole)


def count_holders(index: LexicalIndex, term: Term) -> int:
    """Return the number of memories, of all projects, with an unchanged term. Raises IndexUnusable."""
    return index.document_frequency(analysis.EXACT, term.whole)


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


def search_with_ties(index: LexicalIndex, words: tantivy.Query | None, wanted: Filter, depth: int) -> Ranked:
    """Return the best `depth` matches, and every match that scores the same as the last.

    The order of insertion must not show at the cut. Beyond TIES times as many, the newest rows are left out. Among 100,000
    memories a common word has thousands; reading all took 200 ms, everything else 10 ms.
    """
    hits = search_index(index, words, wanted, depth + 1)
    if len(hits) > depth and hits[depth][0] == hits[depth - 1][0]:
        hits = search_index(index, words, wanted, TIES * depth + 1)
    if len(hits) <= depth:
        return hits
    last_score = hits[depth - 1][0]
    return [hit for hit in hits[: TIES * depth] if hit[0] >= last_score]


def any_term_query(index: LexicalIndex, query: Query) -> tantivy.Query | None:
    """Return a query that one of the terms must match; function words only add to the score.

    None when no memory has any of the terms.
    """
    if query.any_of is None:
        terms = [part for term in query.terms if term.is_known for part in _term_queries(index, term)]
        if terms:
            words = tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in terms])
            query.any_of = _with_optional(words, _glue_queries(index, query))
    return query.any_of


def all_terms_query(index: LexicalIndex, query: Query) -> tantivy.Query | None:
    """Return a query that every quoted phrase must match, or every term.

    None when no memory has some term, or for too many terms.
    """
    must = tantivy.Occur.Must
    phrases = [phrase for stems in query.phrases if (phrase := _phrase_query(index, stems, PHRASE_BOOST))]
    if query.phrases:
        terms = [part for term in query.terms if term.is_known for part in _term_queries(index, term)]
        words = tantivy.Query.boolean_query([(must, phrase) for phrase in phrases])
        return _with_optional(words, [*terms, *_glue_queries(index, query)]) if len(phrases) == len(query.phrases) else None
    if not 0 < len(query.terms) <= MAX_ALL_TERMS or not all(term.is_known for term in query.terms):
        return None
    any_part = [[(tantivy.Occur.Should, part) for part in _term_queries(index, term)] for term in query.terms]
    words = tantivy.Query.boolean_query([(must, tantivy.Query.boolean_query(parts)) for parts in any_part])
    return _with_optional(words, _glue_queries(index, query))


def question_query(index: LexicalIndex, query: Query) -> tantivy.Query | None:
    """Return a query that one of a memory's questions must match with any term; the best question gives the score.

    None when no question has any of the terms.
    """
    make, should = tantivy.Query, tantivy.Occur.Should
    word_scores = [(word, score) for term in query.terms if term.is_known for word, score in _question_word_scores(index, term)]
    if not word_scores:
        return None
    return make.disjunction_max_query(
        [
            make.boolean_query(
                [
                    (should, make.const_score_query(make.term_query(index.schema, field, word), score))
                    for word, score in word_scores
                ]
            )
            for field in ASKED_AT[: index.max_questions]
        ]
    )


def _question_word_scores(index: LexicalIndex, term: Term) -> list[tuple[str, float]]:
    boost = PART_BOOST if term.is_identifier and len(term.stems) > 1 else STEM_BOOST
    words = (term.whole,) if term.is_cjk else term.stems
    field = analysis.CJK if term.is_cjk else analysis.BODY
    return [(word, boost * _word_rarity(index, field, word)) for word in words if index.document_frequency(ASKED, word)]


def _word_rarity(index: LexicalIndex, field: str, word: str) -> float:
    return index.rarity(field if index.document_frequency(field, word) else ASKED, word)


def _with_optional(words: tantivy.Query, extras: list[tantivy.Query]) -> tantivy.Query:
    """Return a query that `words` must match; the extras only add to the score."""
    should = [(tantivy.Occur.Should, part) for part in extras]
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, words), *should])


def _glue_queries(index: LexicalIndex, query: Query) -> list[tantivy.Query]:
    return [part for term in _useful_glue(index, query) for part in _term_queries(index, term, GLUE_BOOST)]


def _useful_glue(index: LexicalIndex, query: Query) -> list[Term]:
    return [term for term in query.glue if term.is_known and not _is_everywhere(index, term)]


def _is_everywhere(index: LexicalIndex, term: Term) -> bool:
    """Return whether a function word is in too many of very many memories to be worth its cost.

    Five such words took 36 of the 54 ms of a query among 1,000,000, and 3 of 6 among 100,000. Without them the 376 development
    queries find the same; without the words of a twentieth of the memories .005 less.
    """
    if index.documents <= VERY_MANY:
        return False
    return any(EVERYWHERE * index.document_frequency(analysis.BODY, stem) > index.documents for stem in term.stems)


def _filtered_query(index: LexicalIndex, words: tantivy.Query, wanted: Filter) -> tantivy.Query:
    must = tantivy.Occur.Must
    filters = [(must, _field_query(index, name, values)) for name, values in _field_values(wanted) if values]
    if wanted.since is not None:
        since = tantivy.Query.range_query(index.schema, "created", tantivy.FieldType.Integer, lower_bound=wanted.since)
        filters.append((must, tantivy.Query.const_score_query(since, 0.0)))
    return tantivy.Query.boolean_query([(must, words), *filters])


def full_score(index: LexicalIndex, query: Query) -> float:
    """Return the score of a memory of the usual length that has each of the query's words once.

    A word of no memory counts less, because it may be a name for the same thing.
    """
    unknown_score = UNKNOWN_SHARE * index.rarity(analysis.BODY, "") * sum(not term.is_known for term in query.terms)
    score = unknown_score + sum(_term_score(index, term) for term in query.terms if term.is_known)
    return score + GLUE_BOOST * sum(_term_score(index, term) for term in _useful_glue(index, query))


def _term_score(index: LexicalIndex, term: Term) -> float:
    if term.is_cjk:
        return _word_rarity(index, analysis.CJK, term.whole)
    if term.is_identifier and term.is_whole_known:
        return WHOLE_BOOST * index.rarity(analysis.EXACT, term.whole)
    return _word_rarity(index, analysis.BODY, term.stems[0]) if term.stems else 0.0


def _term_queries(index: LexicalIndex, term: Term, boost: float = 1.0) -> list[tantivy.Query]:
    if term.is_cjk:
        if len(term.whole) == 1:  # a single character begins a bigram or stands alone
            return [tantivy.Query.regex_query(index.schema, analysis.CJK, f"{term.whole}.?")]
        return [tantivy.Query.term_query(index.schema, analysis.CJK, term.whole)]
    queries: list[tantivy.Query] = []
    is_whole = term.is_identifier and term.is_whole_known
    if is_whole:
        queries += _scored_term_queries(index, analysis.EXACT, term.whole, boost * WHOLE_BOOST)
    for stem in term.stems:
        if not (is_whole and stem == term.whole):
            queries += _scored_term_queries(index, analysis.BODY, stem, boost * (PART_BOOST if is_whole else STEM_BOOST))
    for stem, label_share in term.labels.items():
        label = tantivy.Query.term_query(index.schema, LABELS, stem)
        queries.append(tantivy.Query.boost_query(label, boost * max(LABEL_BOOST, label_share)))
    if term.spelled_out and (phrase := _phrase_query(index, term.spelled_out, boost * ACRONYM_BOOST)):
        queries.append(phrase)
    return queries


def _scored_term_queries(index: LexicalIndex, field: str, term: str, boost: float) -> list[tantivy.Query]:
    """Return the query for a term, scored half by BM25 and half by its rarity."""
    make = tantivy.Query.term_query(index.schema, field, term)
    flat = tantivy.Query.const_score_query(make, boost * FLAT_SHARE * index.rarity(field, term))
    return [tantivy.Query.boost_query(make, boost * (1.0 - FLAT_SHARE)), flat]


def _phrase_query(index: LexicalIndex, stems: tuple[str, ...], boost: float) -> tantivy.Query | None:
    make = tantivy.Query
    if not stems:
        return None
    if len(stems) == 1:
        return make.boost_query(make.term_query(index.schema, analysis.BODY, stems[0]), boost)
    return make.boost_query(make.phrase_query(index.schema, analysis.BODY, [*stems]), boost)


def _field_values(wanted: Filter) -> list[tuple[str, tuple[str, ...]]]:
    every_tag = [("tag", (tag.lower(),)) for tag in wanted.tags]
    named = [("audience", wanted.audiences or ()), ("status", wanted.statuses), ("namespace", wanted.namespaces)]
    return [*named, *every_tag]


def _field_query(index: LexicalIndex, name: str, values: tuple[str, ...]) -> tantivy.Query:
    """Return the query for any of `values` in a field, without an effect on the score."""
    make = tantivy.Query
    anyone = make.boolean_query([(tantivy.Occur.Should, make.term_query(index.schema, name, value)) for value in values])
    return make.const_score_query(anyone, 0.0)


def rarity_in_index(index: LexicalIndex) -> Callable[[str], float | None]:
    """Return a function that gives the rarity of a word in `index`.

    The rarity is 0.0 for a word of every memory, 1.0 for a word of one memory, None for a word of none. For an identifier the
    rarest part counts. The function raises IndexUnusable.
    """
    everything = log(1.0 + index.documents / 0.5)

    def rarity(word: str) -> float | None:
        stems = index.analysers.body.analyze(analysis.spread_words(analysis.fold(word)))
        known_stems = [stem for stem in stems if index.document_frequency(analysis.BODY, stem)]
        if not known_stems:
            return None
        return min(1.0, max(index.rarity(analysis.BODY, stem) for stem in known_stems) / everything)

    return rarity
