"""The columns of memories that a session's brief needs: reading them takes a fifth of the time of full rows."""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.store.memory import CLAUDE_SOURCE, IN_CONTEXT, REJECTED, author_phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any  # the STRICT tables guarantee the column types

    import apsw

    Run = Callable[[str, tuple[apsw.SQLiteValue, ...]], list[tuple[Any, ...]]]

MAX_CONTENT_READ = 6_000  # characters of a memory's text: no line of a brief is made from more

_UNCONDITIONAL = (
    f"namespace <> '{REJECTED}'"
    " AND triggers = '[]' AND paths = '[]' AND conditions = '{}' AND (expires_at IS NULL OR expires_at > ?)"
    f" AND NOT (substr(source, 1, {len(CLAUDE_SOURCE)}) = '{CLAUDE_SOURCE}' AND instr(source, '{IN_CONTEXT}') > 0)"
)
_COLUMNS = "namespace, scope, created_at, trust, source, standing, updated_at"
_OUTLINE_COLUMNS = f"seq, id, substr(content, 1, {MAX_CONTENT_READ}), {_COLUMNS}"
_ROW_COLUMNS = f"seq, id, content, {_COLUMNS}, triggers, paths, conditions, expires_at"


@record
class Outline:
    """A memory without triggers, paths, conditions or expiry in the past, which the client does not load itself.

    seq: its row number; content: its first MAX_CONTENT_READ characters. created_at, updated_at: ms since the epoch.
    standing: None where nobody has set it.
    """

    seq: int
    id: str
    content: str
    namespace: str
    scope: str
    created_at: int
    trust: str
    source: str
    standing: bool | None
    updated_at: int

    @property
    def noted(self) -> str:
        """A short phrase that names its author; "" for the user."""
        return author_phrase(self.trust, self.source)


def find_newest(run: Run, audiences: Sequence[str], limit: int, now_ms: int) -> list[Outline]:
    """Return the unconditional live memories among the `limit` newest of each project, and of the shared ones."""
    outlines: list[Outline] = []
    for project, scopes in _scopes_by_project(audiences):
        newest = (
            f"SELECT {_ROW_COLUMNS} FROM memories INDEXED BY memories_by_project"  # noqa: S608 - constants and marks
            f" WHERE project IS ? AND status = 'active' AND scope IN ({_placeholders(scopes)}) ORDER BY seq DESC LIMIT ?"
        )
        rows = run(f"SELECT {_OUTLINE_COLUMNS} FROM ({newest}) WHERE {_UNCONDITIONAL}", (project, *scopes, limit, now_ms))  # noqa: S608 - as above
        outlines += [Outline(*row) for row in rows]
    return outlines


def find_standing(run: Run, audiences: Sequence[str], limit: int, now_ms: int) -> list[Outline]:
    """Return the `limit` newest unconditional live memories of each project that are marked as standing.

    Of equally old ones the first stored come, as a document begins with them.
    """
    outlines: list[Outline] = []
    for project, scopes in _scopes_by_project(audiences):
        rows = run(
            f"SELECT {_OUTLINE_COLUMNS} FROM memories INDEXED BY memories_standing WHERE status = 'active' AND standing = 1"  # noqa: S608 - as above
            f" AND project IS ? AND scope IN ({_placeholders(scopes)}) AND {_UNCONDITIONAL}"
            " ORDER BY created_at DESC, seq LIMIT ?",
            (project, *scopes, now_ms, limit),
        )
        outlines += [Outline(*row) for row in rows]
    return outlines


def find_by_ids(run: Run, ids: Sequence[str], audiences: Sequence[str], now_ms: int) -> list[Outline]:
    """Return the unconditional live memories with these ids for these audiences."""
    outlines: list[Outline] = []
    for project, scopes in _scopes_by_project(audiences) if ids else ():
        rows = run(
            f"SELECT {_OUTLINE_COLUMNS} FROM memories WHERE id IN ({_placeholders(ids)}) AND +status = 'active'"  # noqa: S608 - as above
            f" AND +project IS ? AND scope IN ({_placeholders(scopes)}) AND {_UNCONDITIONAL}",
            (*ids, project, *scopes, now_ms),
        )
        outlines += [Outline(*row) for row in rows]
    return outlines


def _scopes_by_project(audiences: Sequence[str]) -> list[tuple[str | None, list[str]]]:
    """Return the projects of audiences with their scopes, None for the scopes of all projects."""
    projects: list[tuple[str | None, list[str]]] = []
    for audience in audiences:
        scope, _, project = audience.partition(":")
        if project:
            projects.append((project, [scope]))
    if scopes := [audience for audience in audiences if ":" not in audience]:
        projects.append((None, scopes))
    return projects


def _placeholders(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
