"""The reminder that memories wait for review: when a session was last told so. Every function raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

EVERY_MS = 20 * 3_600_000  # once a working day, also where the next begins an hour earlier


def is_due(state: State, now_ms: int) -> bool:
    """Return whether nobody was reminded for a day."""
    return not state.run("SELECT 1 FROM flags WHERE name = 'reminded' AND until BETWEEN ? AND ?", (now_ms, now_ms + EVERY_MS))


def note(state: State, now_ms: int) -> None:
    """Note that a session was told."""
    state.run(
        "INSERT INTO flags VALUES ('reminded', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until",
        (now_ms + EVERY_MS,),
    )
