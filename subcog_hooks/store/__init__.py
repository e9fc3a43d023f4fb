"""The two databases: memories.db with its caches, and state.db."""

from _collections_abc import Mapping

from subcog_hooks.core.quiet_imports import DeferredImport

# Of `collections`, apsw needs only Mapping; the whole package takes a fifth of the start of a bare interpreter to load.
with DeferredImport("collections"), DeferredImport("collections.abc", Mapping=Mapping):
    import apsw  # noqa: F401 - the modules here use it
