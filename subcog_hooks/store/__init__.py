"""The two databases: memories.db with its caches, and state.db."""

from _collections_abc import Mapping

from subcog_hooks.core.quiet_imports import DeferredImport

# apsw asks for one class, whose package would take a fifth of the time in which an interpreter starts.
with DeferredImport("collections"), DeferredImport("collections.abc", Mapping=Mapping):
    import apsw  # noqa: F401 - the modules here use it
