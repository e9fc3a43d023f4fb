"""Models and memories for the tests of embedding: the packaged model itself, loaded once."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.neural_encoder import DocumentEmbedder
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.store import vector_store
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore

SPACE = PACKAGED
OTHER = "snowflake/snowflake-arctic-embed-xs"  # of the catalogue, with 384 dimensions too: the packaged files pass for it
WIDER = "snowflake/snowflake-arctic-embed-m"  # with 768

Open = Callable[[], VectorStore]


class Counting(DocumentEmbedder):
    """The packaged model with a record of its texts; `meanwhile` is called before it begins."""

    __slots__ = ("embedded", "meanwhile")

    def __init__(self) -> None:
        super().__init__(SPACE)
        self.embedded: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def embed(self, texts: Sequence[str]) -> Iterator[bytes]:
        self.meanwhile()
        self.embedded += texts
        return super().embed(texts)


@pytest.fixture(scope="session")
def loaded_model() -> Counting:
    return Counting()


@pytest.fixture
def embedder(loaded_model: Counting) -> Counting:
    """The packaged model; it has been given nothing yet."""
    loaded_model.embedded, loaded_model.meanwhile = [], lambda: None
    return loaded_model


@pytest.fixture
def reads_on(tmp_path: Path) -> Space:
    """A model that reads 1,000 tokens by its files, and in truth fails behind 512."""
    folder = shutil.copytree(SPACE.folder, tmp_path / "reads-on")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 1_000}))
    return Space("reads-on", SPACE.model, SPACE.dimension, str(folder))


@pytest.fixture
def following(home: Home, store: Store) -> Iterator[Open]:
    """Opens the vectors of the packaged space, brought to where the store is."""
    opened: list[VectorStore] = []

    def follow() -> VectorStore:
        opened.append(
            vector_store.open_following(
                home, store, SPACE.name, SPACE.dimension, models.provisional_encoder(SPACE), made_by=models.vector_makers(SPACE)
            )
        )
        return opened[-1]

    yield follow
    for vectors in opened:
        vectors.close()
