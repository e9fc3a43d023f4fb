"""Reads of memories what a session's brief weighs, without the rest of their rows, which takes a fifth of the time."""

from __future__ import annotations

from subcog_hooks.store.memory import FROM_CLAUDE, IN_CONTEXT, told_author

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any  # what a column holds is said by the STRICT tables

    import apsw

    Run = Callable[[str, tuple[apsw.SQLiteValue, ...]], list[tuple[Any, ...]]]

LONGEST = 6_000  # characters that are read of a memory's text: more than any line of a brief is made from
FEW_READ = 10  # memories of each project, which are .1 ms

_FOR_ALL = (
    "triggers = '[]' AND paths = '[]' AND conditions = '{}' AND (expires_at IS NULL OR expires_at > ?)"
    f" AND NOT (substr(source, 1, {len(FROM_CLAUDE)}) = '{FROM_CLAUDE}' AND instr(source, '{IN_CONTEXT}') > 0)"
)
_SHOWN = f"id, substr(content, 1, {LONGEST}), namespace, scope, created_at, trust, source, standing"
_READ = "id, content, namespace, scope, created_at, trust, source, triggers, paths, conditions, expires_at, standing"


class Outline:
    """A memory that waits for no moment of its own, no triggers, paths or conditions, and that the client does not load itself.

    content: of a longer one its first LONGEST characters. created_at: in milliseconds since the epoch. standing: what somebody
    has said of it, None where nobody has.
    """

    __slots__ = ("content", "created_at", "id", "namespace", "noted", "scope", "standing", "trust")

    def __init__(
        self,
        id: str,
        content: str,
        namespace: str,
        scope: str,
        created_at: int,
        trust: str,
        source: str,
        standing: int | None,
    ) -> None:
        self.id = id
        self.content = content
        self.namespace = namespace
        self.scope = scope
        self.created_at = created_at
        self.trust = trust
        self.noted = told_author(trust, source)
        self.standing = None if standing is None else bool(standing)


def find_newest(run: Run, audiences: Sequence[str], limit: int, now_ms: int) -> list[Outline]:
    """Return the live memories that wait for nothing among the `limit` that each project, and all projects, stored last."""
    found: list[Outline] = []
    for project, scopes in _projects(audiences):
        last = (
            f"SELECT {_READ} FROM memories INDEXED BY memories_by_project"  # noqa: S608 - constants and marks
            f" WHERE project IS ? AND status = 'active' AND scope IN ({_marks(scopes)}) ORDER BY seq DESC LIMIT ?"
        )
        rows = run(f"SELECT {_SHOWN} FROM ({last}) WHERE {_FOR_ALL}", (project, *scopes, limit, now_ms))  # noqa: S608 - as above
        found += [Outline(*row) for row in rows]
    return found


def find_standing(run: Run, audiences: Sequence[str], limit: int, now_ms: int) -> list[Outline]:
    """Return the live memories that wait for nothing and were called standing, the `limit` last ones of each project."""
    found: list[Outline] = []
    for project, scopes in _projects(audiences):
        rows = run(
            f"SELECT {_SHOWN} FROM memories INDEXED BY memories_standing WHERE status = 'active' AND standing = 1"  # noqa: S608 - as above
            f" AND project IS ? AND scope IN ({_marks(scopes)}) AND {_FOR_ALL} ORDER BY seq DESC LIMIT ?",
            (project, *scopes, now_ms, limit),
        )
        found += [Outline(*row) for row in rows]
    return found


def find_by_ids(run: Run, ids: Sequence[str], audiences: Sequence[str], now_ms: int) -> list[Outline]:
    """Return the memories of these ids that are live, wait for nothing and are for these audiences."""
    found: list[Outline] = []
    for project, scopes in _projects(audiences) if ids else ():
        rows = run(
            f"SELECT {_SHOWN} FROM memories WHERE id IN ({_marks(ids)}) AND +status = 'active'"  # noqa: S608 - as above
            f" AND +project IS ? AND scope IN ({_marks(scopes)}) AND {_FOR_ALL}",  # by ids: a project may have 50,000
            (*ids, project, *scopes, now_ms),
        )
        found += [Outline(*row) for row in rows]
    return found


def fit_into(run: Run, room: int, audiences: Sequence[str], limit: int, longest: int) -> bool:
    """Return whether all active memories for these audiences fit into so many characters, and are at most `limit` a project.

    longest: characters of one that count. A few of each project are read first: of most stores these are too many.
    """
    for most in (FEW_READ, limit + 1):
        left = room
        for project, scopes in _projects(audiences):
            rows = run(
                "SELECT min(length(content), ?) FROM memories INDEXED BY memories_by_project"  # noqa: S608 - as above
                f" WHERE project IS ? AND status = 'active' AND scope IN ({_marks(scopes)}) LIMIT ?",
                (longest, project, *scopes, most),
            )
            left -= sum([int(row[0]) for row in rows])
            if left < 0 or len(rows) > limit:
                return False
    return True


def _projects(audiences: Sequence[str]) -> list[tuple[str | None, list[str]]]:
    """Return the projects of audiences with their scopes, None for what is for all projects."""
    found: list[tuple[str | None, list[str]]] = []
    for audience in audiences:
        scope, _, project = audience.partition(":")
        if project:
            found.append((project, [scope]))
    if scopes := [audience for audience in audiences if ":" not in audience]:
        found.append((None, scopes))
    return found


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
