"""The semantic channel: the memories whose vectors lie nearest to the query's, ranked by cosine."""

from subcog_hooks.memory.store import Filter, Store
from subcog_hooks.memory.vectors import VectorStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Encode = Callable[[str], bytes | None]  # a query to its (dimension,) int8 vector, None when it has no word


class Channel:
    """Where meaning is compared: the memories' vectors, and how a query gets its own in the same space."""

    __slots__ = ("encode", "vectors")

    def __init__(self, vectors: VectorStore, encode: "Encode") -> None:
        self.vectors = vectors
        self.encode = encode


def search(vectors: VectorStore, query: bytes, store: Store, wanted: Filter, depth: int) -> list[tuple[float, int]]:
    """The nearest `depth` of the wanted memories as (cosine, row number), nearest first. Raises StoreError.

    Audiences and statuses are filtered inside the scan; for a narrower filter the store says which memories are meant, and
    these are compared one by one.
    """
    if wanted.namespaces or wanted.tags or wanted.paths or wanted.since is not None:
        found = vectors.cosines(query, store.matching_seqs(wanted))
        return sorted(((cosine, seq) for seq, cosine in found.items()), key=lambda hit: (-hit[0], hit[1]))[:depth]
    return vectors.nearest(query, depth, wanted.audiences, wanted.statuses)
