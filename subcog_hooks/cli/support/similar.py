"""Memories that say nearly what another says, for a person who may want one of them only."""

from subcog_hooks.capture.duplicates import Near, near_duplicates
from subcog_hooks.cli.support import session
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.errors import StoreError
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Store

MOST_SIMILAR = 3  # memories that a person is shown


def similar_to(memory: Memory, store: Store) -> list[Near]:
    """Return the likest active memories of the same audience; none where the index fails, which is said."""
    try:
        return near_duplicates(memory, session.index_of(store), store)[:MOST_SIMILAR]
    except StoreError as error:
        terminal.say(f"similar memories were not looked for ({error.message})")
        return []
