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
    from subcog_hooks.store.index import LexicalIndex
    from subcog_hooks.store.store import Filter

TIES = 8  # times the depth: so far a list is made longer to have all that score as its last
FLAT = 0.5  # the share of a term's score that is its rarity alone; .3 to .7 do as well when fused
STEM_BOOST = 1.0  # of a word by its stem: the measure of the others
PART_BOOST = 0.5  # a part of an identifier that some memory has whole
WHOLE_BOOST = 1.5  # the identifier, path or version as it stands
GLUE_BOOST = 0.4  # a function word; chosen on one half of the development queries, .3 to .6 do as well
VERY_MANY, EVERYWHERE = 50_000, 10  # memories; one in so many has a function word that is left out there
LABEL_BOOST = 0.2  # at least, of a tag or keyword; 1.0 where no text has the word, and the label alone says it
MOST_TERMS = 8  # of a query that some memory may have all of; a prompt has more
UNKNOWN_SHARE = 0.25  # of what the rarest word is worth; .5 and 1.0 cost dialogue .002 to .005
PHRASE_BOOST = 2.0  # words that the query quotes, in their order
BEGINNING, ENDING = 5, 3  # letters of a word's beginning at least, and of an ending that may be another
PIECE = 3  # letters of a word that is looked for inside others
MOST_EDITS = 2  # the most that tantivy's fuzzy queries take
AN_EDIT = 4  # letters of a word for each edit that it may have: two in five make any word of any other
MOST_PATTERNS = 8  # words of one query that are looked for so; each reads the whole dictionary
ACRONYM_BOOST = 0.8  # what an acronym stands for, in order


