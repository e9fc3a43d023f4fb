"""The Rust program of the same name (zircote/subcog): memories with namespaces, tags and projects.

Columns are as in `src/storage` of that repository. Older versions keep the text only in the full-text table. `created_at` is in
seconds. Automatic memories have a tag or source that says so.
"""

import os
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import milliseconds_value, tags_value, text_value
from subcog_hooks.capture.sources.source_reading import SourceReading, data_folder
from subcog_hooks.store import project
from subcog_hooks.store.memory import PENDING

UPSTREAM = "subcog"
INDEX_FILE = "index.db"

# tags and sources of memories that were captured automatically
_AUTOMATIC_SOURCES = ("auto-capture", "auto-captured", "pre-compact", "precompact")
_TEXTS = "memories_fts_content"  # the table behind the full-text table: c0 is the id, c1 the content
_COLUMNS = (
    *"id namespace domain project_id branch file_path status tags source tombstoned_at expires_at".split(),
    *("created_at", "updated_at", "is_summary", "content"),
)


def default_path(environment: Mapping[str, str]) -> str:
    """Return the path of its database on this system."""
    return os.path.join(data_folder(environment, "subcog"), INDEX_FILE)


def read_upstream(path: str) -> SourceReading:
    """Read its memories. Raises UsageError."""
    reading = SourceReading(UPSTREAM)
    with foreign_database.open_database(path, reading, os.path.dirname(default_path({}))) as database:
        database.require_table("memories", "the other subcog")
        texts = {row.get("c0"): text_value(row, "c1") for row in database.select_rows(_TEXTS, ("c0", "c1"))}
        for row in database.select_rows("memories", _COLUMNS):
            content = text_value(row, "content") or texts.get(row.get("id"), "")
            if reason := _exclusion_reason(row, content):
                reading.left_out[reason] += 1
            else:
                _add_memory(row, content, reading)
    return reading


def _exclusion_reason(row: Mapping[str, object], content: str) -> str:
    status = text_value(row, "status").lower() or "active"
    if status not in ("active", PENDING) or row.get("tombstoned_at") is not None:
        return f"is {status if status != 'active' else 'tombstoned'} there"
    if text_value(row, "namespace") in ("help", "prompts"):
        return "is a help text or a prompt"
    if row.get("is_summary"):
        return "is a summary of others"
    if not text_value(row, "project_id") and text_value(row, "domain") == "project":
        return "is about a project that it does not name"
    return "" if content else "is empty"


def _add_memory(row: Mapping[str, object], content: str, reading: SourceReading) -> None:
    tags = tags_value(row, "tags")
    name, kind = text_value(row, "project_id"), text_value(row, "namespace") or "learnings"
    domain = text_value(row, "domain")
    is_caught = not {tag.lower() for tag in (*tags, text_value(row, "source"))}.isdisjoint(_AUTOMATIC_SOURCES)
    file = text_value(row, "file_path")
    fields: dict[str, object] = {
        "namespace": kind,
        "tags": tags if domain in ("", "project", "user") else (*tags, domain),
        "paths": (file,) if file and not os.path.isabs(file) else (),
        "expires_at": milliseconds_value(row, "expires_at") or None,
        "trust": "tool" if is_caught else "import",
        "status": PENDING if is_caught or text_value(row, "status").lower() == PENDING else "active",
    }
    location, at_ms = text_value(row, "id") or str(row.get("id")), milliseconds_value(row, "created_at", "updated_at")
    reading.add(kind, location, content, at_ms, project.resolve_identity(name) if name else None, **fields)
