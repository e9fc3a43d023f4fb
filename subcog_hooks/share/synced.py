"""team.db: the state of the team's server as this home last saw it, so that a synchronisation looks at changes alone.

A cache: it may be deleted at any time. Then all memories are fetched and compared anew. If the server has another version of
a memory, the version here is kept beside it as superseded.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import NamedTuple

from subcog_hooks.core import database
from subcog_hooks.core.database import Database, Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

    from subcog_hooks.core.paths import Home

STATE_OPEN_WAIT_MS = 10_000  # ms, while another process synchronises
ARRIVING = "arriving"  # stands for the fingerprint of a memory that is being stored for the first time
CHANGED, DELETED, ERASED = "changed", "deleted", "erased"  # kinds of a colleague's change of the user's memory
RULES = "rules"  # The note has the rules by which colleagues' memories were accepted.
NOTHING_LOOKED_AT = -1  # stands for a revision of the store: no memory has been looked at


SHARE_SCHEMA = Schema(os.path.join(os.path.dirname(__file__), "team.sql"), version=5, synchronous="FULL")
_FIELDS = tuple("project id seq revision local shared sending missed author withheld vectors".split())
_COLUMNS = ", ".join(_FIELDS)
_PUT = f"INSERT OR REPLACE INTO known ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"  # noqa: S608 - constants


class Overruling(NamedTuple):
    """A change or deletion of the user's own memory by a colleague.

    kind: CHANGED, DELETED or ERASED; an erased id does not come back to the server.
    updated_at: of the memory as the colleague left it. status, superseded_by: of the memory before.
    """

    id: str
    author: str
    kind: str
    updated_at: int
    status: str
    superseded_by: str | None


@dataclass(slots=True)
class SyncRecord:
    """The state of a shared memory when this home and the server last agreed. The fields are the table's columns."""

    project: str
    id: str
    seq: int = 0
    revision: int | None = None
    local: str = ""
    shared: str = ""
    sending: str = ""
    missed: bool = False
    author: str = ""
    withheld: dict[str, list[object]] = field(default_factory=dict)
    vectors: str = ""

    @property
    def is_deleted(self) -> bool:
        """True if this home knows of no document on the server."""
        return not self.shared

    def row(self) -> tuple[apsw.SQLiteValue, ...]:
        """Return the record as a row of the table."""
        withheld = json.dumps(self.withheld, separators=(",", ":"))
        return tuple(withheld if name == "withheld" else getattr(self, name) for name in _FIELDS)


