"""Memories of claude-mem and claude-mem-lite."""

import os
import re
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import list_value, milliseconds_value, row_name, text_value
from subcog_hooks.capture.sources.source_reading import BY_AGENT, BY_MACHINE, BY_PERSON, SourceReading, read_settings
from subcog_hooks.store.project import Project

CLAUDE_MEM = "claude-mem"
CLAUDE_MEM_FOLDER = "CLAUDE_MEM_DATA_DIR"  # the environment variable that moves its folder

MANUAL_SESSION = "manual-"  # prefix of the session of a note that a person stored

_NAMESPACES = {"decision": "decisions", "bugfix": "learnings", "security_note": "security", "security_alert": "security"}
_EXCLUSION_REASONS = {"sensitive": "is marked sensitive there", "prompt": "is a prompt", "summary": "is a summary of a session"}
_TIMES = ("created_at_epoch", "created_at", "updated_at_epoch", "updated_at")
_COLUMNS = (*"id memory_session_id project text type title narrative facts merged_into_project".split(), *_TIMES)
_ITEM_COLUMNS = (*"id project_id kind type title text narrative facts".split(), *_TIMES)


def default_path(environment: Mapping[str, str]) -> str:
    """Return the path of its database: moved by a variable, or by the settings in the usual folder."""
    usual = _usual_folder()
    settings = read_settings(os.path.join(usual, "settings.json"))
    values = settings.get("env", settings)
    folder = text_value(values, CLAUDE_MEM_FOLDER) if isinstance(values, Mapping) else ""
    return os.path.join(os.path.expanduser(environment.get(CLAUDE_MEM_FOLDER) or folder or usual), "claude-mem.db")


def _usual_folder() -> str:
    return os.path.join(os.path.expanduser("~"), ".claude-mem")


def read_claude_mem(path: str, here: Project) -> SourceReading:
    """Read its memories about the current project. Raises UsageError."""
    reading = SourceReading(CLAUDE_MEM, f"{here.identity}::")  # a namesake project has its own notes
    reading.is_whole = False
    with foreign_database.open_database(path, reading, _usual_folder()) as database:
        database.require_table("observations", CLAUDE_MEM)
        names = {row.get("id"): text_value(row, "name") for row in database.select_rows("projects", ("id", "name"))}
        for table, columns in (("observations", _COLUMNS), ("memory_items", _ITEM_COLUMNS)):
            for row in database.select_rows(table, columns):
                project_name = text_value(row, "merged_into_project") or text_value(row, "project")
                project_name = project_name or names.get(row.get("project_id"), "")
                _add_observation(f"{table}/{row_name(row)}", row, project_name, here, reading)
    if reading.rows:
        folder_name = os.path.basename(here.names[-1])
        remark = "tells projects apart by the folder's name alone: notes about another"
        reading.remarks.append(f"{CLAUDE_MEM} {remark} {folder_name} come, too")
    return reading


def _add_observation(
    location: str, row: Mapping[str, object], project_name: str, here: Project, reading: SourceReading
) -> None:
    kind, item_kind = text_value(row, "type"), text_value(row, "kind")
    is_persons = text_value(row, "memory_session_id").startswith(MANUAL_SESSION) or item_kind == "manual"
    content = observation_text(row)
    if reason := _EXCLUSION_REASONS.get(item_kind) or _EXCLUSION_REASONS.get(kind):
        reading.left_out[reason] += 1
    elif not _names_project(project_name, here):
        reading.left_out[f"is about {project_name or 'no project'}: import it there"] += 1
    elif not content:
        reading.left_out["is empty"] += 1
    else:
        at_ms = milliseconds_value(row, *_TIMES)
        namespace = _NAMESPACES.get(kind, "learnings")
        author = BY_PERSON if is_persons else BY_MACHINE
        reading.add(kind or "note", location, content, at_ms, here.identity, namespace=namespace, **author)


def _names_project(name: str, here: Project) -> bool:
    main = os.path.basename(here.names[-1])
    return name in (os.path.basename(here.root), main) or name.startswith(f"{main}/")


def observation_text(row: Mapping[str, object]) -> str:
    """Return the text of an observation: its text, else title, narrative and facts.

    A title that only begins the narrative is dropped.

    >>> observation_text({"title": "Never deploy on...", "narrative": "Never deploy on a Friday.", "facts": "[]"})
    'Never deploy on a Friday.'
    """
    if whole := text_value(row, "text"):
        return whole
    title, narrative = text_value(row, "title"), text_value(row, "narrative")
    is_repeated = bool(title) and narrative.startswith(title.removesuffix("..."))
    return "\n".join(filter(None, ("" if is_repeated else title, narrative, *list_value(row, "facts"))))


CLAUDE_MEM_LITE = "claude-mem-lite"
MAX_PROJECT_NAME = 100  # characters of a project's name

_ENDED_COLUMNS = ("superseded_at", "superseded_by", "compressed_into", "hidden_at")
_LITE_COLUMNS = (
    *"id memory_session_id project type title narrative lesson_learned importance_set_at".split(),
    *_TIMES,
    *_ENDED_COLUMNS,
)
_FORBIDDEN_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.-]")


def default_lite_path(environment: Mapping[str, str]) -> str:
    """Return the path of its database."""
    folder = environment.get("CLAUDE_MEM_DIR") or os.path.join(os.path.expanduser("~"), ".claude-mem-lite")
    return os.path.join(folder, "claude-mem-lite.db")


def lite_project_name(root: str) -> str:
    """Return claude-mem-lite's name of the project in a folder.

    >>> lite_project_name("/home/me/my shop")
    'me--my-shop'
    """
    parent, name = os.path.split(root)
    above = os.path.basename(parent)
    return _FORBIDDEN_IN_NAMES.sub("-", f"{above}--{name}" if above else name)[:MAX_PROJECT_NAME]


def read_claude_mem_lite(path: str, here: Project) -> SourceReading:
    """Read its memories about the current project. Raises UsageError."""
    reading = SourceReading(CLAUDE_MEM_LITE, f"{here.identity}::")  # a namesake project has its own notes
    reading.is_whole = False
    names = (lite_project_name(here.root), os.path.basename(here.root))
    with foreign_database.open_database(path, reading, os.path.dirname(default_lite_path({}))) as database:
        database.require_table("observations", CLAUDE_MEM_LITE)
        for row in database.select_rows("observations", _LITE_COLUMNS):
            project_name = text_value(row, "project")
            if project_name not in names:
                reading.left_out[f"is about {project_name or 'no project'}: import it there"] += 1
            elif any(row.get(column) is not None for column in _ENDED_COLUMNS):
                reading.left_out["is replaced or hidden there"] += 1
            else:
                _add_lesson(row, here.identity, reading)
    return reading


def _add_lesson(row: Mapping[str, object], owner: str, reading: SourceReading) -> None:
    is_manual = text_value(row, "memory_session_id").startswith(MANUAL_SESSION)
    is_persons = row.get("importance_set_at") is not None
    lesson = text_value(row, "lesson_learned")
    narrative = text_value(row, "narrative") if is_manual or (is_persons and not lesson) else ""
    content = "\n".join(dict.fromkeys(filter(None, (narrative, lesson))))
    if not content:
        reading.left_out["has no lesson"] += 1
        return
    kind = text_value(row, "type") or "note"
    author = BY_PERSON if is_persons else BY_AGENT if is_manual else BY_MACHINE
    at_ms = milliseconds_value(row, *_TIMES)
    namespace = _NAMESPACES.get(kind, "learnings")
    reading.add(kind, f"observations/{row.get('id')}", content, at_ms, owner, namespace=namespace, **author)
