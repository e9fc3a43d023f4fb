"""The work at rest that sessions start: when it was last started, and what of it. Every function raises StoreError."""

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


LEARN_EVERY_MS = 6 * 3_600_000


def take_learning(state: "State", now_ms: int) -> bool:
    """Return whether sessions are to be looked at, since that was last begun hours ago; it is noted as begun then."""
    if state.run("SELECT 1 FROM flags WHERE name = 'learning' AND until BETWEEN ? AND ?", (now_ms, now_ms + LEARN_EVERY_MS)):
        return False
    state.run(
        "INSERT INTO flags VALUES ('learning', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until",
        (now_ms + LEARN_EVERY_MS,),
    )
    return True


def note_learnable(state: "State", count: int) -> None:
    """Note how much of what was said in sessions could be proposed."""
    state.run("INSERT INTO flags VALUES ('learnable', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until", (count,))


def find_learnable(state: "State") -> int:
    """Return how much of what was said in sessions could be proposed, as far as that was looked for."""
    return sum(count for (count,) in state.run("SELECT until FROM flags WHERE name = 'learnable'") if isinstance(count, int))


def note_counted(state: "State", stamp: int) -> None:
    """Note what was read to count that. stamp: of the transcripts."""
    state.run("INSERT INTO flags VALUES ('counted', ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until", (stamp,))


def find_counted(state: "State") -> int | None:
    """Return the stamp of what was read when it was last counted, None for never."""
    return next(
        (stamp for (stamp,) in state.run("SELECT until FROM flags WHERE name = 'counted'") if isinstance(stamp, int)), None
    )
