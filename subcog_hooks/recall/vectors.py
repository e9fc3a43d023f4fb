"""The semantic channel: vectors near to the query."""

from __future__ import annotations

import _thread
import sys

from subcog_hooks.core.errors import SubcogError
from subcog_hooks.recall.hits import SEMANTIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.recall.hits import Ranked
    from subcog_hooks.recall.query import Query
    from subcog_hooks.store.store_reader import Filter, StoreReader
    from subcog_hooks.store.vector_reader import VectorReader

    Encode = Callable[[str], bytes | None]  # a query to its (dimension,) int8 vector, None without a word

# The time until a waiting thread gets the interpreter: while two are at work, and otherwise. 5 ms are a tenth of a prompt.
_BESIDE_SECONDS, _USUAL_SECONDS = 0.0002, sys.getswitchinterval()


class SearchSpace:
    """The memories' vectors and the encoder of queries for the same space."""

    def __init__(self, vectors: VectorReader, encode: Encode) -> None:
        self.vectors = vectors
        self._encode = encode
        self._last: tuple[str, bytes | None] | None = None

    def encode(self, text: str) -> bytes | None:
        """Return the vector of a query.

        The last query's vector is cached: a search asks for it again when it searches further.
        """
        if self._last is None or self._last[0] != text:
            self._last = text, self._encode(text)
        return self._last[1]


FOREIGN_NEARNESS = 0.5  # the share of the lowest cosine for a query in another language: its vectors lie further away


class Semantic:
    """Memories near to the query in one space, with a cosine of at least `min_cosine`."""

    name = SEMANTIC
    strategy = SEMANTIC
    is_floor = False

    def __init__(self, space: SearchSpace, store: StoreReader, min_cosine: float) -> None:
        self._space = space
        self._store = store
        self._min_cosine = min_cosine
        self._background: _BackgroundSearch | None = None

    def begin(self, text: str, scope: Filter, k: int, deadline: Deadline) -> None:
        """Begin the `search` for a query of this text in a thread beside other work. `search` raises its errors.

        SQLite releases the interpreter while it reads, and so does tantivy. That saves 1 ms of a prompt among 10,000 memories,
        2 among 100,000. A search for another text is dropped. `end` must follow.
        """
        if self._background is not None and self._background.text == text:
            return
        self.end()
        if _is_narrow(scope):  # it needs the store, which other threads read
            return
        try:
            vector = self._space.encode(text)
        except SubcogError:
            return
        if vector:
            self._space.vectors.expire_at(deadline)
            self._background = _BackgroundSearch(text, lambda: self._near(vector, scope, k))

    def end(self) -> None:
        """Wait until no search in the background reads the vectors."""
        if self._background is not None:
            self._background.wait()
            self._background = None
            self._space.vectors.expire_at(None)

    def search(self, query: Query, scope: Filter, k: int, deadline: Deadline) -> Ranked:
        """Search as `candidates.Channel` does; a score is a cosine. Raises StoreError, ModelError.

        Audiences and statuses are filtered inside the scan. For a narrower filter the store lists the memories, which are
        compared one by one.
        """
        background = self._background
        if background is not None and background.text == query.meant:
            hits = background.result()
        else:
            self.end()  # A connection serves one thread at a time.
            vector = self._space.encode(query.meant)
            if not vector:
                return []
            self._space.vectors.expire_at(deadline)
            try:
                hits = self._near(vector, scope, k)
            finally:
                self._space.vectors.expire_at(None)
        min_cosine = self._min_cosine * FOREIGN_NEARNESS if query.is_foreign else self._min_cosine
        return [hit for hit in hits if hit[0] >= min_cosine]

    def nearest(self, text: str, scope: Filter) -> float | None:
        """Return the cosine of the nearest memory to a text, None without one. Raises StoreError, ModelError."""
        vector = self._space.encode(text)
        hits = self._near(vector, scope, 1) if vector else []
        return hits[0][0] if hits else None

    def _near(self, vector: bytes, scope: Filter, k: int) -> Ranked:
        if _is_narrow(scope):
            cosines = self._space.vectors.cosines(vector, self._store.matching_seqs(scope))
            hits = sorted(((cosine, seq) for seq, cosine in cosines.items()), key=lambda hit: (-hit[0], hit[1]))
            last_cosine = hits[k - 1][0] if len(hits) > k else -1.0
            return [hit for hit in hits if hit[0] >= last_cosine]
        return self._space.vectors.nearest(vector, k, scope.audiences, scope.statuses)

    def question_cosines(self, query: Query, seq: int) -> dict[int, float]:
        """Return the cosines of a memory's questions, by position from 0. Raises StoreError, ModelError."""
        vector = self._space.encode(query.meant)
        return self._space.vectors.question_cosines(vector, seq) if vector else {}

    def cosines(self, query: Query, seqs: Sequence[int]) -> dict[int, float]:
        """Return the known cosines of these memories, by row number. Raises StoreError, ModelError."""
        vector = self._space.encode(query.meant)
        return self._space.vectors.cosines(vector, seqs) if vector else {}


class _BackgroundSearch:
    """A search for a text in a thread of its own."""

    def __init__(self, text: str, work: Callable[[], Ranked]) -> None:
        self.text = text
        self._hits: Ranked = []
        self._failure: BaseException | None = None
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        sys.setswitchinterval(_BESIDE_SECONDS)
        try:
            _thread.start_new_thread(self._run, (work,))
        except RuntimeError:  # the system has no thread left
            self._run(work)

    def _run(self, work: Callable[[], Ranked]) -> None:
        try:
            self._hits = work()
        except BaseException as failure:  # noqa: BLE001 - `result` raises it
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
        return self._hits


def _is_narrow(scope: Filter) -> bool:
    return bool(scope.namespaces or scope.tags or scope.paths or scope.since is not None)
