"""memories.db as the hook reads it: memories by row number and by age. `store` adds listing and writing."""

from __future__ import annotations

import os

import apsw

from subcog_hooks.core import database, light_json
from subcog_hooks.core.database import Database, Schema
from subcog_hooks.core.records import record
from subcog_hooks.store.memory import Memory, now_ms, questions_from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from subcog_hooks.core.paths import Home

SCHEMA = Schema(os.path.join(os.path.dirname(__file__), "memories.sql"), version=9, synchronous="FULL")
READ_WAIT_MS = 2_000  # how long a reader waits; the hook gives its own time

_COLUMNS = (
    "seq, id, content, namespace, scope, project, branch, paths, tags, keywords, triggers, conditions, priority, status, "
    "superseded_by, source, trust, created_at, updated_at, expires_at, content_hash, questions, standing"
)


@record
class Filter:
    """Conditions on memories: every field that is given must hold.

    audiences: as `audience_of` writes them; None for all. statuses: () for every status. tags: a memory must have all of them.
    since: created at or after, in milliseconds.
    """

    audiences: tuple[str, ...] | None = None
    statuses: tuple[str, ...] = ("active",)
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    since: int | None = None
    include_expired: bool = False


def audience_of(scope: str, project: str | None) -> str:
    """Return the audience that sees a memory, as one word: `project:<identity>`, `user` or `org`.

    >>> audience_of("project", "github.com/acme/shop")
    'project:github.com/acme/shop'
    """
    return f"project:{project}" if scope == "project" else scope


def audiences_of(*projects: str) -> tuple[str, ...]:
    """Return the audiences of a session in a project with these names: the project, the user and the organisation.

    >>> audiences_of("github.com/acme/shop"), audiences_of()
    (('project:github.com/acme/shop', 'user', 'org'), ('user', 'org'))
    """
    return (*(f"project:{name}" for name in projects), "user", "org")


def reach_of(audience: str) -> int:
    """Return an audience as a number of 62 bits (FNV-1a), for a cache; the store's row separates two of one number."""
    number = 0xCBF29CE484222325
    for byte in audience.encode("utf-8", "surrogatepass"):
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return number >> 2


@record
class Mark:
    """A memory that was marked as wrong for a prompt. terms: the prompt's, as JSON; made_at: ms since the epoch."""

    seq: int
    verdict: str
    terms: str
    made_at: int


