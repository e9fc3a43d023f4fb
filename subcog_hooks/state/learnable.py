"""The count of what could be proposed of sessions, as the work at rest has found it. Every function raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State


def note(state: State, count: int) -> None:
    """Note how much of what was said in sessions could be proposed."""
    state.run("INSERT INTO flags VALUES ('learnable', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until", (count,))


def count_learnable(state: State) -> int:
    """Return how much of what was said in sessions could be proposed, as far as that was looked for."""
    return sum(count for (count,) in state.run("SELECT until FROM flags WHERE name = 'learnable'") if isinstance(count, int))


def note_counted(state: State, stamp: int) -> None:
    """Note what was read to count that. stamp: of the transcripts, 0 for nothing that could be known again."""
    state.run("INSERT INTO flags VALUES ('counted', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until", (stamp,))


def find_counted(state: State) -> int | None:
    """Return the stamp of what was read when it was last counted, None for never."""
    rows = state.run("SELECT until FROM flags WHERE name = 'counted'")
    return rows[0][0] if rows and isinstance(rows[0][0], int) else None
