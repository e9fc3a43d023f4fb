"""What anybody has who follows a tutorial: BM25 of stemmed words and one embedding a memory, by equal reciprocal ranks.

The reference that the package's gain is measured against. It shares the embedding model with the package and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import tantivy

from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from tests.eval.collection import Collection, Query, rows
from tests.eval.homes import Encode
from tests.eval.systems import DEPTH

RRF_K = 60  # Cormack et al. 2009
LISTS = 20  # deep, at which it does best on both development collections: .711 and .417; 100 deep .707 and .394
FILTERED = 20  # times as many are asked for where a project is wanted: there are ten of them
_WORD = re.compile(r"\w+")

Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]


class Textbook:
    """The two lists over one collection, and their fusion."""

    def __init__(self, collection: Collection, encode: Encode, kept: Path) -> None:
        """kept: the folder in which the memories' embeddings are looked for, and left."""
        memories = rows(collection.memories)
        self._ids = [str(memory["id"]) for memory in memories]
        self._projects = np.array([memory.get("project") or "" for memory in memories])
        self._encode = encode
        self._vectors = _embedded([str(memory["content"]) for memory in memories], kept)
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body", tokenizer_name="en_stem")
        builder.add_integer_field("place", stored=True)
        self._index = tantivy.Index(builder.build())
        writer = self._index.writer(heap_size=50_000_000, num_threads=1)
        for place, memory in enumerate(memories):
            writer.add_document(tantivy.Document(body=str(memory["content"]), place=place))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def rankings(self, queries: Iterable[Query]) -> dict[str, list[str]]:
        """The ids found for each query, best first."""
        found = {}
        for query in queries:
            scores: dict[int, float] = {}
            for ranked in (self._by_words(query), self._by_meaning(query)):
                for rank, place in enumerate(ranked, 1):
                    scores[place] = scores.get(place, 0.0) + 1.0 / (RRF_K + rank)
            best = sorted(scores, key=lambda place: (-scores[place], self._ids[place]))
            found[query.id] = [self._ids[place] for place in best[:DEPTH]]
        return found

    def _by_words(self, query: Query) -> list[int]:
        words = " ".join(_WORD.findall(query.text.lower()))
        if not words:
            return []
        searcher = self._index.searcher()
        hits = searcher.search(self._index.parse_query(words, ["body"]), LISTS * (FILTERED if query.project else 1)).hits
        places = [int(searcher.doc(address)["place"][0]) for _, address in hits]
        return [place for place in places if query.project in (None, self._projects[place])][:LISTS]

    def _by_meaning(self, query: Query) -> list[int]:
        vector = self._encode(query.text)
        if not vector:
            return []
        cosines = self._vectors @ _unit(np.frombuffer(vector, np.int8)[None, :])[0]
        if query.project:
            cosines[self._projects != query.project] = -2.0
        return [int(place) for place in np.argsort(-cosines, kind="stable")[:LISTS] if cosines[place] > -1.5]


def _embedded(texts: list[str], kept: Path) -> Vectors:
    """Unit vectors of the whole texts."""
    recipe = repr((models.vector_makers(PACKAGED)[0], texts))
    path = kept / f"documents-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.npy"
    if not path.is_file():
        from subcog_hooks.embed.documents import DocumentEmbedder, count_cores

        made = DocumentEmbedder(PACKAGED, count_cores()).embed(texts)
        kept.mkdir(parents=True, exist_ok=True)
        partial = kept / f"{path.stem}.{os.getpid()}.npy"
        np.save(partial, np.array([np.frombuffer(vector, np.int8) for vector in made]))
        partial.replace(path)
    return _unit(np.load(path))


def _unit(vectors: np.ndarray[tuple[int, int], np.dtype[np.int8]]) -> Vectors:
    wide = vectors.astype(np.float32)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    scaled: Vectors = (wide / np.maximum(lengths, 1e-9)).astype(np.float32)
    return scaled
