"""The semantic channel: vectors near to the query, and the bar of chance."""

from __future__ import annotations

import _thread
import sys
from math import sqrt

from subcog_hooks.core.errors import SubcogError
from subcog_hooks.recall.hits import SEMANTIC
from subcog_hooks.store.store import Filter
from subcog_hooks.text.typed import is_latin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.channel import Ranked
    from subcog_hooks.recall.query import Query
    from subcog_hooks.store.store import Filter, Store
    from subcog_hooks.store.vector_store import VectorStore

    Encode = Callable[[str], bytes | None]  # a query to its (dimension,) int8 vector, None when it has no word

# after which a thread that wants the interpreter has it: while two are at work, and else (5 ms are a tenth of a prompt)
_BESIDE_SECONDS, _USUAL_SECONDS = 0.0002, sys.getswitchinterval()


class SearchSpace:
    """Where meaning is compared: the memories' vectors, and how a query gets its own in the same space."""

    __slots__ = ("_encode", "_last", "vectors")

    def __init__(self, vectors: VectorStore, encode: Encode) -> None:
        self.vectors = vectors
        self._encode = encode
        self._last: tuple[str, bytes | None] | None = None

    def encode(self, text: str) -> bytes | None:
        """Return the vector of a query.

        That of the last query is kept: a search asks for it again when it looks further.
        """
        if self._last is None or self._last[0] != text:
            self._last = text, self._encode(text)
        return self._last[1]


def in_latin(encode: Encode) -> Encode:
    """Return `encode` for texts that a model of English can read.

    What it can not read is `[UNK]` after `[UNK]` to it, and near to whatever else it can not read: a prompt in Japanese was
    given an unrelated memory, an emoji had a relevance of .99.
    """

    def encode_latin(text: str) -> bytes | None:
        return encode(text) if is_latin(text) else None

    return encode_latin


class Semantic:
    """Memories near to the query in one space, no farther than `least` (a cosine)."""

    __slots__ = ("_begun", "_least", "_space", "_store")
    name = SEMANTIC
    strategy = SEMANTIC
    is_floor = False

    def __init__(self, space: SearchSpace, store: Store, least: float) -> None:
        self._space = space
        self._store = store
        self._least = least
        self._begun: _Beside | None = None

    def begin(self, text: str, scope: Filter, k: int, deadline: Deadline) -> None:
        """Begin the `search` for a query that means this text, in a thread beside other work; what fails is told there.

        SQLite lets go of the interpreter while it reads, and so does tantivy: 1 ms of a prompt among 10,000 memories, 2 among
        100,000, 11 among a million. What was begun for another text is dropped. `end` must follow.
        """
        if self._begun is not None and self._begun.text == text:
            return
        self.end()
        if _is_narrow(scope):  # the store has to be asked, which other threads read
            return
        try:
            vector = self._space.encode(text)
        except SubcogError:
            return
        if vector:
            self._space.vectors.expire_at(deadline)
            self._begun = _Beside(text, lambda: self._near(vector, scope, k))

    def end(self) -> None:
        """Wait until nothing that was begun reads the vectors any more."""
        if self._begun is not None:
            self._begun.wait()
            self._begun = None
            self._space.vectors.expire_at(None)

    def search(self, query: Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
        """Search as `channel.Channel` says; a score is a cosine. Raises StoreError, ModelError.

        Audiences and statuses are filtered inside the scan; for a narrower filter the store says which memories are meant, and
        these are compared one by one.
        """
        begun = self._begun
        if begun is not None and begun.text == query.meant:
            near = begun.result()
        else:
            vector = self._space.encode(query.meant)
            if not vector:  # there is nothing to embed
                return []
            self._space.vectors.expire_at(deadline)
            try:
                near = self._near(vector, scope, k)
            finally:
                self._space.vectors.expire_at(None)
        return [hit for hit in near if hit[0] >= self._least]

    def nearest(self, text: str, scope: Filter) -> float | None:
        """Return the cosine of the memory that is nearest to a text, None without one. Raises StoreError, ModelError."""
        vector = self._space.encode(text)
        near = self._near(vector, scope, 1) if vector else []
        return near[0][0] if near else None

    def _near(self, vector: bytes, scope: Filter, k: int) -> Ranked:
        if _is_narrow(scope):
            found = self._space.vectors.cosines(vector, self._store.matching_seqs(scope))
            near = sorted(((cosine, seq) for seq, cosine in found.items()), key=lambda hit: (-hit[0], hit[1]))
            least = near[k - 1][0] if len(near) > k else -1.0
            return [hit for hit in near if hit[0] >= least]
        return self._space.vectors.nearest(vector, k, scope.audiences, scope.statuses)

    def question_cosines(self, query: Query, seq: int) -> dict[int, float]:
        """Return the cosines of a memory's questions, by their place from 0. Raises StoreError, ModelError."""
        vector = self._space.encode(query.meant)
        return self._space.vectors.question_cosines(vector, seq) if vector else {}

    def cosines(self, query: Query, seqs: Sequence[int]) -> dict[int, float]:
        """Return the cosines of these memories, by row number, of those that have one. Raises StoreError, ModelError."""
        vector = self._space.encode(query.meant)
        return self._space.vectors.cosines(vector, seqs) if vector else {}


class _Beside:
    """A search for a text in a thread of its own, whose result is waited for."""

    __slots__ = ("_ended", "_failure", "_found", "text")

    def __init__(self, text: str, work: Callable[[], Ranked]) -> None:
        self.text = text
        self._found: Ranked = []
        self._failure: BaseException | None = None
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        sys.setswitchinterval(_BESIDE_SECONDS)
        try:
            _thread.start_new_thread(self._run, (work,))
        except RuntimeError:  # the system has no thread to give
            self._run(work)

    def _run(self, work: Callable[[], Ranked]) -> None:
        try:
            self._found = work()
        except BaseException as failure:  # noqa: BLE001 - whoever waits is told
            self._failure = failure
        finally:
            self._ended.release()

    def wait(self) -> None:
        with self._ended:
            sys.setswitchinterval(_USUAL_SECONDS)

    def result(self) -> Ranked:
        self.wait()
        if self._failure is not None:
            raise self._failure
        return self._found


def _is_narrow(scope: Filter) -> bool:
    """Return whether the store has to say which memories a scope means."""
    return bool(scope.namespaces or scope.tags or scope.paths or scope.since is not None)


# Made-up words. Of other made-up words and of English ones that no memory had, 2 in 100 came over the bar below among 3,118
# memories, 4 in 100 among six; of 1,348 real questions 3 found nothing, all among six memories that had none of their words.
PROBES = (
    "vexuno dralit",
    "xqzvbrt",
    "plomkirat fenud",
    "wubaxi",
    "zhqorv kjtwyp",
    "mirtulon",
    "gavetok sibru",
    "qpfhzl",
    "tosmeduba",
    "yrkvnw dcxo",
    "belfarino",
    "hutigax ropel zuma",
)
SPREAD = 3.0  # standard deviations above their mean; 2.5, the first choice, let 10 in 100 pass on either half


def chance_bar(semantic: Semantic, scope: Filter) -> float:
    """Return the cosine that a text without meaning hardly reaches in a scope. Raises StoreError, ModelError."""
    nearest = [cosine for probe in PROBES if (cosine := semantic.nearest(probe, scope)) is not None]
    if not nearest:
        return -1.0
    mean = sum(nearest) / len(nearest)
    return round(mean + SPREAD * sqrt(sum([(cosine - mean) ** 2 for cosine in nearest]) / len(nearest)), 4)  # as hits have it
