"""Repair: the search index and the vectors made anew from the store, for `subcog doctor --fix`."""

from subcog_hooks.cli.support import context, embedding, progress
from subcog_hooks.cli.support.output import pluralize, terminal
from subcog_hooks.store import index_sync


def rebuild_from_store() -> None:
    """Rebuild the index from the store, embed memories without a neural vector, and report both. Raises StoreError."""
    with context.writing() as store:
        store.rebuild_cues()
        with progress.track_items("indexing", sum(store.counts().values())) as advance:
            index = index_sync.rebuild_index(context.home(), store, advance)
        terminal.result(f"indexed {pluralize(index.documents, 'memory', 'memories')}")
        if embedded := embedding.embed_now(store, afresh=True):
            terminal.say(f"embedded {embedded}")
