"""Search on the team's server, for memories that no laptop holds: words and vectors fused in one statement.

The fusion is the local search's, with the same weights: a share of the words' score, a share of the cosine, raised where
both agree, lowered with age. The words' score is BM25's with each word counted once. Fields that only the local rows have
(tags, triggers, conditions, questions) do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import log
from typing import NamedTuple

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.recall.hits import AGREEMENT_DEPTH, HIGH, LEXICAL, LOW, SEMANTIC, VERY_HIGH
from subcog_hooks.share import server_documents
from subcog_hooks.share.sending import model_name
from subcog_hooks.share.server_schema import DIMENSION, quote_name
from subcog_hooks.text.languages import language_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from subcog_hooks.recall.fusion import Tuning
    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.store.memory import Memory

MAX_WITH_WORDS = 3_000  # memories that are scored by their words; the rarest words choose them
SIGN_CANDIDATES = 1_600  # vectors of the nearest signs that are compared exactly
MAX_NEAR = 300  # vectors whose memories are read
MAX_QUERY_WORDS = 32  # words
BM25_B = 0.75
BM25_K1 = 1.2
USUAL_WORDS = 25.0  # different words of a memory

_LEXEMES = "SELECT lexeme, count, total FROM subcog.count_words(tsvector_to_array(to_tsvector(%s::regconfig, %s)))"
# A time in the documents' format, NULL for anything else: a cast of a colleague's odd text would end everybody's search.
_TIME = (
    "CASE WHEN there.doc ->> '{field}' ~"
    " '^[1-9][0-9]{{3}}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){{2}}([.][0-9]{{1,9}})?Z$'"
    " THEN make_date(substr(there.doc ->> '{field}', 1, 4)::int, substr(there.doc ->> '{field}', 6, 2)::int, 1)"
    " + (substr(there.doc ->> '{field}', 9, 2)::int - 1) + rtrim(substr(there.doc ->> '{field}', 12), 'Z')::time END"
)
_UNDATED = "there.doc -> 'created_at' = 'null'::jsonb"  # An undated memory counts as the oldest.
_CREATED = f"CASE WHEN {_UNDATED} THEN 'epoch'::timestamp ELSE {_TIME.format(field='created_at')} END"
_SEARCHABLE = (
    "there.status = 'active' AND there.doc IS NOT NULL AND there.project = ANY(%(projects)s)"
    " AND (%(namespaces)s::text[] IS NULL OR there.namespace = ANY(%(namespaces)s))"
    f" AND coalesce({_TIME.format(field='expires_at')} > now() AT TIME ZONE 'UTC', true)"
)
_BY_WORDS = f"""
  SELECT project, id, rank() OVER (ORDER BY score DESC) AS rank, score / greatest(%(full)s, max(score) OVER ()) AS score
  FROM (
    SELECT project, id, (
      SELECT sum(weight) FROM unnest(%(words)s::tsquery[], %(weights)s::float8[]) AS asked (word, weight)
      WHERE held.words @@ word
    ) / (1 + {BM25_K1} * (1 - {BM25_B} + {BM25_B} * length(held.words) / {USUAL_WORDS}))
      * (1 + {BM25_K1}) AS score
    FROM (
      SELECT there.project, there.id, there.words FROM subcog.memories AS there
      WHERE there.words @@ %(any)s::tsquery AND {_SEARCHABLE} LIMIT {MAX_WITH_WORDS}
    ) AS held OFFSET 0  -- or the score would be worked out three times
  ) AS scored ORDER BY score DESC LIMIT %(lexical_depth)s
"""  # noqa: S608 - constants
_NEAR = f"""
  SELECT v.project, v.id, v.embedding OPERATOR({{name}}.<=>) %(vector)s::{{type}} AS distance
  FROM (
    SELECT project, id, part FROM subcog.vectors WHERE model = %(model)s AND project = ANY(%(projects)s)
    ORDER BY signs OPERATOR({{name}}.<~>) {{name}}.binary_quantize(%(vector)s::{{type}})::bit({DIMENSION})
    LIMIT {SIGN_CANDIDATES}
  ) AS n JOIN subcog.vectors AS v USING (project, id, part) ORDER BY distance LIMIT {MAX_NEAR}
