"""Named whole numbers in state.db: times and counts that belong to no other row. Every function raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

REMIND_EVERY_MS = 20 * 3_600_000  # once a working day, also where the next begins an hour earlier

_REMINDED = "reminded"  # the time until which nobody is reminded of memories that wait for review
_REFUSED = "refused in a row: "  # begins the name of a count; the source or kind follows


def find(state: State, name: str) -> int | None:
    """Return a number, None where there is none."""
    rows = state.run("SELECT until FROM flags WHERE name = ?", (name,))
    return rows[0][0] if rows and isinstance(rows[0][0], int) else None


def put(state: State, name: str, number: int) -> None:
    """Set a number."""
    state.run("INSERT INTO flags VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until", (name, number))


def delete(state: State, name: str) -> None:
    """Remove a number."""
    state.run("DELETE FROM flags WHERE name = ?", (name,))


def is_ahead(state: State, name: str, now_ms: int, longest_ms: int) -> bool:
    """Return whether a number is a time to come. One farther away was written by a clock that has been put back."""
    until = find(state, name)
    return until is not None and now_ms <= until <= now_ms + longest_ms


def is_reminder_due(state: State, now_ms: int) -> bool:
    """Return whether nobody was reminded for a day that memories wait for review."""
    return not is_ahead(state, _REMINDED, now_ms, REMIND_EVERY_MS)


def note_reminder(state: State, now_ms: int) -> None:
    """Note that a session was reminded."""
    put(state, _REMINDED, now_ms + REMIND_EVERY_MS)


def note_refusal(state: State, name: str) -> int:
    """Note that a proposal of a source or kind was refused. Return how many were refused in a row."""
    refused = (find(state, _REFUSED + name) or 0) + 1
    put(state, _REFUSED + name, refused)
    return refused


def end_refusals(state: State, name: str) -> None:
    """Begin the row of refusals anew: a proposal was kept, or the person was asked."""
    delete(state, _REFUSED + name)


def take_back_refusal(state: State, name: str) -> None:
    """Note that the last refusal was undone."""
    if refused := find(state, _REFUSED + name):
        put(state, _REFUSED + name, refused - 1)
