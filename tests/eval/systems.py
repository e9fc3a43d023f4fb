"""Recall as something to be measured: a system is the package's search with some of its numbers changed.

All that the harness asks of `subcog_hooks.recall` it asks here, in one process, without the terminal around it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Self
from unittest.mock import patch

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.recall import pipeline, relevance, words
from subcog_hooks.recall import query as terms_of_query
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall.candidates import HYBRID, PRIMARY, Candidates, Request, Sources, Strictness, gather_candidates
from subcog_hooks.recall.hits import LEXICAL, SEMANTIC, Answer
from subcog_hooks.recall.tuning import Tuning
from subcog_hooks.recall.vectors import SearchSpace
from subcog_hooks.settings.defaults import ADAPTIVE, PRESETS, RRF, WEIGHTED, Value
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of
from subcog_hooks.store.vector_store import VectorStore
from tests.eval.collection import Query
from tests.eval.homes import Encode

DEPTH = 10  # hits that are looked at
PATIENCE_MS = 600_000.0  # no result may depend on how busy the machine is
EXACT, RELAXED, NO_WORDS = Strictness(1.0, words.ExactWords), Strictness(1.0, words.Relaxed), Strictness(1.0)
FROZEN_MS = 1_795_219_200_000  # 2026-11-21, midnight UTC, after every memory: ages do not depend on the day of a measurement


@dataclass(frozen=True)
class System:
    """What is changed of the package's defaults.

    numbers: arguments of Tuning; is_typed: words that no memory has are taken for misspelt ones; strictness: how closely a
    memory has to match, None for the stages of `search`; constants: of `words` and `query`.
    """

    numbers: Mapping[str, Value] = field(default_factory=dict)
    mode: str = HYBRID
    by_labels: bool = True
    is_typed: bool = True
    strictness: Strictness | None = None
    constants: Mapping[str, float] = field(default_factory=dict)

    def tuning(self) -> Tuning:
        """The numbers in full."""
        return Tuning(**self.numbers)

    def identity(self) -> tuple[object, ...]:
        """The same for systems that do the same."""
        changed = {name: value for name, value in self.numbers.items() if value != default_of(name)}
        constants = sorted(self.constants.items())
        return (tuple(sorted(changed.items())), self.mode, self.by_labels, self.is_typed, id(self.strictness), tuple(constants))


DEFAULT = System()
PLAIN_RRF = System(  # reciprocal ranks of words and of meaning, equal shares, and nothing else
    {"mode": RRF, "alpha": 0.5, "rrf_k": 60, "agreement": 0.0, "tags": 0.0, "decay": 0.0, "mmr": 1.0, "near_duplicate": 1.0},
    by_labels=False,
)


def preset(name: str) -> System:
    """A preset of the setting `fusion.preset`."""
    return System({key.removeprefix("fusion."): value for key, value in PRESETS[name].items()})


def presets() -> list[str]:
    return list(PRESETS)


def default_of(name: str) -> Value:
    """What a number of Tuning, or a constant of `lexical` or `query`, is by default."""
    made = Tuning()
    if name == "mode":
        return WEIGHTED if made.is_weighted else RRF
    if name == "alpha":
        return ADAPTIVE if made.alpha is None else made.alpha
    found: Value = getattr(_module_of(name) if name.isupper() else made, name)
    return found


class Engine:
    """An open home and what gives queries their vectors.

    What the channels bring for a query is kept for all systems that leave the channels alone: most of a sweep.
    """

    def __init__(self, home: Home, encode: Encode, clock: Callable[[], int] = lambda: FROZEN_MS) -> None:
        """clock: what ages are measured against, `now_ms` for today."""
        self._store = Store.reader(home)
        self._index = LexicalIndex.open(home)
        self._vectors = VectorStore.reader(home, PACKAGED.name, PACKAGED.dimension)
        self._space = SearchSpace(self._vectors, encode)
        self._kept: dict[tuple[object, ...], Candidates] = {}
        self._kept_of = _channels(DEFAULT.tuning())
        self._now = clock

    def close(self) -> None:
        self._vectors.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def rankings(self, queries: Iterable[Query], system: System = DEFAULT) -> dict[str, list[str]]:
        """The ids found for each query, best first, as `subcog search` lists them."""
        nothing = dict.fromkeys(relevance.NAMES, 0.0)  # no order depends on relevance, which takes half of the time
        with (
            _as(system),
            patch.object(pipeline, "gather_candidates", self._remembered(system)),
            patch.object(relevance.AskedTerms, "found_in", lambda *_: nothing),
        ):
            answers = {query.id: self._answer(query, system) for query in queries}
        return {query: [hit.memory.id for hit in answer.hits] for query, answer in answers.items()}

    def explained(self, query: Query, system: System = DEFAULT) -> Answer:
        """The answer with everything that is known about it."""
        with _as(system):
            return self._answer(query, system)

    def latencies(self, queries: Iterable[Query], system: System = DEFAULT) -> list[float]:
        """Milliseconds that each query took; without embedding it when its vector is kept."""
        taken = []
        with _as(system):
            for query in queries:
                started = time.perf_counter()
                self._answer(query, system)
                taken.append((time.perf_counter() - started) * 1e3)
        return taken

    def _answer(self, query: Query, system: System) -> Answer:
        scope = Filter(audiences=audiences_of(query.project) if query.project else None)
        asked = Request(
            query.text,
            scope,
            mode=system.mode,
            is_typed=system.is_typed,
            by_labels=system.by_labels,
            strictness=system.strictness or PRIMARY,
        )
        search = recall_search.search_memories if system.strictness is None else recall_search.search_page
        with patch.object(recall_search, "now_ms", self._now):
            answer = search(asked, self._sources(system), Deadline(PATIENCE_MS), DEPTH)
        if answer.is_degraded:
            raise RuntimeError(f"{query.id}: {answer.note}")
        return answer

    def _sources(self, system: System) -> Sources:
        return Sources(self._index, self._store, self._space, system.tuning())

    def _remembered(self, system: System) -> Callable[[Request, Sources, Deadline, int], Candidates]:
        """`gather`, asked once for each request as long as neither the channels nor their words are changed."""

        def remembered(request: Request, sources: Sources, deadline: Deadline, deeper: int = 1) -> Candidates:
            if system.constants or request.strictness is not PRIMARY or _channels(sources.tuning) != self._kept_of:
                return gather_candidates(request, sources, deadline, deeper)
            key = (request.text, request.scope.audiences, request.mode, request.is_typed, request.by_labels, deeper)
            if key not in self._kept:
                self._kept[key] = gather_candidates(request, sources, deadline, deeper)
            return self._kept[key]

        return remembered


def _channels(numbers: Tuning) -> tuple[object, ...]:
    """The numbers that change what the channels bring."""
    asked = (numbers.alpha != 1.0, numbers.alpha != 0.0)
    return (*asked, numbers.min_similarity, numbers.lexical_depth, numbers.semantic_depth)


@contextmanager
def _as(system: System) -> Iterator[None]:
    """The modules `lexical` and `query` with the system's constants."""
    with ExitStack() as stack:
        for name, value in system.constants.items():
            stack.enter_context(patch.object(_module_of(name), name, value))
        yield


def _module_of(constant: str) -> ModuleType:
    return terms_of_query if hasattr(terms_of_query, constant) else words


def alone() -> dict[str, System]:
    """Each channel by itself, as a system."""
    return {
        "exact words": System(mode=LEXICAL, by_labels=False, strictness=EXACT),
        "relaxed words": System(mode=LEXICAL, by_labels=False, strictness=RELAXED),
        "meaning": System(mode=SEMANTIC, by_labels=False, strictness=PRIMARY),
        "labels": System(mode=LEXICAL, by_labels=False, strictness=NO_WORDS),
    }
