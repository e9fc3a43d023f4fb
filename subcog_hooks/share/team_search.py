"""Search on the team's server, for memories that no laptop holds: words and vectors fused in one statement.

The fusion is that of the local search, with the same weights: a share of the words' score, a share of the cosine, raised by as
much as both agree, lowered with age. The words' score is BM25's with each word counted once. What needs a memory's own row here
(tags, triggers, conditions, questions) does not count.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.recall.hits import AGREEMENT_DEPTH, LEXICAL, SEMANTIC
from subcog_hooks.share import server_documents
from subcog_hooks.share.server_schema import DIMENSION, MANY_VECTORS, quoted
from subcog_hooks.share.server_vectors import model_name, written
from subcog_hooks.text.languages import language_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from subcog_hooks.recall.tuning import Tuning
    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.store.memory import Memory

MOST_WITH_WORDS = 3_000  # memories that are looked at for their words: those with the rarest ones
SIGN_CANDIDATES = 1_600  # vectors of the nearest signs that are compared exactly, where all signs are scanned
AT_A_TIME = 1_000  # vectors that the graph gives, pgvector's maximum; since 0.8 it goes on where other projects' are too many
NEAR_KEPT = 300  # of these, for a closer look at their memories
MOST_QUERY_WORDS = 32  # of a query
WORDS_LENGTH_SHARE = 0.75  # b of BM25
WORDS_SATURATION = 1.2  # k1 of BM25
USUAL_LENGTH = 25.0  # different words of a memory

_LEXEMES = "SELECT lexeme, count, total FROM subcog.count_words(tsvector_to_array(to_tsvector(%s::regconfig, %s)))"
# a time as documents have it, NULL for anything else: a cast of what a colleague wrote would end the search of all
_TIME = (
    "CASE WHEN there.doc ->> '{field}' ~"
    " '^[1-9][0-9]{{3}}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){{2}}([.][0-9]{{1,9}})?Z$'"
    " THEN make_date(substr(there.doc ->> '{field}', 1, 4)::int, substr(there.doc ->> '{field}', 6, 2)::int, 1)"
    " + (substr(there.doc ->> '{field}', 9, 2)::int - 1) + rtrim(substr(there.doc ->> '{field}', 12), 'Z')::time END"
)
_KEPT = (
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
    ) / (1 + {WORDS_SATURATION} * (1 - {WORDS_LENGTH_SHARE} + {WORDS_LENGTH_SHARE} * length(held.words) / {USUAL_LENGTH}))
      * (1 + {WORDS_SATURATION}) AS score
    FROM (
      SELECT there.project, there.id, there.words FROM subcog.memories AS there
      WHERE there.words @@ %(any)s::tsquery AND {_KEPT} LIMIT {MOST_WITH_WORDS}
    ) AS held OFFSET 0  -- or the score would be worked out three times
  ) AS scored ORDER BY score DESC LIMIT %(lexical_depth)s
"""  # noqa: S608 - constants
_NO_WORDS = "SELECT NULL::text AS project, NULL::text AS id, 0::bigint AS rank, 0::float8 AS score WHERE false"
_OF_PROJECTS = "FROM subcog.vectors WHERE model = %(model)s AND project = ANY(%(projects)s)"
_NEAR_OF_ALL = f"""
  SELECT v.project, v.id, v.embedding {{schema}}.<=> %(vector)s::{{type}} AS distance
  FROM (
    SELECT project, id, part {_OF_PROJECTS}
    ORDER BY signs {{schema}}.<~> {{name}}.binary_quantize(%(vector)s::{{type}})::bit({DIMENSION}) LIMIT {SIGN_CANDIDATES}
  ) AS n JOIN subcog.vectors AS v USING (project, id, part) ORDER BY distance LIMIT {NEAR_KEPT}
"""  # noqa: S608 - constants
_NEAR_BY_GRAPH = f"""
  SELECT project, id, embedding::{{graph_type}} {{schema}}.<=> %(vector)s::{{graph_type}} AS distance
  {_OF_PROJECTS} ORDER BY distance LIMIT {NEAR_KEPT}
"""
_HOW_MANY = f"EXPLAIN (FORMAT JSON) SELECT 1 {_OF_PROJECTS}"
_COSINES = """
  SELECT DISTINCT ON (v.project, v.id) c.project, c.id, (
    SELECT (max(cosine) FILTER (WHERE part = 0) + max(cosine) FILTER (WHERE part > 0 OR parts = 1)) / 2 FROM (
      SELECT o.part, count(*) OVER () AS parts, 1 - (o.embedding {schema}.<=> %(vector)s::{type}) AS cosine
      FROM subcog.vectors AS o
      WHERE o.project = c.project AND o.id = c.id AND o.model = %(model)s AND o.content_hash = there.content_hash
    ) AS of_part
  ) AS cosine
  FROM (SELECT project, id FROM by_words UNION SELECT project, id FROM near) AS c
  JOIN subcog.memories AS there USING (project, id) JOIN subcog.vectors AS v USING (project, id)
  WHERE {kept}
"""
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


