"""What the tests of hooks share: a store that index and vectors have followed."""

from subcog_hooks.embed import models, spaces
from subcog_hooks.memory import sync, vector_sync
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home


def follow(home: Home, store: Store) -> None:
    """Bring the index up to date, and the vectors as a command leaves them: provisional."""
    sync.catch_up(home, store)
    space = models.PACKAGED
    vector_sync.open_following(
        home, store, space.name, space.dimension, spaces.provisional(space), made_by=models.made_by(space)
    ).close()
