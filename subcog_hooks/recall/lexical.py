"""The lexical channel: a query's terms as one BM25 query over the index, ranked."""

import tantivy

from subcog_hooks.memory import analysis
from subcog_hooks.memory.index import LABELS, LexicalIndex
from subcog_hooks.memory.store import Filter
from subcog_hooks.recall.query import Query, Term

DEPTH = 100  # shallow lists cost recall (DESIGN 7.2), and of the exact ten nearest 98 % are among 100 by code (DESIGN 13)
MAX_DEPTH = 100_000

STEM_BOOST = 1.0
PART_BOOST = 0.5  # a part of an identifier that some memory has whole
WHOLE_BOOST = 1.5  # the identifier, path or version as it stands
GLUE_BOOST = 0.6  # a function word; chosen on one half of the development queries, .5 to .7 do as well
LABEL_BOOST = 0.6  # a tag or keyword


def search(index: LexicalIndex, query: Query, wanted: Filter, depth: int = DEPTH) -> list[tuple[float, int]]:
    """The best `depth` matches as (BM25 score, row number), best first.

    Of `wanted`, audiences, statuses, namespaces, tags and since are applied here; expiry and paths are the store's to check.
    Raises IndexUnusable.
    """
    return index.search(build(index, query, wanted), depth) if query.terms else []


def search_with_ties(index: LexicalIndex, query: Query, wanted: Filter, depth: int = DEPTH) -> list[tuple[float, int]]:
    """As `search`, and every match that scores the same as the last one: the order of insertion must not show at the cut."""
    while True:
        hits = search(index, query, wanted, depth + 1)
        if len(hits) <= depth or depth >= MAX_DEPTH:
            return hits
        last = hits[depth - 1][0]
        if hits[depth][0] < last:
            return hits[:depth]
        depth *= 4


def build(index: LexicalIndex, query: Query, wanted: Filter) -> tantivy.Query:
    """The query as tantivy runs it: one of the terms must match, function words may, every filter must."""
    should, must = tantivy.Occur.Should, tantivy.Occur.Must
    words = tantivy.Query.boolean_query([(should, part) for term in query.terms if term.known for part in _parts(index, term)])
    glue = [part for term in query.glue if term.known for part in _parts(index, term)]
    clauses = [(must, words), *((should, tantivy.Query.boost_query(part, GLUE_BOOST)) for part in glue)]
    filters = [(must, _filter(index, name, values)) for name, values in _filters(wanted) if values]
    if wanted.since is not None:
        since = tantivy.Query.range_query(index.schema, "created", tantivy.FieldType.Integer, lower_bound=wanted.since)
        filters.append((must, tantivy.Query.const_score_query(since, 0.0)))
    return tantivy.Query.boolean_query([*clauses, *filters])


def _parts(index: LexicalIndex, term: Term) -> list[tantivy.Query]:
    schema, make = index.schema, tantivy.Query
    if term.is_cjk:
        if len(term.whole) == 1:  # a single character begins a bigram or stands alone
            return [make.regex_query(schema, analysis.CJK, _quoted(term.whole) + ".?")]
        return [make.term_query(schema, analysis.CJK, term.whole)]
    queries = []
    if term.is_identifier and term.is_whole_known:
        queries.append(make.boost_query(make.term_query(schema, analysis.EXACT, term.whole), WHOLE_BOOST))
    for stem in term.stems:
        boost = PART_BOOST if term.is_identifier and term.is_whole_known else STEM_BOOST
        queries.append(make.boost_query(make.term_query(schema, analysis.BODY, stem), boost))
    labels = [make.term_query(schema, LABELS, stem) for stem in term.labels]
    return [*queries, *(make.boost_query(label, LABEL_BOOST) for label in labels)]


def _quoted(character: str) -> str:
    return character if character.isalnum() else "\\" + character


def _filters(wanted: Filter) -> list[tuple[str, tuple[str, ...]]]:
    every_tag = [("tag", (tag.lower(),)) for tag in wanted.tags]
    named = [("audience", wanted.audiences or ()), ("status", wanted.statuses), ("namespace", wanted.namespaces)]
    return [*named, *every_tag]


def _filter(index: LexicalIndex, name: str, values: tuple[str, ...]) -> tantivy.Query:
    """Any of `values` in a field, without a say in the score."""
    make = tantivy.Query
    anyone = make.boolean_query([(tantivy.Occur.Should, make.term_query(index.schema, name, value)) for value in values])
    return make.const_score_query(anyone, 0.0)
