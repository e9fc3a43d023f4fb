"""A shelf of memories for the tests of this folder: a real store, its index and, where meaning counts, its vectors.

Vectors come from the packaged encoder, or from a test's own cosines to every query.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static_encoder import StaticEncoder
from subcog_hooks.recall import pipeline
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import HYBRID, PRIMARY, Candidates, Request, Sources, Strictness, gather_candidates
from subcog_hooks.recall.exact import ExactMatches
from subcog_hooks.recall.fusion import Tuning
from subcog_hooks.recall.hits import Answer, Eligibility, Hit
from subcog_hooks.store import index_writer, vector_store
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of
from subcog_hooks.store.vector_store import VectorStore
from tests.conftest import make_memory

DIMENSION = 256
memory = make_memory
QUERY = bytes([127]) * DIMENSION  # where every query lies whose memories have chosen places
ENOUGH = Deadline(3_600_000.0)


class Held(Deadline):
    """A deadline that passes when a test says so."""

    __slots__ = ("has_passed",)

    def __init__(self, *, has_passed: bool = False) -> None:
        super().__init__(0.0)
        self.has_passed = has_passed

    def left_ms(self) -> float:
        return 0.0 if self.has_passed else 1_000.0

    def work_left_ms(self) -> float:
        return self.left_ms()

    def sooner(self, by_ms: float) -> Deadline:  # noqa: ARG002 - as Deadline has it
        return self

    def share(self, part: float) -> Deadline:  # noqa: ARG002 - as Deadline has it
        return self


def tuning_of(**numbers: object) -> Tuning:
    """A tuning with everything off that is not named, so that a test shows one thing at a time."""
    values: dict[str, object] = {"alpha": 0.6, "tags": 0.0, "agreement": 0.0, "decay": 0.0, "near_duplicate": 1.0}
    return Tuning(**{**values, "min_similarity": 0.25, **numbers})  # type: ignore[arg-type]  # a test's own numbers


class Shelf:
    """A store with its index and vectors, opened for recall."""

    def __init__(self, home: Home, store: Store) -> None:
        self.home = home
        self.store = store
        self._opened: list[VectorStore] = []

    def close(self) -> None:
        for vectors in self._opened:
            vectors.close()

    def add(self, texts: Mapping[str, str] | None = None, *memories: Memory, **same: object) -> None:
        """Store texts by id, each with the fields `same`, and memories as they are."""
        self.store.add([*(memory(text, id=name, **same) for name, text in (texts or {}).items()), *memories])

    def fill(self, count: int = 40) -> Self:
        """Store memories about nothing, so that words are rare. Return the shelf."""
        self.store.add([memory(f"Filler note number {i} about widgets and gadgets.", id=f"fill{i:03}") for i in range(count)])
        return self

    def index(self) -> LexicalIndex:
        return index_writer.index_in_memory(self.store)

    def by_words(self, **numbers: object) -> Sources:
        return Sources(self.index(), self.store, None, tuning_of(**numbers))

    def by_meaning_too(self, **numbers: object) -> Sources:
        """Sources with the packaged encoder, like the hook's."""
        space = PACKAGED
        encode = models.provisional_encoder(space)
        made_by = models.vector_makers(space)
        vectors = vector_store.open_following(self.home, self.store, space.name, space.dimension, encode, made_by=made_by)
        self._opened.append(vectors)
        return Sources(
            self.index(), self.store, recall_vectors.SearchSpace(vectors, StaticEncoder.open().encode), tuning_of(**numbers)
        )

    def with_cosines(self, cosines: Mapping[str, float], **numbers: object) -> Sources:
        """Sources with memories that have these cosines, by id, to every query; the others have no vector."""
        space = recall_vectors.SearchSpace(self.vectors_at(cosines), lambda _: QUERY)
        return Sources(self.index(), self.store, space, tuning_of(**numbers))

    def vectors_at(self, cosines: Mapping[str, float]) -> VectorStore:
        by_id = self.store.by_ids(list(cosines))
        vector_by_text = {by_id[name].content: _at(cosine, axis) for axis, (name, cosine) in enumerate(sorted(cosines.items()))}

        def encode(texts: Sequence[str]) -> list[bytes | None]:
            return [vector_by_text.get(text) for text in texts]

        made_by = ("chosen", "chosen")
        vectors = vector_store.open_following(self.home, self.store, "chosen", DIMENSION, encode, made_by=made_by)
        self._opened.append(vectors)
        return vectors


def _at(cosine: float, axis: int) -> bytes:
    """A vector of this cosine to QUERY, to .004: as many signs turned, other ones on each axis."""
    turned = round((1.0 - cosine) / 2.0 * DIMENSION)
    return bytes([129 if (column - 7 * axis) % DIMENSION < turned else 127 for column in range(DIMENSION)])


def find(
    sources: Sources,
    text: str,
    limit: int = 10,
    offset: int = 0,
    *,
    scope: Filter | None = None,
    mode: str = HYBRID,
    correct: Callable[..., None] | None = None,
    strictness: Strictness = PRIMARY,
    deadline: Deadline = ENOUGH,
) -> Answer:
    """One page of the hits of recall_search.search_page."""
    request = Request(text, scope or Filter(), mode=mode, correct=correct, strictness=strictness)
    return recall_search.search_page(request, sources, deadline, limit, offset)


def candidates_for(sources: Sources, text: str, deeper: int = 1, exact: ExactMatches | None = None) -> Candidates:
    """The candidates of all channels for a text, without an order."""
    return gather_candidates(Request(text, Filter(), further=exact.lists() if exact else ()), sources, ENOUGH, deeper)


def recall_for(
    sources: Sources,
    text: str,
    *projects: str,
    deadline: Deadline = ENOUGH,
    prompt: str | None = None,
    exact: ExactMatches | None = None,
    parts: Sequence[str] | None = None,
) -> Answer:
    """The hook's recall for a prompt. exact: the memories of triggers and conditions; parts: its sentences."""
    eligible = Eligibility(audiences_of(*projects), now_ms())
    if parts is not None:
        return pipeline.recall_for_parts(text, parts, sources, eligible, deadline, prompt=prompt, exact=exact)
    return pipeline.recall_for_prompt(text, sources, eligible, deadline, prompt=prompt, exact=exact)


def ids(of: Answer | Sequence[Hit]) -> list[str]:
    return [hit.memory.id for hit in (of.hits if isinstance(of, Answer) else of)]


def first(of: Answer) -> Hit:
    assert of.hits, "nothing was found"
    return of.hits[0]