class _ByWords:
    """A channel of words; each kind says which memories its words match."""

    __slots__ = ("_index",)
    strategy = LEXICAL
    is_floor = False

    def __init__(self, index: LexicalIndex) -> None:
        self._index = index

    def search(self, query: Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
        """Search as `channel.Channel` says; a score is a BM25 score, of like words their number. Raises IndexUnusable."""
        return search_with_ties(self._index, self._matching(query), scope, k)

    def _matching(self, query: Query) -> tantivy.Query | None:
        """Return what a memory has to match; None for nothing."""
        raise NotImplementedError


class Relaxed(_ByWords):
    """Memories that have any of the query's terms, stemmed."""

    __slots__ = ()
    name = "lexical_relaxed"
    is_floor = True

    def _matching(self, query: Query) -> tantivy.Query | None:
        return any_of(self._index, query)


class ExactWords(_ByWords):
    """Memories that have every phrase that the query quotes or, where it quotes none, every one of its terms.

    A score is that of `Relaxed`, and of the phrases.
    """

    __slots__ = ()
    name = "lexical_exact"

    def _matching(self, query: Query) -> tantivy.Query | None:
        return all_of(self._index, query)


class AskedLike(_ByWords):
    """Memories that answer a question with any of the query's terms, stemmed; the best of their questions counts.

    A score is the sum of the terms' rarities: questions are short, so length and repetition say nothing.
    """

    __slots__ = ()
    name = QUESTIONS

    def _matching(self, query: Query) -> tantivy.Query | None:
        return asked_like(self._index, query)


class Beginnings(_ByWords):
    """Memories that have a word, a tag or a keyword which begins with one of the query's words, or nearly so."""

    __slots__ = ()
    name = "lexical_beginnings"

    def _matching(self, query: Query) -> tantivy.Query | None:
        cut = [word[: max(BEGINNING, len(word) - ENDING)] for word in _letters(query, BEGINNING)]
        words = _letters(query, PIECE)
        labels = [tantivy.Query.regex_query(self._index.schema, LABEL, f"(.* )?{word}.*") for word in words]
        return _like(self._index, [f"{start}.*" for start in (*words, *cut)], labels)


class Pieces(_ByWords):
    """Memories that have a word with one of the query's inside, or one or two letters off."""

    __slots__ = ()
    name = "lexical_pieces"

    def _matching(self, query: Query) -> tantivy.Query | None:
        words = _letters(query, PIECE)
        close = [
            tantivy.Query.fuzzy_term_query(self._index.schema, analysis.EXACT, word, min(MOST_EDITS, len(word) // AN_EDIT))
            for word in words
            if len(word) > PIECE + 1
        ]
        return _like(self._index, [f".*{word}.*" for word in words], close)


def _letters(query: Query, least: int) -> list[str]:
    """Return the query's terms of at least so many letters and digits, which need no quoting in a pattern."""
    return [term.whole for term in query.terms if term.whole.isalnum() and len(term.whole) >= least][:MOST_PATTERNS]


def _like(index: LexicalIndex, patterns: Sequence[str], others: Sequence[tantivy.Query] = ()) -> tantivy.Query | None:
    found = [tantivy.Query.regex_query(index.schema, analysis.EXACT, pattern) for pattern in patterns]
    should = [(tantivy.Occur.Should, query) for query in (*found, *others)]
    return tantivy.Query.boolean_query(should) if should else None


def search(index: LexicalIndex, words: tantivy.Query | None, wanted: Filter, depth: int) -> Ranked:
    """Return the best `depth` matches of `words` as (BM25 score, row number), best first; None matches nothing.

    Of `wanted`, audiences, statuses, namespaces, tags and since are applied here; expiry and paths are the store's to check.
    Raises IndexUnusable.
    """
    return index.search(_within(index, words, wanted), depth) if words is not None else []


def as_it_stands(index: LexicalIndex, term: Term) -> tantivy.Query:
    """Return a query for an identifier, path or version as it stands."""
    return tantivy.Query.term_query(index.schema, analysis.EXACT, term.whole)


def holders(index: LexicalIndex, term: Term) -> int:
    """Return how many memories of all projects have a term as it stands. Raises IndexUnusable."""
    return index.document_frequency(analysis.EXACT, term.whole)


def count(index: LexicalIndex, wanted: Filter) -> int:
    """Return how many memories of the index are searched. Raises IndexUnusable."""
    return index.count(scope(index, wanted))


def scope(index: LexicalIndex, wanted: Filter) -> tantivy.Query:
    """Return the query for all the memories that are wanted, as far as the index knows: not their paths."""
    clauses = [(tantivy.Occur.Must, _within(index, tantivy.Query.all_query(), wanted))]
    if not wanted.include_expired:
        expired = tantivy.Query.range_query(index.schema, "expires", tantivy.FieldType.Integer, upper_bound=now_ms())
        clauses.append((tantivy.Occur.MustNot, expired))
    return tantivy.Query.boolean_query(clauses)


def search_with_ties(index: LexicalIndex, words: tantivy.Query | None, wanted: Filter, depth: int) -> Ranked:
    """Return the best `depth` matches, and every match that scores the same as the last one.

    The order of insertion must not show at the cut.

    Of more than TIES times as many, the newest rows are left out: among 100,000 memories a common word has thousands, and
    to bring them all took 200 ms where all else takes 10.
    """
    hits = search(index, words, wanted, depth + 1)
    if len(hits) > depth and hits[depth][0] == hits[depth - 1][0]:
        hits = search(index, words, wanted, TIES * depth + 1)
    if len(hits) <= depth:
        return hits
    last = hits[depth - 1][0]
    return [hit for hit in hits[: TIES * depth] if hit[0] >= last]


def any_of(index: LexicalIndex, query: Query) -> tantivy.Query | None:
    """Return a query that one of the terms must match, function words may.

    None when no memory has any of the terms.
    """
    if query.any_of is None:
        terms = [part for term in query.terms if term.known for part in _term_queries(index, term)]
        if terms:
            words = tantivy.Query.boolean_query([(tantivy.Occur.Should, part) for part in terms])
            query.any_of = _joined(words, _extras(index, query))
    return query.any_of


def all_of(index: LexicalIndex, query: Query) -> tantivy.Query | None:
    """Return a query that every quoted phrase must match, or every term.

    None when some term is in no memory at all, or there are too many.
    """
    must = tantivy.Occur.Must
    phrases = [phrase for stems in query.phrases if (phrase := _phrase(index, stems, PHRASE_BOOST))]
    if query.phrases:
        terms = [part for term in query.terms if term.known for part in _term_queries(index, term)]
        words = tantivy.Query.boolean_query([(must, phrase) for phrase in phrases])
        return _joined(words, [*terms, *_extras(index, query)]) if len(phrases) == len(query.phrases) else None
    if not 0 < len(query.terms) <= MOST_TERMS or not all(term.known for term in query.terms):
        return None
    any_part = [[(tantivy.Occur.Should, part) for part in _term_queries(index, term)] for term in query.terms]
    words = tantivy.Query.boolean_query([(must, tantivy.Query.boolean_query(parts)) for parts in any_part])
    return _joined(words, _extras(index, query))


def asked_like(index: LexicalIndex, query: Query) -> tantivy.Query | None:
    """Return a query that one of a memory's questions must match, with any of the terms; the best of them gives the score.

    None when no question has any of the terms.
    """
    make, should = tantivy.Query, tantivy.Occur.Should
    worths = [(word, worth) for term in query.terms if term.known for word, worth in _asked_worths(index, term)]
    if not worths:
        return None
    return make.disjunction_max_query(
        [
            make.boolean_query(
                [(should, make.const_score_query(make.term_query(index.schema, field, word), worth)) for word, worth in worths]
            )
            for field in ASKED_AT[: index.most_questions]
        ]
    )


def _asked_worths(index: LexicalIndex, term: Term) -> list[tuple[str, float]]:
    """Return the words by which a question may have a term, each with what it is worth there."""
    boost = PART_BOOST if term.is_identifier and len(term.stems) > 1 else STEM_BOOST
    words = (term.whole,) if term.is_cjk else term.stems
    field = analysis.CJK if term.is_cjk else analysis.BODY
    return [(word, boost * _rarity(index, field, word)) for word in words if index.document_frequency(ASKED, word)]


def _rarity(index: LexicalIndex, field: str, word: str) -> float:
    """Return the rarity of a word; of one that only questions have, among them."""
    return index.rarity(field if index.document_frequency(field, word) else ASKED, word)


def _joined(words: tantivy.Query, extras: list[tantivy.Query]) -> tantivy.Query:
    """Return a query that `words` must match; the others only add to the score."""
    should = [(tantivy.Occur.Should, part) for part in extras]
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, words), *should])


