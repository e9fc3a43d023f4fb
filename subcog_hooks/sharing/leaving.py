"""Ways out of the server: an export of all that a role may read, and memories that are erased everywhere."""

from __future__ import annotations

import os

from subcog_hooks.control_characters import to_json
from subcog_hooks.errors import InvalidMemory, UsageError
from subcog_hooks.memory.model import TEAM, team_source
from subcog_hooks.sharing import documents
from subcog_hooks.sharing.schema import LOST
from subcog_hooks.whole_files import WholeFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from subcog_hooks.sharing.connection import Connection

AT_ONCE = 2_000  # rows that are read at once

_ALL = "SELECT project, id, author, doc::text FROM subcog.memories WHERE doc IS NOT NULL ORDER BY project, id"
# put aside by the server, or by a home that did not know which of two was later
_LOST_TO = f"(lost_to = ANY(%(ids)s) OR id LIKE '{LOST}%%' AND doc ->> 'superseded_by' = ANY(%(ids)s))"
_ERASE = f"""
UPDATE subcog.memories SET doc = NULL, erased = true, content_hash = NULL
WHERE project = ANY(%(projects)s) AND (id = ANY(%(ids)s) OR {_LOST_TO}) AND NOT erased
"""  # noqa: S608 - constants
_ERASE_VECTORS = f"""
DELETE FROM subcog.vectors USING subcog.memories
WHERE vectors.project = ANY(%(projects)s) AND memories.project = vectors.project AND memories.id = vectors.id
AND (memories.id = ANY(%(ids)s) OR {_LOST_TO.replace("id LIKE", "memories.id LIKE")})
"""  # noqa: S608 - constants


def export(connection: Connection, file: str, write: Callable[[str], None]) -> int:
    """Write every memory that the role may read as a line that `import` reads. Return how many there were.

    file: `-` for `write`. Raises UsageError where it can not be written; psycopg's errors.
    """
    count = 0
    if file == "-":
        for line in _lines(connection):
            write(line)
            count += 1
        return count
    if not os.path.basename(file) or os.path.isdir(file):
        raise UsageError(f"{file!r} names no file", "name the file to write, or - for standard output")
    try:
        with WholeFile(os.path.realpath(file)) as whole:
            for line in _lines(connection):
                whole.file.write(line)
                count += 1
    except OSError as error:
        raise UsageError(f"{file} can not be written: {error.strerror}", "check the folder and the disk") from error
    return count


def _lines(connection: Connection) -> Iterator[str]:
    with connection.transaction(), connection.cursor(name="subcog_export") as cursor:
        cursor.itersize = AT_ONCE
        cursor.execute(_ALL)
        for project, id_, author, text in cursor:
            try:
                document = documents.read(text)
            except InvalidMemory:  # `import` could not read it either
                continue
            source = team_source(documents.shown_author(author))
            yield to_json({"id": id_, "project": project, **document, "trust": TEAM, "source": source}) + "\n"


def erase(connection: Connection, projects: Sequence[str], ids: Sequence[str], *, has_vectors: bool) -> None:
    """Erase memories on the server for good, with the versions that lost to them. Homes that have them erase them, too.

    projects: those in one of which they may be there; one that was moved here may not have been moved there yet.
    """
    values = {"projects": list(projects), "ids": list(ids)}
    with connection.transaction():
        if has_vectors:
            connection.execute(_ERASE_VECTORS, values)
        connection.execute(_ERASE, values)