class TeamHit(NamedTuple):
    """A memory that the server has found, and how it got its place. What a channel has not found has no rank there."""

    memory: Memory
    author: str
    score: float
    contributions: dict[str, float]
    ranks: dict[str, int]
    scores: dict[str, float]
    agreement: float
    lift: float
    age: float


class TeamRequest:
    """A question to the server. vector: of the query, None to compare words alone; namespaces: () for all."""

    __slots__ = ("limit", "namespaces", "offset", "projects", "text", "vector")

    def __init__(
        self,
        text: str,
        projects: Sequence[str],
        vector: bytes | None,
        *,
        namespaces: Sequence[str] = (),
        limit: int = 10,
        offset: int = 0,
    ) -> None:
        self.text = text
        self.projects = list(projects)
        self.vector = vector
        self.namespaces = list(namespaces)
        self.limit = limit
        self.offset = offset


def search(
    connection: Connection, found: TeamTables, asked: TeamRequest, tuning: Tuning, alpha: float, now: int
) -> list[TeamHit]:
    """Return the server's hits, best first. alpha: the share of meaning where both are compared.

    Raises psycopg's errors.
    """
    vector = asked.vector if found.has_vectors else None
    words = _Words(connection, asked.text)
    values: dict[str, Any] = {
        "projects": asked.projects,
        "namespaces": asked.namespaces or None,
        "limit": asked.limit,
        "offset": asked.offset,
        "alpha": alpha if vector and words.any else 1.0 if vector else 0.0,
        "strategies": bool(vector) + bool(words.any),
        "vector": written(vector) if vector else None,
        "model": model_name(),
        "agreement": tuning.agreement,
        "decay": tuning.decay,
        "floor": tuning.floor,
        "min_similarity": tuning.min_similarity,
        "lexical_depth": tuning.lexical_depth,
        "semantic_depth": tuning.semantic_depth,
        **words.values(),
    }
    if not values["strategies"]:
        return []
    by_graph = found.has_graph and vector is not None and _how_many(connection, asked) > MANY_VECTORS
    sql = statement(found, by_words=bool(words.any), by_meaning=vector is not None, by_graph=by_graph)
    with connection.transaction():
        if by_graph:
            connection.execute(f"SET LOCAL hnsw.ef_search = {AT_A_TIME}")
            if found.scans_on:
                connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        connection.execute("SET LOCAL jit = off")  # half a second to compile what runs for a twentieth
        rows = connection.execute(sql.encode(), values).fetchall()
    hits = []
    for row in rows:
        try:
            hits.append(_hit(row, now))
        except InvalidMemory:  # a colleague's document that holds none
            continue
    return hits