def _extras(index: LexicalIndex, query: Query) -> list[tantivy.Query]:
    return [part for term in _glue(index, query) for part in _term_queries(index, term, GLUE_BOOST)]


def _glue(index: LexicalIndex, query: Query) -> list[Term]:
    """Return the function words of a query that tell one memory from another."""
    return [term for term in query.glue if term.known and not _is_everywhere(index, term)]


def _is_everywhere(index: LexicalIndex, term: Term) -> bool:
    """Return whether a function word is in so many of very many memories that it says less than it costs.

    Five of them took 36 of the 54 ms of a query among 1,000,000, and 3 of 6 among 100,000, where the 376 development queries
    find the same without them, .005 less without all that a twentieth of the memories have.
    """
    if index.documents <= VERY_MANY:
        return False
    return any(EVERYWHERE * index.document_frequency(analysis.BODY, stem) > index.documents for stem in term.stems)


def _within(index: LexicalIndex, words: tantivy.Query, wanted: Filter) -> tantivy.Query:
    must = tantivy.Occur.Must
    filters = [(must, _filter(index, name, values)) for name, values in _filters(wanted) if values]
    if wanted.since is not None:
        since = tantivy.Query.range_query(index.schema, "created", tantivy.FieldType.Integer, lower_bound=wanted.since)
        filters.append((must, tantivy.Query.const_score_query(since, 0.0)))
    return tantivy.Query.boolean_query([(must, words), *filters])


def full_score(index: LexicalIndex, query: Query) -> float:
    """Return the score of a memory of the usual length that has once each of the query's words.

    A word that no memory has counts less, for it may be a name for the same thing.
    """
    unknown = UNKNOWN_SHARE * index.rarity(analysis.BODY, "") * sum(not term.known for term in query.terms)
    terms = unknown + sum(_worth(index, term) for term in query.terms if term.known)
    return terms + GLUE_BOOST * sum(_worth(index, term) for term in _glue(index, query))


