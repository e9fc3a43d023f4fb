"""The pause: since when and until when every hook is silent. Every function raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State


MAX_STEP_MS = 60_000  # by which a clock is put back in the course of things, as by the network's time


def begin(state: State, now_ms: int, length_ms: int | None) -> None:
    """Silence the hooks for some milliseconds, or without a length until `end`."""
    until = None if length_ms is None else now_ms + length_ms
    state.run("INSERT OR REPLACE INTO flags VALUES ('paused', ?), ('paused since', ?)", (until, now_ms))


def end(state: State, now_ms: int) -> bool:
    """End the pause. Return whether there was one."""
    was = is_on(state, now_ms)
    state.run("DELETE FROM flags WHERE name IN ('paused', 'paused since')")
    return was


def is_on(state: State, now_ms: int) -> bool:
    """Return whether the hooks are to be silent now.

    A pause of some length that begins in the future was set while the clock was ahead, and is none.
    """
    is_to_come = "EXISTS (SELECT 1 FROM flags WHERE name = 'paused since' AND until > ?)"
    sql = f"SELECT 1 FROM flags WHERE name = 'paused' AND (until IS NULL OR until > ? AND NOT {is_to_come})"  # noqa: S608 - constants
    return bool(state.run(sql, (now_ms, now_ms + MAX_STEP_MS)))
