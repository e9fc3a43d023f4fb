"""A shelf for each test, and an index that knows nothing."""

from collections.abc import Iterator

import pytest

from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from tests.recall.shelf import Shelf


@pytest.fixture
def shelf(home: Home, store: Store) -> Iterator[Shelf]:
    opened = Shelf(home, store)
    yield opened
    opened.close()


@pytest.fixture
def index(shelf: Shelf) -> LexicalIndex:
    """Of nothing but filler."""
    shelf.fill()
    return shelf.index()
