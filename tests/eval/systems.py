"""The package's search over an open home, in one process and without the terminal around it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self
from unittest.mock import patch

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.recall.vectors import SearchSpace
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter
from subcog_hooks.store.vector_store import VectorStore
from tests.eval.collection import Query
from tests.eval.homes import Encode

DEPTH = 10  # hits that are looked at
PATIENCE_MS = 600_000.0  # no result may depend on how busy the machine is
FROZEN_MS = 1_795_219_200_000  # 2026-11-21, midnight UTC, after every memory: ages do not depend on the day of a measurement


class Engine:
    """An open home and what gives queries their vectors."""

    def __init__(self, home: Home, encode: Encode) -> None:
        self._store = Store.reader(home)
        self._index = LexicalIndex.open(home)
        self._vectors = VectorStore.reader(home, PACKAGED.name, PACKAGED.dimension)
        self._space = SearchSpace(self._vectors, encode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._vectors.close()
        self._store.close()

    def rankings(self, queries: Iterable[Query]) -> dict[str, list[str]]:
        """The ids found for each query, best first, as `subcog search` lists them."""
        sources = Sources(self._index, self._store, self._space, Tuning())
        return {query.id: self._found(query, sources) for query in queries}

    def _found(self, query: Query, sources: Sources) -> list[str]:
        request = Request(query.text, Filter(), correct=recall_search.correct_words)
        with patch.object(recall_search, "now_ms", lambda: FROZEN_MS):
            answer = recall_search.search_memories(request, sources, Deadline(PATIENCE_MS), DEPTH)
        if answer.is_degraded:
            raise RuntimeError(f"{query.id}: {answer.note}")
        return [hit.memory.id for hit in answer.hits]
