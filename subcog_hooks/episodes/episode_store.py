"""sessions.db: episodes as the notes' store keeps notes, so that its index, vectors and recall serve them too.

Beside each one's words a row tells its session and the rows of the transcript; others have its errors. The file may be deleted
at any time: what is still in the transcripts is read again.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.records import record
from subcog_hooks.store.store import WRITE_WAIT_MS, Store
from subcog_hooks.store.store_reader import READ_WAIT_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.learned import ReadPosition

_TABLES = """
CREATE TABLE IF NOT EXISTS episodes (
  id TEXT PRIMARY KEY,  -- of the row in `memories`
  session TEXT NOT NULL,
  client TEXT NOT NULL,
  position INTEGER NOT NULL,  -- the number of episodes before it in its session
  row_ids TEXT NOT NULL  -- of the transcript's rows, with blanks between
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS episodes_by_session ON episodes (session, position);
CREATE TABLE IF NOT EXISTS failures (
  key TEXT NOT NULL, episode TEXT NOT NULL, fix TEXT NOT NULL, PRIMARY KEY (key, episode)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS failures_by_episode ON failures (episode);
CREATE TABLE IF NOT EXISTS transcripts (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, read INTEGER NOT NULL, digest TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS purged_episodes AFTER DELETE ON memories BEGIN
  DELETE FROM episodes WHERE id = old.id;
  DELETE FROM failures WHERE episode = old.id;
END;
"""


@record
class EpisodeRow:
    """What the store tells of an episode beside its words. rows: of the transcript, the first typed row first."""

    id: str
    session: str
    client: str
    position: int
    rows: tuple[str, ...]


class EpisodeStore(Store):
    """An open sessions.db. Every method raises StoreError when SQLite does."""

    __slots__ = ()

    @classmethod
    def writer(cls, home: Home, busy_ms: float = WRITE_WAIT_MS) -> Self:
        """Open the store for writing; it is made as needed."""
        store = super().writer(home.sessions, busy_ms)
        store.run(_TABLES)
        return store

    @classmethod
    def reader(cls, home: Home, busy_ms: float = READ_WAIT_MS) -> Self:
        """Open the store read-only. Raises StoreError, also when there is none yet."""
        return super().reader(home.sessions, busy_ms)

    def rows_of(self, ids: Sequence[str]) -> dict[str, EpisodeRow]:
        """Return what is told of these episodes, by id."""
        sql = "SELECT id, session, client, position, row_ids FROM episodes WHERE id IN (SELECT value FROM json_each(?))"
        return {id_: _make_row(id_, *cells) for id_, *cells in self.run(sql, (light_json.dumps(ids),))}

    def in_session(self, session: str) -> list[EpisodeRow]:
        """Return what is told of a session's episodes, in their order."""
        sql = "SELECT id, session, client, position, row_ids FROM episodes WHERE session = ? ORDER BY position"
        return [_make_row(*cells) for cells in self.run(sql, (session,))]

    def failures_of(self, id: str) -> list[tuple[str, str]]:
        """Return an episode's errors, each with its fix."""
        return [(key, fix) for key, fix in self.run("SELECT key, fix FROM failures WHERE episode = ?", (id,))]

    def position_of(self, path: str) -> tuple[int, int, str] | None:
        """Return size, read bytes and digest of a transcript when it was read, None for an unread one."""
        rows = self.run("SELECT size, read, digest FROM transcripts WHERE path = ?", (path,))
        return rows[0] if rows else None

    def put_details(self, rows: Sequence[EpisodeRow], failures: Sequence[tuple[str, str, str]]) -> None:
        """Store what is told of episodes, and their errors as (key, episode, fix)."""
        self.run("BEGIN IMMEDIATE")
        for row in rows:
            self.run("DELETE FROM failures WHERE episode = ?", (row.id,))
            values = (row.id, row.session, row.client, row.position, " ".join(row.rows))
            self.run("INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?)", values)
        for failure in failures:
            self.run("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", failure)
        self.run("COMMIT")

    def note_read(self, positions: Sequence[tuple[str, ReadPosition]]) -> None:
        """Record up to where transcripts were read."""
        self.run("BEGIN IMMEDIATE")
        for path, read in positions:
            self.run("INSERT OR REPLACE INTO transcripts VALUES (?, ?, ?, ?)", (path, read.size, read.end, read.digest))
        self.run("COMMIT")


def _make_row(id: str, session: str, client: str, position: int, row_ids: str) -> EpisodeRow:
    return EpisodeRow(id, session, client, position, tuple(row_ids.split()))
