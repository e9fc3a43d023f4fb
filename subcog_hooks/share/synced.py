"""team.db: what this home knows of the team's server, so that a synchronisation looks at changes alone.

A cache: it may be deleted at any time. Then all is fetched and compared anew, and where the server has another version of a
memory, the one here is kept beside it as superseded.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

import apsw

from subcog_hooks.core import database
from subcog_hooks.core.database import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Self

    from subcog_hooks.core.paths import Home

STATE_OPEN_WAIT_MS = 10_000  # for another process; only one synchronises at a time
NAME = "team.db"
ARRIVING = "arriving"  # in the place of a fingerprint: it is being stored, for the first time
SEEN, MOST_SEEN = "seen", 200  # the note of what was seen on the server
CHANGED, DELETED, ERASED = "changed", "deleted", "erased"  # kinds of a colleague's change of one's own memory
RULES = "rules"  # the note of the rules by which colleagues' memories were taken
NOTHING = -1  # of the store's revisions: nothing has been looked at

_OVERRULED = """
-- colleagues' changes of one's own memories
CREATE TABLE overruled (
  id TEXT PRIMARY KEY,
  author TEXT NOT NULL,  -- the colleague
  kind TEXT NOT NULL CHECK (kind IN ('changed', 'deleted', 'erased')),
  updated_at INTEGER NOT NULL,  -- of the memory as it was left: an edit since then settles it
  status TEXT NOT NULL,  -- the memory's before
  superseded_by TEXT
) STRICT, WITHOUT ROWID;
"""

_SCRIPT = """
CREATE TABLE server (id TEXT NOT NULL, revision INTEGER NOT NULL, token TEXT NOT NULL) STRICT;  -- one row
CREATE TABLE projects (
  name TEXT PRIMARY KEY,
  fetched INTEGER NOT NULL DEFAULT 0,  -- the server's revision up to which all is here
  looked INTEGER NOT NULL DEFAULT -1  -- the store's revision up to which all is there
) STRICT, WITHOUT ROWID;
CREATE TABLE known (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL DEFAULT 0,  -- of the memory here, 0 for none
  revision INTEGER,  -- the server's, that what is here was last equal to; NULL for none
  local TEXT NOT NULL DEFAULT '',  -- fingerprint of the memory here, '' for none
  shared TEXT NOT NULL DEFAULT '',  -- fingerprint of its document on the server, '' for a deleted one
  sending TEXT NOT NULL DEFAULT '',  -- of a document that may have got there without an answer
  missed INTEGER NOT NULL DEFAULT 0,  -- a later version there gave way to what was changed here meanwhile
  author TEXT NOT NULL DEFAULT '',  -- the colleague who wrote it, '' for this home
  withheld TEXT NOT NULL DEFAULT '{}',
  bytes INTEGER NOT NULL DEFAULT 0,  -- of a colleague's document
  vectors TEXT NOT NULL DEFAULT '',  -- content hash whose vectors are on the server
  PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_by_seq ON known (seq);
CREATE INDEX known_by_id ON known (id);
CREATE INDEX known_missed ON known (project, id) WHERE missed OR sending <> '';
CREATE INDEX known_without_vectors ON known (project, id) WHERE vectors = '' AND author = '' AND shared <> '';
CREATE INDEX known_arriving ON known (project, id) WHERE local = 'arriving';
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- the agreement of the person holds for one server
CREATE TABLE agreements (
  project TEXT NOT NULL,
  place TEXT NOT NULL,  -- the server's address as it was then
  server TEXT NOT NULL DEFAULT '',  -- the id of the database there, '' until it was met
  PRIMARY KEY (project, place)
) STRICT, WITHOUT ROWID;
"""

# Version 2 noted the deletions by colleagues as one text of JSON.
_MOVE_DELETIONS = """
INSERT INTO overruled
SELECT one.value ->> 0, one.value ->> 1, iif(one.value ->> 2, 'erased', 'deleted'), one.value ->> 3, 'active', NULL
FROM notes, json_each(notes.value) AS one WHERE name = 'deleted';
DELETE FROM notes WHERE name = 'deleted';
"""

SHARE_SCHEMA = Schema(_SCRIPT + _OVERRULED, version=3, synchronous="FULL", upgrades={2: _OVERRULED + _MOVE_DELETIONS})
_FIELDS = (
    *("project", "id", "seq", "revision", "local", "shared", "sending", "missed", "author", "withheld", "bytes", "vectors"),
)
_COLUMNS = ", ".join(_FIELDS)
_PUT = f"INSERT OR REPLACE INTO known ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"  # noqa: S608 - constants


class Overruling(NamedTuple):
    """A change or deletion of one's own memory by a colleague.

    kind: CHANGED, DELETED or ERASED, after which its id does not come back to the server.
    updated_at: of the memory as the colleague left it; status, superseded_by: the memory's before.
    """

    id: str
    author: str
    kind: str
    updated_at: int
    status: str
    superseded_by: str | None


class Known:
    """One memory of a shared project, as it was when here and there were last equal. The fields are the table's columns."""

    __slots__ = _FIELDS

    def __init__(self, project: str, id: str) -> None:
        self.project = project
        self.id = id
        self.seq = 0
        self.revision: int | None = None
        self.local = ""
        self.shared = ""
        self.sending = ""
        self.missed = False
        self.author = ""
        self.withheld: dict[str, list[object]] = {}
        self.bytes = 0
        self.vectors = ""

    @property
    def is_deleted(self) -> bool:
        """True where the server has no document of it, as far as is known here."""
        return not self.shared

    def row(self) -> tuple[apsw.SQLiteValue, ...]:
        values = {name: getattr(self, name) for name in _FIELDS}
        values["withheld"] = json.dumps(self.withheld, separators=(",", ":"))
        values["missed"] = int(self.missed)
        return tuple(values.values())

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Known:
        known = cls(row[0], row[1])
        for name, value in zip(_FIELDS[2:], row[2:], strict=True):
            setattr(known, name, value)
        known.withheld = json.loads(row[_FIELDS.index("withheld")])
        known.missed = bool(known.missed)
        return known


class ShareState:
    """An open team.db. Every method raises StoreError when SQLite does."""

    __slots__ = ("_connection", "_has_noted", "path")

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self._has_noted = False  # what was seen, since it was opened
        self.path = path

    @classmethod
    def open(cls, home: Home) -> ShareState:
        home.create()
        path = path_in(home)
        return cls(database.open_writer(path, SHARE_SCHEMA, STATE_OPEN_WAIT_MS), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    # the server

    def server(self) -> tuple[str, int, str]:
        """Return the id of the server, and the latest revision and token that were seen there; "", 0, "" for none."""
        rows = self.run("SELECT id, revision, token FROM server")
        return rows[0] if rows else ("", 0, "")

    def meet(self, server: str) -> None:
        """Begin with a server: what is known of another one is forgotten, but not what the person agreed to."""
        if self.server()[0] != server:
            with self._connection:
                self.forget_all()
                self.run("DELETE FROM server")
                self.run("INSERT INTO server VALUES (?, 0, '')", (server,))

    def note_seen(self, revision: int, token: str) -> None:
        if (revision, token) == self.server()[1:]:
            return
        seen = self.seen()
        if self._has_noted and seen:  # one for each synchronisation: those of its batches would push the older ones out
            seen.pop()
        self._has_noted = True
        seen = [*seen, (revision, token)][-MOST_SEEN:]
        with self._connection:
            self.run("UPDATE server SET revision = ?, token = ?", (revision, token))
            self.note(SEEN, json.dumps(seen))

    def seen(self) -> list[tuple[int, str]]:
        """Return revisions and tokens that were seen on servers, the latest last: what a backup has of them, it has whole."""
        return [(revision, token) for revision, token in json.loads(self.noted(SEEN) or "[]")]

    # colleagues' changes of one's own memories

    def note_overruled(self, overrulings: Iterable[Overruling]) -> None:
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO overruled VALUES (?, ?, ?, ?, ?, ?)", overrulings)

    def overrulings(self, ids: Sequence[str] | None = None) -> dict[str, Overruling]:
        """Return the changes of one's own memories by colleagues, by id. ids: these alone, None for all."""
        sql = "SELECT * FROM overruled WHERE ?1 IS NULL OR id IN (SELECT value FROM json_each(?1))"
        rows = self.run(sql, (None if ids is None else json.dumps(list(ids)),))
        return {row[0]: Overruling(*row) for row in rows}

    def settle(self, ids: Sequence[str]) -> None:
        """Forget the changes of these memories by colleagues."""
        self.run("DELETE FROM overruled WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))

    # what is known

    def forget_all(self) -> None:
        """Forget all that is known, so that all is fetched and compared anew."""
        with self._connection:
            self.run("DELETE FROM known")
            self.run("UPDATE projects SET fetched = 0, looked = ?", (NOTHING,))

    def forget_everything(self) -> None:
        """Forget the server, all that is known of it, and what the person agreed to; not colleagues' changes."""
        with self._connection:
            for table in ("server", "projects", "agreements", "known", "notes"):
                self.run(f"DELETE FROM {table}")  # noqa: S608 - constants

    # projects

    def projects(self) -> list[str]:
        """Return the projects that were synchronised once."""
        return [name for (name,) in self.run("SELECT name FROM projects ORDER BY name")]

    def progress(self, project: str) -> tuple[int, int]:
        """Return the server's revision up to which all is here, and the store's up to which all is there."""
        rows = self.run("SELECT fetched, looked FROM projects WHERE name = ?", (project,))
        return rows[0] if rows else (0, NOTHING)

    def note_fetched(self, project: str, revision: int) -> None:
        self._note(project, "fetched", revision)

    def note_looked(self, project: str, revision: int) -> None:
        self._note(project, "looked", revision)

    def agreed(self, place: str) -> frozenset[str]:
        """Return the projects of which the person has seen what leaves for the server of this address."""
        return frozenset([name for (name,) in self.run("SELECT project FROM agreements WHERE place = ?", (place,))])

    def agree(self, project: str, place: str) -> None:
        """Note that the person has seen what leaves; the database that is met there next is the one that is meant."""
        self.run("INSERT OR REPLACE INTO agreements (project, place) VALUES (?, ?)", (project, place))

    def is_agreed_to(self, server: str, place: str, projects: Sequence[str]) -> bool:
        """Return whether the person agreed that these projects go to the database of this id at this address.

        The first one that is met after an agreement is the one that it was for.
        """
        wanted = (place, json.dumps(list(projects)))
        self.run(
            "UPDATE agreements SET server = ? WHERE server = '' AND place = ? AND project IN (SELECT value FROM json_each(?))",
            (server, *wanted),
        )
        sql = "SELECT count(*) FROM agreements WHERE server = ? AND place = ? AND project IN (SELECT value FROM json_each(?))"
        [(count,)] = self.run(sql, (server, *wanted))
        return bool(count == len(set(projects)))

    def agreed_elsewhere(self, projects: Sequence[str], place: str) -> list[str]:
        """Return the other addresses for which the person agreed that one of these projects goes there."""
        sql = (
            "SELECT DISTINCT place FROM agreements WHERE place <> ? AND project IN (SELECT value FROM json_each(?)) ORDER BY 1"
        )
        return [other for (other,) in self.run(sql, (place, json.dumps(list(projects))))]

    def forget_other_agreements(self, place: str, server: str) -> bool:
        """Forget what was agreed to for other addresses, or for another database at this one. Return whether there was any."""
        sql = "DELETE FROM agreements WHERE place <> ? OR server NOT IN ('', ?) RETURNING 1"
        return bool(self.run(sql, (place, server)))

    def _note(self, project: str, column: str, value: int) -> None:
        self.run(
            f"INSERT INTO projects (name, {column}) VALUES (?, ?)"  # noqa: S608 - constants
            f" ON CONFLICT (name) DO UPDATE SET {column} = excluded.{column}",
            (project, value),
        )

    # memories

    def find(self, project: str, ids: Sequence[str]) -> dict[str, Known]:
        """Return what is known of these memories of a project, by id."""
        sql = f"SELECT {_COLUMNS} FROM known WHERE project = ? AND id IN (SELECT value FROM json_each(?))"  # noqa: S608 - constants
        rows = self.run(sql, (project, json.dumps(list(ids))))
        return {row[1]: Known.from_row(row) for row in rows}

    def elsewhere(self, project: str, ids: Sequence[str]) -> dict[str, Known]:
        """Return what is known of memories of these ids in other projects."""
        sql = f"SELECT {_COLUMNS} FROM known WHERE id IN (SELECT value FROM json_each(?)) AND project <> ?"  # noqa: S608 - constants
        return {row[1]: Known.from_row(row) for row in self.run(sql, (json.dumps(list(ids)), project))}

    def of_seqs(self, seqs: Sequence[int]) -> list[Known]:
        """Return what is known of the memories of these row numbers of the store."""
        sql = f"SELECT {_COLUMNS} FROM known WHERE seq IN (SELECT value FROM json_each(?))"  # noqa: S608 - constants
        return [Known.from_row(row) for row in self.run(sql, (json.dumps(list(seqs)),))]

    def arriving(self) -> list[Known]:
        """Return what was about to be stored when a synchronisation was cut off."""
        sql = f"SELECT {_COLUMNS} FROM known WHERE local = '{ARRIVING}'"  # noqa: S608 - constants
        return [Known.from_row(row) for row in self.run(sql)]

    def unfinished(self, project: str) -> list[Known]:
        """Return what has to be sent whether it has changed or not."""
        sql = f"SELECT {_COLUMNS} FROM known WHERE project = ? AND (missed OR sending <> '')"  # noqa: S608 - constants
        return [Known.from_row(row) for row in self.run(sql, (project,))]

    def without_vectors(self, project: str, after: str, limit: int) -> list[Known]:
        """Return memories that were sent from here without vectors, by id behind `after`."""
        sql = (
            f"SELECT {_COLUMNS} FROM known WHERE project = ? AND id > ? AND vectors = '' AND author = '' AND shared <> ''"  # noqa: S608 - constants
            " ORDER BY id LIMIT ?"
        )
        return [Known.from_row(row) for row in self.run(sql, (project, after, limit))]

    def every(self, project: str) -> list[Known]:
        sql = f"SELECT {_COLUMNS} FROM known WHERE project = ? ORDER BY id"  # noqa: S608 - constants
        return [Known.from_row(row) for row in self.run(sql, (project,))]

    def put(self, known: Iterable[Known]) -> None:
        """Note what is known, in one transaction."""
        with self._connection:
            self._connection.executemany(_PUT, [one.row() for one in known])

    def drop(self, known: Iterable[Known]) -> None:
        with self._connection:
            for one in known:
                self.run("DELETE FROM known WHERE project = ? AND id = ?", (one.project, one.id))

    def bytes_by_author(self, beside: int) -> dict[str, int]:
        """Return how many bytes are here of each colleague. beside: those of a memory that are not its document's."""
        sql = "SELECT author, sum(bytes + ?) FROM known WHERE author <> '' AND bytes > 0 GROUP BY author"
        return dict(self.run(sql, (beside,)))

    def held_back(self, project: str) -> list[Known]:
        """Return what is known of memories of which the server says something that does not count here."""
        sql = f"SELECT {_COLUMNS} FROM known WHERE project = ? AND withheld <> '{{}}' ORDER BY id"  # noqa: S608 - constants
        return [Known.from_row(row) for row in self.run(sql, (project,))]

    def counts(self, project: str) -> tuple[int, int]:
        """Return how many memories of a project are shared from here, and how many came from colleagues."""
        sql = "SELECT count(*) FILTER (WHERE author = ''), count(*) FILTER (WHERE author <> '') FROM known WHERE project = ?"
        own, theirs = self.run(f"{sql} AND shared <> ''", (project,))[0]
        return own, theirs

    # remarks for `share status`

    def note(self, name: str, value: str) -> None:
        self.run("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def noted(self, name: str) -> str:
        rows = self.run("SELECT value FROM notes WHERE name = ?", (name,))
        return rows[0][0] if rows else ""

    def run(self, sql: str, values: tuple[apsw.SQLiteValue, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise database.translate_error(error, self.path) from error


def path_in(home: Home) -> str:
    return os.path.join(home.root, NAME)
