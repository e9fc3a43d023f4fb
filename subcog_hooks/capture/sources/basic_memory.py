"""basic-memory: Markdown notes that agents write and people edit, in the folders that its configuration names as projects.

The format is that of `docs/NOTE-FORMAT.md` of basicmachines-co/basic-memory, as its version 0.18.0 writes it. A note that a
hook made of a session is a machine's; the others are an agent's.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping

from subcog_hooks.capture import markdown
from subcog_hooks.capture.importing import find_markdown_files
from subcog_hooks.capture.record_status import parse_status
from subcog_hooks.capture.sources.source_reading import (
    BY_AGENT,
    BY_MACHINE,
    SourceReading,
    project_of,
    read_source_text,
    valid_tags,
)
from subcog_hooks.capture.written_dates import parse_date_ms
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import read_regular

BASIC_MEMORY = "basic-memory"
MAX_CONFIG = 1_000_000  # bytes

_NAME_FOLDER = "name the folder: subcog import --from basic-memory FOLDER"
_RELATION = re.compile(r"^[ \t]*- [^\n\[]*\[\[[^\]\n]*\]\][ \t]*(?:\([^\n]*\)[ \t]*)?(?:\n|\Z)", re.MULTILINE)
_EMPTY_HEADING = re.compile(r"^#{2,6} (?:Relations|Observations)[ \t]*\n*(?=#|\Z)", re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*- \[([A-Za-z][\w -]*)\] ", re.MULTILINE)
_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "preference": "patterns", "reference": "context"}


def list_note_folders(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield its projects and their note folders. Raises UsageError."""
    folder = environment.get("BASIC_MEMORY_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".basic-memory")
    file = os.path.join(folder, "config.json")
    try:
        configuration = json.loads(read_regular(file, MAX_CONFIG).decode("utf-8-sig"))
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {error}", _NAME_FOLDER) from error
    projects = configuration.get("projects") if isinstance(configuration, dict) else None
    for name, value in projects.items() if isinstance(projects, dict) else ():
        path = value.get("path") if isinstance(value, dict) else value  # Older versions write the path alone.
        if isinstance(path, str):
            yield name, os.path.abspath(os.path.expanduser(path))


def read_basic_memory(environment: Mapping[str, str], only: str | None = None) -> SourceReading:
    """Read the notes of all projects. only: one folder of notes instead. Raises UsageError."""
    reading = SourceReading(BASIC_MEMORY)
    reading.is_whole = only is None
    path = os.path.abspath(only or "")
    note_folders = [(os.path.basename(path), path)] if only else list(list_note_folders(environment))
    if not any(os.path.isdir(folder) for _, folder in note_folders):
        source = only or "its configuration"
        raise UsageError(f"{source} has no notes of basic-memory", _NAME_FOLDER)
    for name, folder in note_folders:
        if not _has_entries(folder):
            reading.unread.append(f"{name}/")
            reading.remarks.append(f"{folder} is missing, empty or cannot be listed: memories from there stay")
            continue
        reading.begin_store(folder, os.path.join(os.path.expanduser("~"), BASIC_MEMORY))
        owner = project_of(folder)
        for file in find_markdown_files(folder):
            location = f"{name}/{os.path.relpath(file, folder)}".replace(os.sep, "/")
            if text_and_time := read_source_text(file, reading, inside=folder):
                _add_note(location, *text_and_time, owner, reading)
    return reading


def _has_entries(folder: str) -> bool:
    """Return whether a folder can tell which notes are gone. An empty one cannot: its disk could be missing."""
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _add_note(location: str, text: str, changed_ms: int, owner: str | None, reading: SourceReading) -> None:
    fields, body = markdown.parse_front_matter(text)
    kind = _field_value(fields, "type").lower() or "note"
    content = _EMPTY_HEADING.sub("", _RELATION.sub("", body)).strip()
    body_text = re.sub(r"^#[^\n]*\n*", "", content).strip()
    if parse_status(_field_value(fields, "status")).has_ended:
        reading.left_out["is replaced or rejected by its own words"] += 1
        return
    if not body_text:
        reading.left_out["is empty"] += 1
        return
    is_hooks = _field_value(fields, "capture") in ("extractive", "summarized")
    title = _field_value(fields, "title")
    tags = [tag.lstrip("#").strip() for tag in fields.get("tags", [])]
    kinds = {kind, *(match[1].lower() for match in _OBSERVATION.finditer(content))}
    content = content if content.startswith("# ") or not title else f"# {title}\n\n{content}"
    at_ms = parse_date_ms(_field_value(fields, "modified") or _field_value(fields, "created")) or changed_ms
    namespace = next((space for name, space in _NAMESPACES.items() if name in kinds), "learnings")
    author = BY_MACHINE if is_hooks else BY_AGENT
    reading.add_document(kind, location, content, at_ms, owner, namespace=namespace, tags=valid_tags(tags), **author)


def _field_value(fields: Mapping[str, list[str]], name: str) -> str:
    return next(iter(fields.get(name, [])), "")
