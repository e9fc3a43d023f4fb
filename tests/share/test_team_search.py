"""The team's search on a real server: its hits, and the index that it uses."""

from __future__ import annotations

import time

import numpy as np
import pytest

from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.share import sending, server_connection, server_schema, team_search
from subcog_hooks.store.memory import now_ms
from tests.share.conftest import SHOP, Server

BANK = "github.com/acme/bank"
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

    def count_scans(self, index: str) -> int:
        """The scans of an index, once no closed connection reports more: the server hears of them a moment later."""
        before = -1
        while True:
            [(count,)] = self.run(f"SELECT idx_scan FROM pg_stat_all_indexes WHERE indexrelid = 'subcog.{index}'::regclass")
            assert isinstance(count, int)
            if count == before:
                return count
            before = count
            time.sleep(0.5)


@pytest.fixture(scope="module")
def filled_server(server: Server) -> Filled:
    if not server.has_vectors:
        pytest.skip("the server has no pgvector")
    return Filled(server)


def test_the_nearest_are_those_of_a_scan_of_all(filled_server: Filled) -> None:
    assert filled_server.left_out(SHOP, filled_server.made) <= 0.02
    assert filled_server.run("SELECT to_regclass('subcog.vectors_by_cosine')") == [(None,)]


def test_only_projects_with_many_vectors_need_the_graph(filled_server: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    few = about_topics(50, 1)
    filled_server.write(BANK, few)
    for module in (server_schema, team_search):
        monkeypatch.setattr(module, "MANY_VECTORS", MANY // 2)
    with server_connection.open_connection(filled_server.url) as owner:
        made = server_schema.plan_setup(owner, server_schema.read_tables(owner))
        assert len(made.steps) == 1
        assert made.steps[0].startswith(f"a graph of {MANY + len(few):,} vectors")
        server_schema.run_plan(owner, made)
        assert server_schema.plan_setup(owner, server_schema.read_tables(owner)).steps == []
    # Otherwise so small a table is read and sorted.
    filled_server.run(f"ALTER DATABASE {filled_server.database} SET enable_sort = off")
    assert filled_server.left_out(SHOP, filled_server.made) <= 0.02
    looked_for = filled_server.count_scans("vectors_by_cosine")
    assert looked_for
    assert filled_server.left_out(BANK, few) == 0
    assert filled_server.count_scans("vectors_by_cosine") == looked_for
