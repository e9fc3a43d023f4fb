"""The channel of meaning: the memories whose vectors lie nearest to the query's, ranked by cosine."""

from subcog_hooks.memory.store import Filter, Store
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall.hits import SEMANTIC
from subcog_hooks.text.typed import is_latin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.recall.channel import Ranked
    from subcog_hooks.recall.query import Query

    Encode = Callable[[str], bytes | None]  # a query to its (dimension,) int8 vector, None when it has no word


class SearchSpace:
    """Where meaning is compared: the memories' vectors, and how a query gets its own in the same space."""

    __slots__ = ("_encode", "_last", "vectors")

    def __init__(self, vectors: VectorStore, encode: "Encode") -> None:
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


def in_latin(encode: "Encode") -> "Encode":
    """Return `encode` for texts that a model of English can read.

    What it can not read is `[UNK]` after `[UNK]` to it, and near to whatever else it can not read: a prompt in Japanese was
    given an unrelated memory, an emoji had a relevance of .99.
    """

    def encode_latin(text: str) -> bytes | None:
        return encode(text) if is_latin(text) else None

    return encode_latin


class Semantic:
    """Memories near to the query in one space, no farther than `least` (a cosine)."""

    __slots__ = ("_least", "_space", "_store")
    name = SEMANTIC
    strategy = SEMANTIC
    is_floor = False

    def __init__(self, space: SearchSpace, store: Store, least: float) -> None:
        self._space = space
        self._store = store
        self._least = least

    def search(self, query: "Query", scope: Filter, k: int, deadline: "Deadline") -> "Ranked":
        """Search as `channel.Channel` says; a score is a cosine. Raises StoreError, ModelError.

        Audiences and statuses are filtered inside the scan; for a narrower filter the store says which memories are meant, and
        these are compared one by one.
        """
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

    def _near(self, vector: bytes, scope: Filter, k: int) -> "Ranked":
        if scope.namespaces or scope.tags or scope.paths or scope.since is not None:
            found = self._space.vectors.cosines(vector, self._store.matching_seqs(scope))
            near = sorted(((cosine, seq) for seq, cosine in found.items()), key=lambda hit: (-hit[0], hit[1]))
            least = near[k - 1][0] if len(near) > k else -1.0
            return [hit for hit in near if hit[0] >= least]
        return self._space.vectors.nearest(vector, k, scope.audiences, scope.statuses)

    def question_cosines(self, query: "Query", seq: int) -> dict[int, float]:
        """Return the cosines of a memory's questions, by their place from 0. Raises StoreError, ModelError."""
        vector = self._space.encode(query.meant)
        return self._space.vectors.question_cosines(vector, seq) if vector else {}

    def cosines(self, query: "Query", seqs: "Sequence[int]") -> dict[int, float]:
        """Return the cosines of these memories, by row number, of those that have one. Raises StoreError, ModelError."""
        vector = self._space.encode(query.meant)
        return self._space.vectors.cosines(vector, seqs) if vector else {}
