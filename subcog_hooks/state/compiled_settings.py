"""Settings files in their compiled form, so that the hook parses no TOML. Every method raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

MAX_FILES = 1_000


class CompiledSettings:
    """The compiled settings files that a state.db keeps, by path, mtime and size."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def find(self, path: str, mtime_ns: int, size: int) -> str | None:
        """Return the compiled form of a file, None when it is of another state of the file."""
        rows = self._state.run(
            "SELECT settings FROM compiled WHERE path = ? AND mtime_ns = ? AND size = ?", (path, mtime_ns, size)
        )
        return str(rows[0][0]) if rows else None

    def keep(self, path: str, mtime_ns: int, size: int, settings: str) -> None:
        """Keep the compiled form of a file. Raises StoreBusy soon when another process is writing."""
        self._state.run_briefly("INSERT OR REPLACE INTO compiled VALUES (?, ?, ?, ?)", (path, mtime_ns, size, settings))
        self._state.run_briefly("DELETE FROM compiled WHERE rowid < (SELECT max(rowid) FROM compiled) - ?", (MAX_FILES,))
