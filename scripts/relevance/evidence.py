"""Collect what the package's own recall knows of the candidates for a prompt, as rows to fit to. No fitting here.

A prompt whose answer is to be missing is asked as if the store had never had it: the channels do not bring it, and what else
they bring is measured against the rest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, Self
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static_encoder import StaticEncoder, encode_by_language
from subcog_hooks.intent import keywords
from subcog_hooks.recall import candidates, pipeline
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import ChannelResult, Eligibility, Hit
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audiences_of
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.text.typed_prompt import needs_of, query_text
from tests.eval.systems import FROZEN_MS, PATIENCE_MS

DEPTH = 10  # candidates of a prompt, best first by score
CHRONICLES = 1 / 3  # what a candidate of the corpus counts that is a chronicle: no heading stands over a line of a change log
INTENT = "intent"  # the evidence that comes from the prompt alone; recall leaves it to whoever read the intent

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Case(NamedTuple):
    """A prompt to one store. relevant: the ids that answer it, with is_missing as if they were not in the store.

    owner: whose it is; cases of one owner are fitted to or judged by, never both. source: which weight it has.
    """

    prompt: str
    relevant: frozenset[str]
    owner: str
    source: str
    is_missing: bool = False


class Rows:
    """Candidates of cases, each with the values of the evidence in the order of `names`."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.cases: list[Case] = []
        self._rows: list[tuple[int, int, bool, list[float]]] = []  # the case's place, the rank from 0, whether it answers

    def add(self, case: Case, hits: Sequence[Hit]) -> None:
        """Take in what was found for a case; not what lacks an evidence: where a query has no vector, meaning says nothing."""
        confidence = keywords.read_prompt(case.prompt).intent.confidence
        self.cases.append(case)
        for rank, hit in enumerate(hits):
            known = {name: value for name, value, _ in hit.terms} | {INTENT: confidence}
            if all(name in known for name in self.names):
                answers = not case.is_missing and hit.memory.id in case.relevant
                self._rows.append((len(self.cases) - 1, rank, answers, [known[name] for name in self.names]))

    def values(self) -> Floats:
        """Return the evidence of all rows, (rows, names)."""
        return np.array([values for *_, values in self._rows])

    def answers(self) -> Flags:
        return np.array([answers for _, _, answers, _ in self._rows])

    def ranks(self) -> NDArray[np.int64]:
        """Return each row's place among the candidates of its case, from 0."""
        return np.array([rank for _, rank, _, _ in self._rows])

    def owners(self) -> list[str]:
        return [self.cases[place].owner for place, *_ in self._rows]

    def sources(self) -> list[str]:
        return [self.cases[place].source for place, *_ in self._rows]

    def weights(self, by_source: Mapping[str, float]) -> Floats:
        """Return what each row counts, by its source."""
        of = np.array([by_source[source] for source in self.sources()])
        is_chronicle = np.array([source == "corpus" for source in self.sources()]) & (
            self.values()[:, self.names.index("chronicle")] > 0.0
        )
        return np.where(is_chronicle, of * CHRONICLES, of)


class Shelf:
    """An open home, which is asked as the hook asks."""

    def __init__(self, home: Home) -> None:
        self._stack = ExitStack()
        self._store = Store.reader(home)
        self._stack.callback(self._store.close)
        self._index = LexicalIndex.open(home)
        vectors = VectorStore.reader(home, PACKAGED.name, PACKAGED.dimension)
        self._stack.callback(vectors.close)
        self._space = recall_vectors.SearchSpace(vectors, encode_by_language(StaticEncoder.open().encode))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def holds(self, ids: Iterable[str]) -> bool:
        return bool(self._store.seqs_of(ids))

    def hits(self, case: Case, *, by_meaning: bool) -> list[Hit]:
        """Return the first DEPTH candidates by score, with their evidence. Raises RuntimeError when recall did too little."""
        hidden = frozenset(self._store.seqs_of(case.relevant)) if case.is_missing else frozenset()
        sources = Sources(self._index, self._store, self._space if by_meaning else None)
        with _without(hidden):
            answer = pipeline.recall_for_prompt(
                query_text(case.prompt), sources, Eligibility(audiences_of(), FROZEN_MS), Deadline(PATIENCE_MS)
            )
        if answer.is_degraded:
            raise RuntimeError(f"{case.prompt[:80]}: {answer.note}")
        return sorted(answer.hits, key=lambda hit: -hit.score)[:DEPTH]

    def hits_of_needs(self, prompt: str, projects: Sequence[str], hidden_ids: Iterable[str]) -> list[Hit]:
        """Return what the prompt hook would look at, by all needs of a prompt, as if the hidden memories were not in the store.

        Nothing for what nobody has typed.
        """
        reading = keywords.read_prompt(prompt)
        if reading.prompt is None:
            return []
        eligible = Eligibility(audiences_of(*projects), FROZEN_MS)
        with _without(frozenset(self._store.seqs_of(hidden_ids))):
            answer = pipeline.recall_for_parts(
                query_text(prompt, reading.prompt),
                needs_of(reading.prompt),
                Sources(self._index, self._store, self._space),
                eligible,
                Deadline(PATIENCE_MS),
            )
        if answer.is_degraded:
            raise RuntimeError(f"{prompt[:80]}: {answer.note}")
        return answer.hits


@contextmanager
def _without(seqs: frozenset[int]) -> Iterator[None]:
    """Let recall run as if the store did not have these memories, with a clock that stands."""
    run: Callable[..., ChannelResult] = candidates.run_channel

    def without(*arguments: Any) -> ChannelResult:  # Any: whatever a channel is asked
        found = run(*arguments)
        found.ranked = [(score, seq) for score, seq in found.ranked if seq not in seqs]
        return found

    with patch.object(candidates, "run_channel", without):
        yield
