"""The program of the same name in Rust (zircote/subcog): memories with namespaces, tags and the project that they are about.

Columns as in `src/storage` of that repository; older versions keep the text in the table for full text alone. `created_at` is
in seconds. What it caught by itself has a tag or a source that says so.
"""

import os
import sys
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import milliseconds_of, tags_of, text_of
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.store import project
from subcog_hooks.store.memory import PENDING

UPSTREAM = "subcog"
INDEX_FILE = "index.db"

_CAUGHT = ("auto-capture", "auto-captured", "pre-compact", "precompact")  # tags and sources of what nobody asked for
_SYSTEM = ("help", "prompts")  # namespaces that hold no memories
_OF_THE_USER = "user"  # the domain of what is about no project
_TEXTS = "memories_fts_content"  # the table behind that for full text: c0 is the id, c1 the content
_COLUMNS = (
    *("id", "namespace", "domain", "project_id", "branch", "file_path", "status", "created_at", "tags", "source"),
    *("tombstoned_at", "expires_at", "is_summary", "content"),
)


def default_path(environment: Mapping[str, str]) -> str:
    """Return where its database is on this system."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "subcog", INDEX_FILE)
    if sys.platform == "win32":
        return os.path.join(environment.get("LOCALAPPDATA", home), "subcog", INDEX_FILE)
    folder = environment.get("XDG_DATA_HOME", "")
    return os.path.join(folder if os.path.isabs(folder) else os.path.join(home, ".local", "share"), "subcog", INDEX_FILE)


def read(path: str) -> SourceReading:
    """Return what it holds. Raises UsageError."""
    reading = SourceReading(UPSTREAM)
    with foreign_database.opened(path, reading, os.path.dirname(default_path({}))) as database:
        database.require("memories", "the other subcog")
        texts = {row.get("c0"): text_of(row, "c1") for row in database.rows(_TEXTS, ("c0", "c1"))}
        for row in database.rows("memories", _COLUMNS):
            content = text_of(row, "content") or texts.get(row.get("id"), "")
            if reason := _reason_against(row, content):
                reading.left_out[reason] += 1
            else:
                _add_memory(row, content, reading)
    return reading


def _reason_against(row: Mapping[str, object], content: str) -> str:
    """Return why a row is left out, "" where it is not."""
    status = text_of(row, "status").lower() or "active"
    if status not in ("active", PENDING) or row.get("tombstoned_at") is not None:
        return f"is {status if status != 'active' else 'tombstoned'} there"
    if text_of(row, "namespace") in _SYSTEM:
        return "is a help text or a prompt"
    if row.get("is_summary"):
        return "is a summary of others"
    if not text_of(row, "project_id") and text_of(row, "domain") == "project":
        return "is about a project that it does not name"
    return "" if content else "is empty"


def _add_memory(row: Mapping[str, object], content: str, reading: SourceReading) -> None:
    tags = tags_of(row, "tags")
    name, kind = text_of(row, "project_id"), text_of(row, "namespace") or "learnings"
    domain = text_of(row, "domain")
    is_caught = any(tag.lower() in _CAUGHT for tag in tags) or text_of(row, "source").lower() in _CAUGHT
    is_waiting = is_caught or text_of(row, "status").lower() == PENDING
    expires = milliseconds_of(row, "expires_at") or None
    file = text_of(row, "file_path")
    reading.add(
        kind,
        text_of(row, "id") or str(row.get("id")),
        content,
        milliseconds_of(row, "created_at"),
        project.resolve_identity(name) if name else None,
        namespace=kind,
        tags=tags if domain in ("", "project", _OF_THE_USER) else (*tags, domain),
        paths=(file,) if file and not os.path.isabs(file) else (),
        expires_at=expires,
        trust="tool" if is_caught else "import",
        status=PENDING if is_waiting else "active",
    )