def count_without_graph(connection: Connection, found: TeamTables, asked: TeamRequest) -> int:
    """Return about how many vectors a search compares one by one though a graph should find them, 0 where all is well."""
    if found.has_graph or not found.has_vectors or asked.vector is None:
        return 0
    count = _how_many(connection, asked)
    return count if count > MANY_VECTORS else 0


def _how_many(connection: Connection, asked: TeamRequest) -> int:
    """Return how many vectors the projects asked for have, as the server's planner has it."""
    row = connection.execute(_HOW_MANY, {"projects": asked.projects, "model": model_name()}).fetchone()
    assert row is not None
    return int(row[0][0]["Plan"]["Plan Rows"])


def statement(found: TeamTables, *, by_words: bool, by_meaning: bool, by_graph: bool) -> str:
    """Return the one statement that searches and fuses. by_graph: the nearest are looked for in the graph, not among all."""
    name = quoted(found.vector_schema)
    names = {"name": name, "type": found.vector_type, "graph_type": found.graph_type, "kept": _KEPT}
    near = _NEAR_BY_GRAPH if by_graph else _NEAR_OF_ALL

    def filled(part: str) -> str:
        for operator in ("<=>", "<~>"):
            part = part.replace(f"{{schema}}.{operator}", f"OPERATOR({name}.{operator})")
        return part.format(**names)

    return _FUSED.format(
        by_words=_BY_WORDS if by_words else _NO_WORDS,
        near=filled(near) if by_meaning else _NO_WORDS,
        cosines=filled(_COSINES) if by_meaning else _NO_COSINES,
        agreed=AGREEMENT_DEPTH,
        created=_TIME.format(field="created_at"),
    )


class _Words:
    """The words of a query with what each says; any: those by which memories are looked for, "" for none."""

    __slots__ = ("any", "full", "weights", "words")

    def __init__(self, connection: Connection, text: str) -> None:
        rows = connection.execute(_LEXEMES, (language_of(text) or "english", text)).fetchall()
        counted = sorted((count, lexeme, total) for lexeme, count, total in rows)[:MOST_QUERY_WORDS]
        self.words = [_as_query(lexeme) for _, lexeme, _ in counted]
        self.weights = [log(1 + (total - count + 0.5) / (count + 0.5)) for count, _, total in counted]
        self.full = sum(self.weights)
        chosen: list[str] = []
        together = 0.0
        for (count, _, _), word in zip(counted, self.words, strict=True):
            together += count
            if chosen and together > MOST_WITH_WORDS:
                break
            chosen.append(word)
        self.any = " | ".join(chosen)

    def values(self) -> dict[str, Any]:
        return {"any": self.any or None, "words": self.words, "weights": self.weights, "full": self.full or 1.0}


def _as_query(lexeme: str) -> str:
    """Return a lexeme as a tsquery of its own.

    >>> _as_query("o'reilly"), _as_query("a\\\\b")
    ("'o''reilly'", "'a\\\\\\\\b'")
    """
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def _hit(row: tuple[Any, ...], now: int) -> TeamHit:
    (
        project,
        id_,
        author,
        document,
        score,
        by_word,
        by_cosine,
        word_rank,
        word_score,
        meaning_rank,
        cosine,
        agreement,
        lift,
        age,
    ) = row
    arrived = server_documents.arriving(project, id_, author, server_documents.read(document), brings_cues=False, now=now)
    ranks = {name: rank for name, rank in ((LEXICAL, word_rank), (SEMANTIC, meaning_rank)) if rank is not None}
    scores = {name: known for name, known in ((LEXICAL, word_score), (SEMANTIC, cosine)) if known is not None}
    contributions = {name: amount for name, amount in ((LEXICAL, by_word), (SEMANTIC, by_cosine)) if amount}
    return TeamHit(
        arrived.memory, server_documents.shown_author(author), score, contributions, ranks, scores, agreement, lift, age
    )
