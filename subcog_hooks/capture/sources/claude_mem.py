"""claude-mem: what its observer noted about sessions, and what a person had it keep.

Columns as its version 13.25.3 writes them, and those of its server's newer tables. What a model observed is a guess until the
person has seen it: it waits for review. What a person has it keep is an observation of a session of its own.
"""

import json
import os
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import ForeignDatabase, list_of, milliseconds_of, name_of, text_of
from subcog_hooks.capture.sources.reading import SourceReading
from subcog_hooks.memory.model import PENDING
from subcog_hooks.memory.project import Project
from subcog_hooks.regular_files import read_regular

CLAUDE_MEM = "claude-mem"
CLAUDE_MEM_FOLDER = "CLAUDE_MEM_DATA_DIR"  # the variable by which it is moved
MAX_CLAUDE_MEM_SETTINGS = 1_000_000  # bytes of its settings
MILLISECONDS = 1000.0  # its times are `Date.now()`

MANUAL_SESSION = "manual-"  # begins the session of what a person has it keep

_NAMESPACES = {"decision": "decisions", "bugfix": "learnings", "security_note": "security", "security_alert": "security"}
_LEFT_OUT = {"sensitive": "is marked sensitive there", "prompt": "is a prompt", "summary": "is a summary of a session"}
_COLUMNS = (
    *("id", "memory_session_id", "project", "text", "type", "title", "narrative", "facts", "created_at_epoch"),
    "merged_into_project",
)
_ITEM_COLUMNS = ("id", "project_id", "kind", "type", "title", "text", "narrative", "facts", "created_at_epoch")


def default_path(environment: Mapping[str, str]) -> str:
    """Return where its database is: moved by a variable, or by its settings in the usual folder."""
    usual = _usual_folder()
    folder = environment.get(CLAUDE_MEM_FOLDER) or _set_folder(os.path.join(usual, "settings.json")) or usual
    return os.path.join(os.path.expanduser(folder), "claude-mem.db")


def _usual_folder() -> str:
    return os.path.join(os.path.expanduser("~"), ".claude-mem")


def _set_folder(settings: str) -> str:
    """Return the folder that its settings name, "" where they name none."""
    try:
        said = json.loads(read_regular(settings, MAX_CLAUDE_MEM_SETTINGS).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return ""
    said = said.get("env", said) if isinstance(said, dict) else None
    folder = said.get(CLAUDE_MEM_FOLDER) if isinstance(said, dict) else None
    return folder if isinstance(folder, str) else ""


def read(path: str, here: Project) -> SourceReading:
    """Return what it holds about the project at hand. Raises UsageError."""
    reading = SourceReading(CLAUDE_MEM, f"{here.identity}::")  # another of the same name has its own
    reading.is_whole = False
    with foreign_database.opened(path, reading, _usual_folder()) as database:
        database.require("observations", CLAUDE_MEM)
        names = {row.get("id"): text_of(row, "name") for row in database.rows("projects", ("id", "name"))}
        _read_observations(database, here, reading)
        for row in database.rows("memory_items", _ITEM_COLUMNS):
            of = names.get(row.get("project_id"), "")
            is_persons = text_of(row, "kind") == "manual"
            if reason := _LEFT_OUT.get(text_of(row, "kind")):
                reading.left_out[reason] += 1
            else:
                _add(f"memory_items/{name_of(row)}", row, of, here, reading, is_persons=is_persons)
    if reading.rows:
        called = os.path.basename(here.names[-1])
        reading.remarks.append(
            f"{CLAUDE_MEM} tells projects apart by the folder's name alone: notes about another {called} come, too"
        )
    return reading


def _read_observations(database: ForeignDatabase, here: Project, reading: SourceReading) -> None:
    for row in database.rows("observations", _COLUMNS):
        of = text_of(row, "merged_into_project") or text_of(row, "project")
        is_persons = text_of(row, "memory_session_id").startswith(MANUAL_SESSION)
        _add(f"observations/{name_of(row)}", row, of, here, reading, is_persons=is_persons)


def _add(
    place: str,
    row: Mapping[str, object],
    of: str,
    here: Project,
    reading: SourceReading,
    *,
    is_persons: bool,
) -> None:
    kind = text_of(row, "type")
    content = told_by(row)
    if reason := _LEFT_OUT.get(kind):
        reading.left_out[reason] += 1
    elif not _is_name_of(of, here):
        reading.left_out[f"is about {of or 'no project'}: import it there"] += 1
    elif not content:
        reading.left_out["is empty"] += 1
    else:
        at = milliseconds_of(row, "created_at_epoch", a_second=MILLISECONDS)
        namespace = namespace_of(kind)
        trust, status = ("import", "active") if is_persons else ("tool", PENDING)
        reading.add(kind or "note", place, content, at, here.identity, namespace=namespace, trust=trust, status=status)


def _is_name_of(name: str, here: Project) -> bool:
    """Return whether it calls the project at hand so: by its folder, or by the main folder's name, a slash and a worktree's."""
    main = os.path.basename(here.names[-1])
    return name in (os.path.basename(here.root), main) or name.startswith(f"{main}/")


def namespace_of(kind: str) -> str:
    """Return the namespace for a type of observation."""
    return _NAMESPACES.get(kind, "learnings")


def told_by(row: Mapping[str, object]) -> str:
    """Return an observation in words: its text, else title, narrative and facts, less a title that only begins the narrative.

    >>> told_by({"title": "Never deploy on...", "narrative": "Never deploy on a Friday.", "facts": "[]"})
    'Never deploy on a Friday.'
    """
    if whole := text_of(row, "text"):
        return whole
    title, narrative = text_of(row, "title"), text_of(row, "narrative")
    is_repeated = bool(title) and narrative.startswith(title.removesuffix("..."))
    return "\n".join(filter(None, ("" if is_repeated else title, narrative, *list_of(row, "facts"))))
