"""A shelf for each test, and an index that knows nothing."""

from collections.abc import Iterator

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.store import Store
from tests.recall.shelf import Shelf


@pytest.fixture
def shelf(home: Home, store: Store) -> Iterator[Shelf]:
    opened = Shelf(home, store)
    yield opened
    opened.close()


@pytest.fixture
def index(shelf: Shelf) -> LexicalIndex:
    """Of nothing but filler."""
    return shelf.fill().index()
