"""The project's own ground truth: what recall finds of it today is what it has to find tomorrow.

The promise, Success@5 of .95, is for ten kinds of query: 130 queries. The eleventh kind, `vocabulary-gap`, is
14 queries written to share no content word with their memory, which nothing of this size solves: 5 are answered with the hook's
query vector, 7 with the neural one. They are no part of the promise. They have a floor of their own, and count in the figures
over all 144 queries, which are printed and bounded too.

A threshold lies just under what was measured; whoever raises a figure raises its threshold.
"""

from pathlib import Path

import pytest

from tests.eval import homes
from tests.eval.collection import VOCABULARY_GAP, Collection, ground_truth, rows
from tests.eval.homes import NEURAL, STATIC
from tests.eval.measures import Estimate, PerQuery, estimate, per_query
from tests.eval.systems import Engine

PROMISED = 0.95  # Success@5
OVERALL = {  # of all queries: by the hook's query vector, by the neural one
    "ndcg@10": {STATIC: 0.84, NEURAL: 0.86},
    "recall@10": {STATIC: 0.92, NEURAL: 0.94},
    "mrr@10": {STATIC: 0.83, NEURAL: 0.85},
    "success@5": {STATIC: 0.90, NEURAL: 0.91},
}
FLOORS = {  # Success@5 with either vector: of 12 to 14 queries each, at most one fewer than were answered
    "acronym": 0.92,
    "conceptual": 0.84,
    "definition": 0.92,
    "exact-quote": 0.92,
    "exploratory": 0.91,
    "identifier": 0.92,
    "paraphrase": 0.85,
    "tag-sensitive": 0.92,
    "technical-term": 0.92,
    "typo": 0.92,
}
GAP = {STATIC: 0.35, NEURAL: 0.49}  # Success@5
FIRST_HAS_TAGS = 9  # of 13 queries that name tags
LEAST_MEMORIES, LEAST_QUERIES = 250, 80


class Measured:
    """What one kind of query vector finds."""

    def __init__(self, kind: str, collection: Collection, engine: Engine) -> None:
        self.kind = kind
        self.collection = collection
        self.rankings = engine.rankings(collection.queries)
        judgements = {query.id: query.relevant for query in collection.queries}
        self.values: dict[str, PerQuery] = per_query(judgements, self.rankings)

    def success(self, stratum: str | None = None) -> Estimate:
        """Success@5 of one stratum; without one, of the ten that the promise is for."""
        values = self.values["success@5"]
        wanted = {stratum} if stratum else set(FLOORS)
        return estimate([values[query.id] for query in self.collection.queries if query.stratum in wanted])

    def failures(self) -> str:
        """What success@5 has missed, one query a line."""
        return "\n".join(
            f"{query.id} ({query.stratum}) {query.text!r}: expected {', '.join(sorted(query.relevant))}, "
            f"got {', '.join(self.rankings[query.id][:5]) or 'nothing'}"
            for query in self.collection.queries
            if not self.values["success@5"][query.id]
        )


@pytest.fixture(scope="module", params=[STATIC, NEURAL])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def measured(kind: str, kept: Path) -> Measured:
    with Engine(homes.home_of(ground_truth().memories, kept), homes.encoder(kind)) as engine:
        return Measured(kind, ground_truth(), engine)


def test_nineteen_of_twenty_queries_of_ten_kinds_are_answered(measured: Measured, kind: str) -> None:
    found = measured.success()
    print(f"{kind} query, Success@5 of ten strata, {found.queries} queries: {found}")
    assert found.mean >= PROMISED, f"Success@5 {found}\n{measured.failures()}"


def test_queries_without_shared_words_are_answered_as_before(measured: Measured, kind: str) -> None:
    found = measured.success(VOCABULARY_GAP)
    print(f"{kind} query, Success@5 of {VOCABULARY_GAP}, {found.queries} queries beyond the promise: {found}")
    assert found.mean >= GAP[kind], f"Success@5 {found}\n{measured.failures()}"


@pytest.mark.parametrize("measure", OVERALL)
def test_recall_is_as_good_as_it_was(measured: Measured, kind: str, measure: str) -> None:
    found = estimate(list(measured.values[measure].values()))
    print(f"{kind} query, {measure} of all {found.queries} queries: {found}")
    assert found.mean >= OVERALL[measure][kind], f"{measure} {found}\n{measured.failures()}"


def test_no_kind_of_query_is_left_behind(measured: Measured, subtests: pytest.Subtests) -> None:
    for stratum, floor in FLOORS.items():
        with subtests.test(stratum=stratum):
            found = measured.success(stratum)
            print(f"{measured.kind} query, Success@5 of {stratum}: {found}")
            assert found.mean >= floor, f"success@5 of {stratum}: {found}\n{measured.failures()}"


def test_the_first_result_has_the_tags_that_a_query_names(measured: Measured) -> None:
    tags_by_id = {row["id"]: set(row["tags"]) for row in rows(measured.collection.memories)}
    naming = [query for query in measured.collection.queries if query.expected_tags]
    right = [query for query in naming if query.expected_tags <= tags_by_id[measured.rankings[query.id][0]]]
    print(f"{measured.kind} query, the first result has the tags: {len(right)} of {len(naming)}")
    assert len(right) >= FIRST_HAS_TAGS, [query.text for query in naming if query not in right]


def test_the_ground_truth_is_large_and_names_its_own_memories() -> None:
    collection = ground_truth()
    ids = {row["id"] for row in rows(collection.memories)}
    assert len(ids) >= LEAST_MEMORIES
    assert len(collection.queries) >= LEAST_QUERIES
    assert {query.stratum for query in collection.queries} == {*FLOORS, VOCABULARY_GAP}
    assert all(query.relevant and query.relevant <= ids for query in collection.queries)
    tags_by_id = {row["id"]: set(row["tags"]) for row in rows(collection.memories)}
    assert all(query.expected_tags <= tags_by_id[id_] for query in collection.queries for id_ in query.relevant)
    assert all(bool(query.expected_tags) == (query.stratum == "tag-sensitive") for query in collection.queries)
