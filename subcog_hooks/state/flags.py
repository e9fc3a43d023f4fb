"""The flags that the user has set (`subcog state set`), by which conditions are judged. Every function raises StoreError."""

from __future__ import annotations

from subcog_hooks import wire
from subcog_hooks.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

MAX_FLAGS = 200


def find_all(state: State) -> dict[str, bool | int | float | str]:
    """Return the flags that are set, by name."""
    found = {}
    for name, text in state.run("SELECT name, value FROM user_flags ORDER BY name"):
        try:
            value = wire.loads(str(text))
        except ValueError:
            continue  # another program has been at it
        if isinstance(value, bool | int | float | str):
            found[str(name)] = value
    return found


def set_to(state: State, name: str, value: bool | float | str) -> None:
    """Set a flag. Raises UsageError when there are MAX_FLAGS others."""
    (others,) = state.run("SELECT count(*) FROM user_flags WHERE name <> ?", (name,))[0]
    if int(others or 0) >= MAX_FLAGS:
        raise UsageError(f"{MAX_FLAGS} flags are set", "`subcog state clear NAME` takes one away")
    state.run("INSERT OR REPLACE INTO user_flags VALUES (?, ?)", (name, wire.dumps(value)))


def clear(state: State, name: str) -> bool:
    """Take a flag away; whether it was set."""
    return bool(state.run("DELETE FROM user_flags WHERE name = ? RETURNING 1", (name,)))
