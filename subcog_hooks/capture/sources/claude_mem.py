"""claude-mem: what its observer noted about sessions, and what a person had it keep.

Columns as in `src/services/sqlite/SessionStore.ts` and `src/storage/sqlite/schema.ts` of thedotmack/claude-mem (e2d1df5). What
a model observed is a guess until the person has seen it: it waits for review.
"""

import json
import os
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import ForeignDatabase, milliseconds_of, text_of
from subcog_hooks.capture.sources.reading import SourceReading
from subcog_hooks.memory.model import PENDING

CLAUDE_MEM = "claude-mem"
CLAUDE_MEM_FOLDER = "CLAUDE_MEM_DATA_DIR"  # the variable by which it is moved
MILLISECONDS = 1000.0  # its times are `Date.now()`

_NAMESPACES = {"decision": "decisions", "bugfix": "learnings", "security_note": "security", "security_alert": "security"}
_LEFT_OUT = {"sensitive": "is marked sensitive there", "prompt": "is a prompt", "summary": "is a summary of a session"}
_COLUMNS = (
    *("id", "project", "text", "type", "title", "subtitle", "narrative", "facts", "files_modified", "created_at_epoch"),
    *("merged_into_project", "superseded_at", "compressed_into", "hidden_at", "lesson_learned"),
)
_ITEM_COLUMNS = ("id", "project_id", "kind", "type", "title", "text", "narrative", "facts", "created_at_epoch")


def default_path(environment: Mapping[str, str]) -> str:
    """Return where its database is."""
    folder = environment.get(CLAUDE_MEM_FOLDER) or os.path.join(os.path.expanduser("~"), ".claude-mem")
    return os.path.join(folder, "claude-mem.db")


def read(path: str, project: str, owner: str | None) -> SourceReading:
    """Return what it holds about one project. Raises UsageError.

    project: as it is called there, by a folder's last name; owner: the project's identity here.
    """
    reading = SourceReading(CLAUDE_MEM)
    reading.is_whole = False
    with foreign_database.opened(path) as database:
        names = {row.get("id"): text_of(row, "name") for row in database.rows("projects", ("id", "name"))}
        _read_observations(database, project, owner, reading)
        for row in database.rows("memory_items", _ITEM_COLUMNS):
            of = names.get(row.get("project_id"), "")
            is_persons = text_of(row, "kind") == "manual"
            if reason := _LEFT_OUT.get(text_of(row, "kind")):
                reading.left_out[reason] += 1
            else:
                _add(f"memory_items/{row.get('id')}", row, of, project, owner, reading, is_persons=is_persons)
    return reading


def _read_observations(database: ForeignDatabase, project: str, owner: str | None, reading: SourceReading) -> None:
    for row in database.rows("observations", _COLUMNS):
        of = text_of(row, "merged_into_project") or text_of(row, "project")
        if any(row.get(column) for column in ("superseded_at", "compressed_into", "hidden_at")):
            reading.left_out["is replaced or hidden there"] += 1
        else:
            _add(f"observations/{row.get('id')}", row, of, project, owner, reading, is_persons=False)


def _add(
    place: str,
    row: Mapping[str, object],
    of: str,
    project: str,
    owner: str | None,
    reading: SourceReading,
    *,
    is_persons: bool,
) -> None:
    kind = text_of(row, "type")
    content = _content(row)
    if reason := _LEFT_OUT.get(kind):
        reading.left_out[reason] += 1
    elif of != project:
        reading.left_out[f"is about {of or 'no project'}: import it there"] += 1
    elif not content:
        reading.left_out["is empty"] += 1
    else:
        at = milliseconds_of(row, "created_at_epoch", a_second=MILLISECONDS)
        namespace = _NAMESPACES.get(kind, "learnings")
        trust, status = ("import", "active") if is_persons else ("tool", PENDING)
        reading.add(kind or "note", place, content, at, owner, namespace=namespace, trust=trust, status=status)


def _content(row: Mapping[str, object]) -> str:
    """Return an observation in words: its lesson, else its text, else title, narrative and facts."""
    if whole := text_of(row, "lesson_learned") or text_of(row, "text"):
        return whole
    try:
        facts = json.loads(text_of(row, "facts") or "[]")
    except ValueError:
        facts = []
    told = [fact for fact in facts if isinstance(fact, str)] if isinstance(facts, list) else []
    return "\n".join(filter(None, (text_of(row, "title"), text_of(row, "narrative"), *told)))
