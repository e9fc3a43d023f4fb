"""One ranking out of two: the weighted sum of a memory's BM25 score and its cosine (S4; DESIGN 7.3). Pure."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def weighted(words: "Mapping[int, float]", cosines: "Mapping[int, float]", alpha: float) -> dict[int, float]:
    """The fused score of every memory that either side knows: `(1 - alpha) * bm25 / best bm25 + alpha * cosine`.

    words: BM25 scores by row number; cosines: by row number, looked up for the hits by words too. What one side does not know
    of a memory counts as nothing.

    >>> weighted({1: 8.0, 2: 4.0}, {1: 0.5, 3: 0.9}, 0.5)
    {1: 0.75, 2: 0.25, 3: 0.45}
    """
    best = max(words.values(), default=0.0) or 1.0
    both = dict.fromkeys((*words, *cosines))
    return {seq: (1.0 - alpha) * words.get(seq, 0.0) / best + alpha * max(0.0, cosines.get(seq, 0.0)) for seq in both}
