"""The server's pushes, by which a home notices that a backup was put back: one that it has seen is there no more."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.sharing.connection import Connection
    from subcog_hooks.sharing.known import ShareState

_LATEST = "SELECT revision, token::text FROM subcog.pushes ORDER BY revision DESC LIMIT 1"
# the turn to write first, then a revision that nobody has, then a statement that changes nothing: its trigger notes a push
_ADD = (
    b"SELECT subcog.lift(0)",
    b"SELECT subcog.lift(max(revision) + 1) FROM subcog.pushes",
    b"UPDATE subcog.memories SET base = base WHERE false",
)


def note_latest(connection: Connection, state: ShareState) -> int:
    """Note the latest push there, before anything of it is noted as known: it may be lost when this run is cut off.

    Return its revision, 0 for none. Raises StoreError, psycopg's errors.
    """
    row = connection.execute(_LATEST).fetchone()
    if row is None:
        return 0
    state.note_seen(*row)
    return int(row[0])


def add(connection: Connection) -> None:
    """Add a push of no memory: what else this transaction writes is missed, too, where a backup takes it back.

    Raises psycopg's errors.
    """
    for statement in _ADD:
        connection.execute(statement)
