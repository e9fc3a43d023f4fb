"""The work at rest that sessions start: when it was last started. Every function raises StoreError."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

EVERY_MS = 10 * 60_000  # however many sessions begin


def is_due(state: "State", now_ms: int) -> bool:
    """Return whether no session has started it for a while."""
    return not state.run("SELECT 1 FROM flags WHERE name = 'at rest' AND until BETWEEN ? AND ?", (now_ms, now_ms + EVERY_MS))


def note(state: "State", now_ms: int) -> None:
    """Note that a session starts it."""
    state.run(
        "INSERT INTO flags VALUES ('at rest', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until",
        (now_ms + EVERY_MS,),
    )