def _worth(index: LexicalIndex, term: Term) -> float:
    if term.is_cjk:
        return _rarity(index, analysis.CJK, term.whole)
    if term.is_identifier and term.is_whole_known:
        return WHOLE_BOOST * index.rarity(analysis.EXACT, term.whole)
    return _rarity(index, analysis.BODY, term.stems[0]) if term.stems else 0.0


def _term_queries(index: LexicalIndex, term: Term, boost: float = 1.0) -> list[tantivy.Query]:
    """Return the queries that a term may match, each scored."""
    if term.is_cjk:
        if len(term.whole) == 1:  # a single character begins a bigram or stands alone
            return [tantivy.Query.regex_query(index.schema, analysis.CJK, f"{term.whole}.?")]
        return [tantivy.Query.term_query(index.schema, analysis.CJK, term.whole)]
    found: list[tantivy.Query] = []
    is_whole = term.is_identifier and term.is_whole_known
    if is_whole:
        found += _scored(index, analysis.EXACT, term.whole, boost * WHOLE_BOOST)
    for stem in term.stems:
        if not (is_whole and stem == term.whole):
            found += _scored(index, analysis.BODY, stem, boost * (PART_BOOST if is_whole else STEM_BOOST))
    for stem, alone in term.labels.items():
        label = tantivy.Query.term_query(index.schema, LABELS, stem)
        found.append(tantivy.Query.boost_query(label, boost * max(LABEL_BOOST, alone)))
    if term.spelled_out and (phrase := _phrase(index, term.spelled_out, boost * ACRONYM_BOOST)):
        found.append(phrase)
    return found


def _scored(index: LexicalIndex, field: str, term: str, boost: float) -> list[tantivy.Query]:
    """Return the query for a term, scored half by BM25 and half by its rarity."""
    make = tantivy.Query.term_query(index.schema, field, term)
    flat = tantivy.Query.const_score_query(make, boost * FLAT * index.rarity(field, term))
    return [tantivy.Query.boost_query(make, boost * (1.0 - FLAT)), flat]


def _phrase(index: LexicalIndex, stems: tuple[str, ...], boost: float) -> tantivy.Query | None:
    """Return the query for stems in their order; None for no stems."""
    make = tantivy.Query
    if not stems:
        return None
    if len(stems) == 1:
        return make.boost_query(make.term_query(index.schema, analysis.BODY, stems[0]), boost)
    return make.boost_query(make.phrase_query(index.schema, analysis.BODY, [*stems]), boost)


def _filters(wanted: Filter) -> list[tuple[str, tuple[str, ...]]]:
    every_tag = [("tag", (tag.lower(),)) for tag in wanted.tags]
    named = [("audience", wanted.audiences or ()), ("status", wanted.statuses), ("namespace", wanted.namespaces)]
    return [*named, *every_tag]


def _filter(index: LexicalIndex, name: str, values: tuple[str, ...]) -> tantivy.Query:
    """Return the query for any of `values` in a field, without a say in the score."""
    make = tantivy.Query
    anyone = make.boolean_query([(tantivy.Occur.Should, make.term_query(index.schema, name, value)) for value in values])
    return make.const_score_query(anyone, 0.0)


def rarity_in_index(index: LexicalIndex) -> Callable[[str], float | None]:
    """Return a function that gives the rarity of a word in `index`.

    The rarity is 0.0 where every memory has the word, 1.0 where one has it, and None where none has.

    Of an identifier the rarest part counts. The function raises IndexUnusable.
    """
    everything = log(1.0 + index.documents / 0.5)

    def rarity(word: str) -> float | None:
        stems = index.analysers.body.analyze(analysis.spread(analysis.fold(word)))
        known = [stem for stem in stems if index.document_frequency(analysis.BODY, stem)]
        if not known:
            return None
        return min(1.0, max(index.rarity(analysis.BODY, stem) for stem in known) / everything)

    return rarity