"""  # noqa: S608 - constants
_COSINES = """
  SELECT DISTINCT ON (v.project, v.id) c.project, c.id, (
    SELECT (max(cosine) FILTER (WHERE part = 0) + max(cosine) FILTER (WHERE part > 0 OR parts = 1)) / 2 FROM (
      SELECT o.part, count(*) OVER () AS parts, 1 - (o.embedding OPERATOR({name}.<=>) %(vector)s::{type}) AS cosine
      FROM subcog.vectors AS o
      WHERE o.project = c.project AND o.id = c.id AND o.model = %(model)s AND o.content_hash = there.content_hash
    ) AS of_part
  ) AS cosine
  FROM (SELECT project, id FROM by_words UNION SELECT project, id FROM near) AS c
  JOIN subcog.memories AS there USING (project, id) JOIN subcog.vectors AS v USING (project, id)
  WHERE {kept}
"""
_NO_NEAR = "SELECT NULL::text AS project, NULL::text AS id WHERE false"
_NO_COSINES = "SELECT NULL::text AS project, NULL::text AS id, 0::float8 AS cosine WHERE false"
_FUSED = """
WITH by_words AS MATERIALIZED ({by_words}),
near AS MATERIALIZED ({near}),
cosines AS MATERIALIZED ({cosines}),
by_meaning AS MATERIALIZED (
  SELECT project, id, cosine, rank() OVER (ORDER BY cosine DESC) AS rank FROM cosines WHERE cosine >= %(min_similarity)s
  ORDER BY cosine DESC LIMIT %(semantic_depth)s
),
together AS (  -- grouped, since three joins by text would compare each with each
  SELECT project, id, max(word_rank) AS word_rank, max(word_score) AS word_score, max(meaning_rank) AS meaning_rank,
    max(cosine) AS cosine
  FROM (
    SELECT project, id, rank AS word_rank, score AS word_score, NULL::bigint AS meaning_rank, NULL::float8 AS cosine
    FROM by_words
    UNION ALL SELECT project, id, NULL, NULL, rank, NULL FROM by_meaning
    UNION ALL SELECT project, id, NULL, NULL, NULL, cosine FROM cosines
  ) AS of_list
  GROUP BY project, id HAVING max(word_rank) IS NOT NULL OR max(meaning_rank) IS NOT NULL
),
fused AS (
  SELECT together.*,
    (1 - %(alpha)s) * coalesce(word_score, 0) AS by_word, %(alpha)s * greatest(0, coalesce(cosine, 0)) AS by_cosine,
    (CASE WHEN word_rank <= {agreed} THEN 1 ELSE 0 END + CASE WHEN meaning_rank <= {agreed} THEN 1 ELSE 0 END)
      / %(strategies)s::float8 AS agreement
  FROM together
),
aged AS (
  SELECT fused.*, there.author, there.doc, least({created}, now() AT TIME ZONE 'UTC') AS made_at,
    1 + %(agreement)s * CASE WHEN %(strategies)s > 1 THEN agreement ELSE 0 END AS lift,
    CASE WHEN %(decay)s > 0 THEN %(floor)s + (1 - %(floor)s) * exp(-%(decay)s * greatest(0, floor(
      coalesce(extract(epoch FROM now() AT TIME ZONE 'UTC' - {created}), 0) / 86400))) ELSE 1 END AS age
  FROM fused JOIN subcog.memories AS there USING (project, id)
)
SELECT project, id, author, doc::text, round(((by_word + by_cosine) * lift * age)::numeric, 9)::float8 AS score,
  by_word, by_cosine, word_rank, word_score, meaning_rank, cosine, agreement, lift, age