class StoreReader(Database):
    """An open memories.db. Every method raises StoreError when SQLite does."""

    __slots__ = ("home",)

    def __init__(self, connection: apsw.Connection, home: Home) -> None:
        super().__init__(connection, home.memories_db)
        self.home = home
        connection.create_scalar_function("is_met", _glob_matches, 2, deterministic=True)

    @classmethod
    def reader(cls, home: Home, busy_ms: float = READ_WAIT_MS) -> Self:
        """Open the store read-only. Raises StoreError, also when there is none yet."""
        return cls(database.open_reader(home.memories_db, SCHEMA, busy_ms), home)

    def by_ids(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories among `ids` that exist, by id."""
        rows = self._memories("WHERE id IN (SELECT value FROM json_each(?))", (light_json.dumps(ids),))
        return {memory.id: memory for memory in rows}

    def by_seqs(self, seqs: Sequence[int]) -> dict[int, Memory]:
        """Return the memories among these row numbers that exist, by row number."""
        if not seqs:
            return {}
        rows = self._memories("WHERE seq IN (SELECT value FROM json_each(?))", (light_json.dumps(seqs),))
        return {memory.seq: memory for memory in rows}

    def ages(self, seqs: Sequence[int]) -> dict[int, tuple[int, str]]:
        """Return the creation time (milliseconds since 1970) and the id of each of these memories, by row number."""
        numbers = ",".join(map(str, map(int, seqs)))
        rows = self.run(f"SELECT seq, created_at, id FROM memories WHERE seq IN ({numbers})")  # noqa: S608 - whole numbers
        return {seq: (created_at, id_) for seq, created_at, id_ in rows}

    def seqs_of(self, ids: Iterable[str]) -> list[int]:
        """Return the row numbers of the memories among `ids` that exist."""
        return [seq for id_ in ids for (seq,) in self.run("SELECT seq FROM memories WHERE id = ?", (id_,))]

    def counts(self) -> dict[str, int]:
        """Return how many memories have each status."""
        return dict(self.run("SELECT status, count(*) FROM memories GROUP BY status"))

    def count_pending(self) -> int:
        """Return how many memories wait for the person's answer."""
        return int(self.run("SELECT count(*) FROM memories WHERE status = 'pending'")[0][0])

    def count_active(self, projects: tuple[str, ...]) -> int:
        """Return how many active memories a session in a project of these names has, expired ones, too."""
        sql = "SELECT count(*) FROM memories WHERE project IS ? AND status = 'active'"
        return sum(int(self.run(sql, (project,))[0][0]) for project in (None, *projects))

    def projects(self) -> list[str]:
        """Return the identities of all projects that have memories."""
        return [row[0] for row in self.run("SELECT DISTINCT project FROM memories WHERE project IS NOT NULL ORDER BY 1")]

    def revision(self) -> int:
        """Return the number of the latest write transaction, 0 for an empty store."""
        return int(self.run("SELECT coalesce(max(number), 0) FROM revisions")[0][0])

    def changed_after(self, number: int, limit: int) -> list[Memory]:
        """Return the memories written after revision `number`, newest change first, at most `limit`."""
        return list(self._memories("WHERE revision > ? ORDER BY revision DESC, seq DESC LIMIT ?", (number, limit)))

    def marks(self, seqs: Sequence[int]) -> list[Mark]:
        """Return the marks of these memories, the oldest first."""
        numbers = ",".join(map(str, map(int, seqs)))
        sql = f"SELECT seq, decision, terms, at FROM marks WHERE seq IN ({numbers}) ORDER BY at, decision"  # noqa: S608 - whole numbers
        return [Mark(*row) for row in self.run(sql)]

    def has_cues(self) -> tuple[bool, bool]:
        """Return whether any active memory has triggers, and whether any has conditions: most stores have none."""
        rows = self.run(
            "SELECT EXISTS (SELECT 1 FROM triggers), EXISTS (SELECT 1 FROM memories INDEXED BY memories_conditional"
            " WHERE status = 'active' AND conditions <> '{}')"
        )
        return bool(rows[0][0]), bool(rows[0][1])

    def matching_seqs(self, wanted: Filter) -> list[int]:
        """Return the row numbers of the matching memories."""
        condition, values = filter_sql(wanted, now_ms())
        return [row[0] for row in self.run(f"SELECT seq FROM memories WHERE {condition}", values)]  # noqa: S608 - constants and marks

    def _memories(self, where: str, values: tuple[apsw.SQLiteValue, ...]) -> Iterator[Memory]:
        try:
            for row in self._connection.execute(f"SELECT {_COLUMNS} FROM memories {where}", values):  # noqa: S608 - constants and marks
                yield _memory_of_row(row)
        except apsw.Error as error:
            raise database.translate_error(error, self.path) from error
        except ValueError as error:
            raise self.unreadable(error) from error


def filter_sql(wanted: Filter, now_ms: int) -> tuple[str, tuple[apsw.SQLiteValue, ...]]:
    """Return the SQL condition of a filter, and its values. now_ms: memories expired by then do not match."""
    clauses: list[str] = ["1"]
    values: list[apsw.SQLiteValue] = []
    if wanted.audiences is not None:
        projects = [name.removeprefix("project:") for name in wanted.audiences if name.startswith("project:")]
        scopes = [name for name in wanted.audiences if not name.startswith("project:")]
        clauses.append(f"(scope IN ({','.join('?' * len(scopes))}) OR project IN ({','.join('?' * len(projects))}))")
        values += scopes + projects
    for column, allowed in (("status", wanted.statuses), ("namespace", wanted.namespaces)):
        if allowed:
            clauses.append(f"{column} IN ({','.join('?' * len(allowed))})")
            values += allowed
    for tag in wanted.tags:
        clauses.append("EXISTS (SELECT 1 FROM json_each(tags) WHERE lower(value) = lower(?))")
        values.append(tag)
    for path in wanted.paths:
        clauses.append("EXISTS (SELECT 1 FROM json_each(paths) WHERE is_met(value, ?) OR value = ?)")
        values += (path, path)
    if wanted.since is not None:
        clauses.append("created_at >= ?")
        values.append(wanted.since)
    if not wanted.include_expired:
        clauses.append("(expires_at IS NULL OR expires_at > ?)")
        values.append(now_ms)
    return " AND ".join(clauses), tuple(values)


def _glob_matches(*values: apsw.SQLiteValue) -> bool:
    from subcog_hooks.cues import globs  # no hook filters by paths

    glob, path = map(str, values)
    return globs.matches(globs.expand_home(glob), path)


def _memory_of_row(row: tuple[apsw.SQLiteValue, ...]) -> Memory:
    values: dict[str, object] = dict(zip(_FIELDS, row, strict=True))
    if (standing := values["standing"]) is not None:
        values["standing"] = bool(standing)
    for field in ("paths", "tags", "keywords", "triggers"):
        list_json = values[field]
        values[field] = () if list_json == "[]" else tuple(light_json.loads(list_json))  # type: ignore[arg-type]  # `_row_of_memory` wrote it
    values["when"] = {} if values["when"] == "{}" else light_json.loads(values["when"])  # type: ignore[arg-type]  # `_row_of_memory` did
    questions_json = values["questions"]
    values["questions"] = () if questions_json == "[]" else questions_from_json(light_json.loads(questions_json))  # type: ignore[arg-type]  # as above
    return Memory(**values)  # type: ignore[arg-type]  # the columns are typed by the STRICT table


_FIELDS = tuple(_COLUMNS.replace("conditions", "when").split(", "))
