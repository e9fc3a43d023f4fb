"""claude-mem-lite: the lessons that its observer drew from sessions, and what it was told to keep.

Columns as in `schema.mjs` of sdsrss/claude-mem-lite, version 49 of its schema. What it was told to keep is in a session of its
own, and may be an agent's word as well as a person's; what a person has given a weight is taken for theirs.
"""

import os
import re
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.claude_mem import MANUAL_SESSION, MILLISECONDS, namespace_of
from subcog_hooks.capture.sources.foreign_database import milliseconds_of, text_of
from subcog_hooks.capture.sources.reading import SourceReading
from subcog_hooks.memory.model import AGENT, PENDING
from subcog_hooks.memory.project import Project

CLAUDE_MEM_LITE = "claude-mem-lite"
CLAUDE_MEM_LITE_FOLDER = "CLAUDE_MEM_DIR"  # the variable by which it is moved
LONGEST_PROJECT = 100  # characters of a project's name there

_ENDED = ("superseded_at", "superseded_by", "compressed_into", "hidden_at")
_COLUMNS = (
    *("id", "memory_session_id", "project", "type", "title", "narrative", "lesson_learned", "created_at_epoch"),
    *("importance_set_at", *_ENDED),
)
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.-]")


def default_path(environment: Mapping[str, str]) -> str:
    """Return where its database is."""
    folder = environment.get(CLAUDE_MEM_LITE_FOLDER) or os.path.join(os.path.expanduser("~"), ".claude-mem-lite")
    return os.path.join(folder, "claude-mem-lite.db")


def project_called(root: str) -> str:
    """Return what it calls the project in a folder.

    >>> project_called("/home/me/my shop")
    'me--my-shop'
    """
    parent, name = os.path.split(root)
    above = os.path.basename(parent)
    return _NOT_IN_NAMES.sub("-", f"{above}--{name}" if above else name)[:LONGEST_PROJECT]


def read(path: str, here: Project) -> SourceReading:
    """Return what it holds about the project at hand. Raises UsageError."""
    reading = SourceReading(CLAUDE_MEM_LITE, f"{here.identity}::")  # another of the same name has its own
    reading.is_whole = False
    names = (project_called(here.root), os.path.basename(here.root))
    with foreign_database.opened(path, reading, os.path.dirname(default_path({}))) as database:
        database.require("observations", CLAUDE_MEM_LITE)
        for row in database.rows("observations", _COLUMNS):
            of = text_of(row, "project")
            if of not in names:
                reading.left_out[f"is about {of or 'no project'}: import it there"] += 1
            elif any(row.get(column) is not None for column in _ENDED):
                reading.left_out["is replaced or hidden there"] += 1
            else:
                _add_lesson(row, here.identity, reading)
    return reading


def _add_lesson(row: Mapping[str, object], owner: str, reading: SourceReading) -> None:
    is_kept = text_of(row, "memory_session_id").startswith(MANUAL_SESSION)
    is_persons = row.get("importance_set_at") is not None
    lesson = text_of(row, "lesson_learned")
    told = text_of(row, "narrative") if is_kept or (is_persons and not lesson) else ""
    content = "\n".join(dict.fromkeys(filter(None, (told, lesson))))
    if not content:
        reading.left_out["has no lesson"] += 1
        return
    kind = text_of(row, "type") or "note"
    trust, status = ("import", "active") if is_persons else (AGENT, "active") if is_kept else ("tool", PENDING)
    at = milliseconds_of(row, "created_at_epoch", a_second=MILLISECONDS)
    place = f"observations/{row.get('id')}"
    reading.add(kind, place, content, at, owner, namespace=namespace_of(kind), trust=trust, status=status)