FROM aged ORDER BY score DESC, made_at DESC, id LIMIT %(limit)s OFFSET %(offset)s
"""


def vector_literal(vector: bytes) -> str:
    """Return an int8 vector as a literal of pgvector.

    >>> vector_literal(bytes([1, 0, 255]))
    '[1,0,-1]'
    """
    return f"[{','.join(map(str, memoryview(vector).cast('b')))}]"


class TeamHit(NamedTuple):
    """A memory that the server found, with the parts of its score. A channel that did not find it has no rank."""

    memory: Memory
    author: str
    score: float
    contributions: dict[str, float]
    ranks: dict[str, int]
    scores: dict[str, float]
    agreement: float
    lift: float
    age: float

    @property
    def label(self) -> str:
        """The confidence by the number of channels that rank the memory high; relevance is not computed there."""
        return LOW if len(self.ranks) < 2 else VERY_HIGH if self.agreement == 1.0 else HIGH


@dataclass(frozen=True, slots=True)
class TeamRequest:
    """A search on the server. vector: of the query, None to compare words alone; namespaces: () for all."""

    text: str
    projects: Sequence[str]
    vector: bytes | None
    namespaces: Sequence[str] = ()
    limit: int = 10
    offset: int = 0


def search_server(
    connection: Connection, tables: TeamTables, request: TeamRequest, tuning: Tuning, alpha: float, now_ms: int
) -> list[TeamHit]:
    """Return the server's hits, best first. alpha: the share of meaning where both are compared. Raises psycopg's errors."""
    vector = request.vector if tables.has_vectors else None
    words = _weigh_words(connection, request.text)
    weights = ("agreement", "decay", "floor", "min_similarity", "lexical_depth", "semantic_depth")
    values: dict[str, Any] = {
        "projects": list(request.projects),
        "namespaces": list(request.namespaces) or None,
        "limit": request.limit,
        "offset": request.offset,
        "alpha": alpha if vector and words["any"] else 1.0 if vector else 0.0,
        "strategies": bool(vector) + bool(words["any"]),
        "vector": vector_literal(vector) if vector else None,
        "model": model_name(),
        **{name: getattr(tuning, name) for name in weights},
        **words,
    }
    if not values["strategies"]:
        return []
    sql = build_statement(tables, by_meaning=vector is not None)
    with connection.transaction():
        connection.execute("SET LOCAL jit = off")  # Compiling takes half a second, the query a twentieth.
        rows = connection.execute(sql.encode(), values).fetchall()
    hits = []
    for row in rows:
        try:
            hits.append(_team_hit(row, now_ms))
        except InvalidMemory:  # The colleague's document holds no memory.
            continue
    return hits


def build_statement(tables: TeamTables, *, by_meaning: bool) -> str:
    """Return the statement that searches and fuses. It finds nothing by words where `any` is NULL."""
    names = {"name": quote_name(tables.vector_schema), "type": tables.vector_type, "kept": _SEARCHABLE}
    return _FUSED.format(
        by_words=_BY_WORDS,
        near=_NEAR.format(**names) if by_meaning else _NO_NEAR,
        cosines=_COSINES.format(**names) if by_meaning else _NO_COSINES,
        agreed=AGREEMENT_DEPTH,
        created=_CREATED,
    )


def _weigh_words(connection: Connection, text: str) -> dict[str, Any]:
    """Return the statement's values for the words of a query. any: a tsquery of the words that choose candidates, or None."""
    rows = connection.execute(_LEXEMES, (language_of(text) or "english", text)).fetchall()
    counted = sorted((count, lexeme, total) for lexeme, count, total in rows)[:MAX_QUERY_WORDS]
    words = [_lexeme_query(lexeme) for _, lexeme, _ in counted]
    weights = [log(1 + (total - count + 0.5) / (count + 0.5)) for count, _, total in counted]
    sums = accumulate(count for count, *_ in counted)  # at least the rarest word chooses
    chosen = [
        word for number, (word, total) in enumerate(zip(words, sums, strict=True)) if not number or total <= MAX_WITH_WORDS
    ]
    return {"any": " | ".join(chosen) or None, "words": words, "weights": weights, "full": sum(weights) or 1.0}


def _lexeme_query(lexeme: str) -> str:
    """Quote a lexeme as a tsquery.

    >>> _lexeme_query("o'reilly"), _lexeme_query("a\\\\b")
    ("'o''reilly'", "'a\\\\\\\\b'")
    """
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def _team_hit(row: tuple[Any, ...], now_ms: int) -> TeamHit:
    project, id_, author, document, score, by_word, by_cosine, word_rank, word_score, meaning_rank, cosine, *factors = row
    fields = server_documents.read_document(document)
    arrived = server_documents.memory_from_document(project, id_, author, fields, brings_cues=False, now_ms=now_ms)
    ranks = {name: rank for name, rank in ((LEXICAL, word_rank), (SEMANTIC, meaning_rank)) if rank is not None}
    scores = {name: value for name, value in ((LEXICAL, word_score), (SEMANTIC, cosine)) if value is not None}
    contributions = {name: amount for name, amount in ((LEXICAL, by_word), (SEMANTIC, by_cosine)) if amount}
    return TeamHit(arrived.memory, server_documents.shown_author(author), score, contributions, ranks, scores, *factors)
