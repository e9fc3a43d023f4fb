"""The team's search on a real server: its hits, and the index that it uses."""

from __future__ import annotations

import numpy as np
import pytest

from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.share import sending, server_connection, server_schema, team_search
from subcog_hooks.store.memory import now_ms
from tests.share.conftest import SHOP, Server

MANY = 2_400  # vectors of the shop: more than are compared exactly
TEN = 10


def about_topics(count: int, topics: int) -> np.ndarray:
    """Return vectors that are near to one topic each, (count, dimension) int8."""
    drawn = np.random.default_rng(count)
    middles = drawn.normal(0, 30, (topics, PACKAGED.dimension))
    made = middles[drawn.integers(0, topics, count)] + drawn.normal(0, 30, (count, PACKAGED.dimension))
    return np.clip(np.rint(made), -127, 127).astype(np.int8)


class Filled:
    """A database with memories that have vectors and no words in common. made: (MANY, dimension) int8, the shop's."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.database = server.new_database("team_template")
        self.made = about_topics(MANY, 60)
        self.write(SHOP, self.made)

    @property
    def url(self) -> str:
        return self.server.url(database=self.database)

    def write(self, project: str, made: np.ndarray) -> None:
        with server_connection.open_connection(self.url) as opened, opened.cursor() as cursor:
            with cursor.copy("COPY subcog.memories (project, id, doc, content_hash) FROM STDIN") as copy:
                for number in range(len(made)):
                    document = f'{{"content": "note {number}", "created_at": "2026-03-02T10:00:00Z"}}'
                    copy.write_row((project, f"m{number}", document, "same"))
            model = sending.model_name()
            with cursor.copy("COPY subcog.vectors (project, id, part, model, content_hash, embedding) FROM STDIN") as copy:
                for number, vector in enumerate(made):
                    literal = team_search.vector_literal(vector.tobytes())
                    copy.write_row((project, f"m{number}", 0, model, "same", literal))
            opened.execute("ANALYZE subcog.vectors")

    def run(self, sql: str) -> list[tuple[object, ...]]:
        return self.server.run(sql, self.database)

    def search_ids(self, project: str, vector: np.ndarray) -> list[str]:
        with server_connection.open_connection(self.url) as opened:
            asked = team_search.TeamRequest("", [project], vector.tobytes())
            hits = team_search.search_server(opened, server_schema.require_tables(opened), asked, Tuning(), 1.0, now_ms())
        assert {hit.memory.project for hit in hits} <= {project}
        return [hit.memory.id for hit in hits]

    def left_out(self, project: str, made: np.ndarray) -> float:
        """Return the share of the nearest ten that a search misses, over queries between two vectors."""
        lengths = np.linalg.norm(made.astype(np.float32), axis=1)
        missed = 0
        for number in range(0, 40, 2):
            query = ((made[number].astype(int) + made[number + 1]) // 2).astype(np.int8)
            nearest = np.argsort(-(made.astype(np.float32) @ query.astype(np.float32)) / lengths)[:TEN]
            missed += len({f"m{index}" for index in nearest} - set(self.search_ids(project, query)))
        return missed / (20 * TEN)


@pytest.fixture(scope="module")
def filled_server(server: Server) -> Filled:
    if not server.has_vectors:
        pytest.skip("the server has no pgvector")
    return Filled(server)


def test_the_nearest_are_those_of_a_scan_of_all(filled_server: Filled) -> None:
    assert filled_server.left_out(SHOP, filled_server.made) <= 0.02
    assert filled_server.run("SELECT to_regclass('subcog.vectors_by_cosine')") == [(None,)]
