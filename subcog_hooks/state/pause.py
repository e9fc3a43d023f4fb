"""The pause: until when every hook is silent. Every function raises StoreError."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State


def begin(state: "State", until_ms: int | None) -> None:
    """Silence the hooks until a time (milliseconds since the epoch), or without one until `end`."""
    state.run(
        "INSERT INTO flags VALUES ('paused', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until",
        (until_ms,),
    )


def end(state: "State", now_ms: int) -> bool:
    """End the pause. Return whether there was one."""
    was = is_on(state, now_ms)
    state.run("DELETE FROM flags WHERE name = 'paused'")
    return was


def is_on(state: "State", now_ms: int) -> bool:
    """Return whether the hooks are to be silent now."""
    return bool(state.run("SELECT 1 FROM flags WHERE name = 'paused' AND (until IS NULL OR until > ?)", (now_ms,)))
