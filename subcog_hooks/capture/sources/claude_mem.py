"""Memories of claude-mem and claude-mem-lite."""

import json
import os
import re
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import ForeignDatabase, list_of, milliseconds_of, name_of, text_of
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.core.regular_files import read_regular
from subcog_hooks.store.memory import AGENT, PENDING
from subcog_hooks.store.project import Project

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


CLAUDE_MEM_LITE = "claude-mem-lite"
CLAUDE_MEM_LITE_FOLDER = "CLAUDE_MEM_DIR"  # the variable by which it is moved
LONGEST_PROJECT = 100  # characters of a project's name there

_ENDED = ("superseded_at", "superseded_by", "compressed_into", "hidden_at")
_LITE_COLUMNS = (
    *("id", "memory_session_id", "project", "type", "title", "narrative", "lesson_learned", "created_at_epoch"),
    *("importance_set_at", *_ENDED),
)
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.-]")


def default_lite_path(environment: Mapping[str, str]) -> str:
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


def read_lite(path: str, here: Project) -> SourceReading:
    """Return what it holds about the project at hand. Raises UsageError."""
    reading = SourceReading(CLAUDE_MEM_LITE, f"{here.identity}::")  # another of the same name has its own
    reading.is_whole = False
    names = (project_called(here.root), os.path.basename(here.root))
    with foreign_database.opened(path, reading, os.path.dirname(default_lite_path({}))) as database:
        database.require("observations", CLAUDE_MEM_LITE)
        for row in database.rows("observations", _LITE_COLUMNS):
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
