"""Sessions whose client asks nobody before it runs a command: what their agent stores waits for the person.

Nothing tells a command of its client's permission mode. The hook, which hears it just before, notes it. Every function raises
StoreError.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

LASTS_MS = 10 * 60_000  # a command in whose way something long stands, such as `make && subcog remember …`

_NAME = "unasked "  # begins a flag; the session follows


def note(state: State, session: str, now_ms: int, *, is_asked: bool) -> None:
    """Note whether the person is asked before this session's next commands."""
    if not is_asked and not is_noted(state, session, now_ms + LASTS_MS // 2):
        state.run("DELETE FROM flags WHERE name > ? AND name < ? AND until < ?", (_NAME, _NAME + "\x7f", now_ms))
        state.run("INSERT OR REPLACE INTO flags VALUES (?, ?)", (_NAME + session, now_ms + LASTS_MS))
    elif is_asked and is_noted(state, session, now_ms):
        state.run("DELETE FROM flags WHERE name = ?", (_NAME + session,))


def is_noted(state: State, session: str, now_ms: int) -> bool:
    """Return whether this session's client was heard to ask nobody."""
    return bool(state.run("SELECT 1 FROM flags WHERE name = ? AND until > ?", (_NAME + session, now_ms)))