class ShareState(Database):
    """An open team.db. Every method raises StoreError when SQLite does."""

    __slots__ = ()

    @classmethod
    def open(cls, home: Home) -> ShareState:
        home.create()
        path = os.path.join(home.root, "team.db")
        return cls(database.open_writer(path, SHARE_SCHEMA, STATE_OPEN_WAIT_MS), path)

    def set_server(self, server: str) -> None:
        """Begin with a server: forget the records of another server, but not the person's agreements."""
        if self.run("SELECT id FROM server") != [(server,)]:
            with self._connection:
                self.run("DELETE FROM known")
                self.run("UPDATE projects SET fetched = 0, looked = ?", (NOTHING_LOOKED_AT,))
                self.run("DELETE FROM server")
                self.run("INSERT INTO server VALUES (?)", (server,))

    def note_overruled(self, overrulings: Iterable[Overruling]) -> None:
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO overruled VALUES (?, ?, ?, ?, ?, ?)", overrulings)

    def overrulings(self, ids: Sequence[str] | None = None) -> dict[str, Overruling]:
        """Return colleagues' changes of the user's own memories, by id. ids: these alone, None for all."""
        sql = "SELECT * FROM overruled WHERE ?1 IS NULL OR id IN (SELECT value FROM json_each(?1))"
        rows = self.run(sql, (None if ids is None else json.dumps(list(ids)),))
        return {row[0]: Overruling(*row) for row in rows}

    def forget_overrulings(self, ids: Sequence[str]) -> None:
        """Forget colleagues' changes of these memories."""
        self.run("DELETE FROM overruled WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))

    def forget_everything(self) -> None:
        """Forget the server, its records and the person's agreements, but not colleagues' changes."""
        with self._connection:
            for table in ("server", "projects", "agreements", "known", "notes"):
                self.run(f"DELETE FROM {table}")  # noqa: S608 - constants

    def progress(self, project: str) -> tuple[int, int]:
        """Return the server's revision up to which all is here, and the store's revision up to which all is there."""
        rows = self.run("SELECT fetched, looked FROM projects WHERE name = ?", (project,))
        return rows[0] if rows else (0, NOTHING_LOOKED_AT)

    def agreed_projects(self, address: str) -> frozenset[str]:
        """Return the projects that the person agreed to share with the server of this address."""
        return frozenset([name for (name,) in self.run("SELECT project FROM agreements WHERE place = ?", (address,))])

    def agree(self, project: str, address: str) -> None:
        """Note the person's agreement. It holds for the database that is met next at this address."""
        self.run("INSERT OR REPLACE INTO agreements (project, place) VALUES (?, ?)", (project, address))

    def is_agreed_to(self, server: str, address: str, projects: Sequence[str]) -> bool:
        """Return whether the person agreed to send these projects there: to the first database met at the address since."""
        values = (address, json.dumps(list(projects)))
        self.run(
            "UPDATE agreements SET server = ? WHERE server = '' AND place = ? AND project IN (SELECT value FROM json_each(?))",
            (server, *values),
        )
        sql = "SELECT count(*) FROM agreements WHERE server = ? AND place = ? AND project IN (SELECT value FROM json_each(?))"
        [(count,)] = self.run(sql, (server, *values))
        return bool(count == len(set(projects)))

    def is_agreed_elsewhere(self, projects: Sequence[str], address: str) -> bool:
        """Return whether the person agreed to send one of these projects to another address."""
        sql = "SELECT 1 FROM agreements WHERE place <> ? AND project IN (SELECT value FROM json_each(?)) LIMIT 1"
        return bool(self.run(sql, (address, json.dumps(list(projects)))))

    def forget_other_agreements(self, address: str, server: str) -> bool:
        """Forget agreements for other addresses or databases, and return whether there were any."""
        sql = "DELETE FROM agreements WHERE place <> ? OR server NOT IN ('', ?) RETURNING 1"
        return bool(self.run(sql, (address, server)))

    def note_progress(self, project: str, side: str, revision: int) -> None:
        """Note the revision up to which all is here (side `fetched`) or there (side `looked`)."""
        sql = f"INSERT INTO projects (name, {side}) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET {side} = excluded.{side}"  # noqa: S608 - constants
        self.run(sql, (project, revision))

    def records(self, condition: str, *values: apsw.SQLiteValue) -> list[SyncRecord]:
        """Return the records that meet a condition in SQL."""
        rows = self.run(f"SELECT {_COLUMNS} FROM known WHERE {condition}", values)  # noqa: S608 - constants
        records = [SyncRecord(*row) for row in rows]
        for record in records:
            record.missed, record.withheld = bool(record.missed), json.loads(str(record.withheld))
        return records

    def records_by_id(self, project: str, ids: Sequence[str]) -> dict[str, SyncRecord]:
        """Return the records of these memories of a project, by id."""
        records = self.records("project = ? AND id IN (SELECT value FROM json_each(?))", project, json.dumps(list(ids)))
        return {record.id: record for record in records}

    def without_vectors(self, project: str, after_id: str, limit: int) -> list[SyncRecord]:
        """Return memories that were sent from here without vectors, by id behind `after_id`."""
        condition = "project = ? AND id > ? AND vectors = '' AND author = '' AND shared <> '' ORDER BY id LIMIT ?"
        return self.records(condition, project, after_id, limit)

    def project_records(self, project: str) -> list[SyncRecord]:
        return self.records("project = ? ORDER BY id", project)

    def put_records(self, records: Iterable[SyncRecord]) -> None:
        """Insert or replace records, all or none."""
        with self._connection:
            self._connection.executemany(_PUT, [record.row() for record in records])

    def drop_records(self, records: Iterable[SyncRecord]) -> None:
        with self._connection:
            for record in records:
                self.run("DELETE FROM known WHERE project = ? AND id = ?", (record.project, record.id))

    def counts(self, project: str) -> tuple[int, int]:
        """Return how many memories of a project are shared from here, and how many came from colleagues."""
        sql = "SELECT count(*) FILTER (WHERE author = ''), count(*) FILTER (WHERE author <> '') FROM known WHERE project = ?"
        own, theirs = self.run(f"{sql} AND shared <> ''", (project,))[0]
        return own, theirs

    def write_note(self, name: str, value: str) -> None:
        self.run("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def read_note(self, name: str) -> str:
        rows = self.run("SELECT value FROM notes WHERE name = ?", (name,))
        return rows[0][0] if rows else ""
