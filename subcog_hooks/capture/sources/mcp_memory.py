"""mcp-memory-service: memories with tags and a type; what it harvested from sessions by itself waits for review.

Columns as in `src/mcp_memory_service/storage/sqlite_vec.py` of doobidoo/mcp-memory-service. It knows no projects: its
memories are for all of the person's.
"""

import os
import sys
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import milliseconds_of, text_of
from subcog_hooks.capture.sources.reading import SourceReading
from subcog_hooks.memory.model import MAX_ENTRY, MAX_LIST, PENDING

MCP_MEMORY = "mcp-memory-service"
MCP_MEMORY_FOLDER = "MCP_MEMORY_BASE_DIR"  # the variable by which it is moved
FILE = "sqlite_vec.db"
HARVESTED = ("session-harvest", "harvest:")  # begin the tags of what it took from sessions by itself

_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "error": "learnings", "reference": "context", "task": "progress"}
_COLUMNS = ("id", "content_hash", "content", "tags", "memory_type", "created_at", "deleted_at")


def default_path(environment: Mapping[str, str]) -> str:
    """Return where its database is on this system."""
    home = os.path.expanduser("~")
    if folder := environment.get(MCP_MEMORY_FOLDER):
        return os.path.join(folder, FILE)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "mcp-memory", FILE)
    if sys.platform == "win32":
        return os.path.join(environment.get("LOCALAPPDATA", home), "mcp-memory", FILE)
    return os.path.join(home, ".local", "share", "mcp-memory", FILE)


def read(path: str) -> SourceReading:
    """Return what it holds. Raises UsageError."""
    reading = SourceReading(MCP_MEMORY)
    with foreign_database.opened(path) as database:
        for row in database.rows("memories", _COLUMNS):
            content, kind = text_of(row, "content"), text_of(row, "memory_type") or "note"
            if row.get("deleted_at") is not None:
                reading.left_out["is deleted there"] += 1
                continue
            if not content:
                reading.left_out["is empty"] += 1
                continue
            tags = tuple(
                dict.fromkeys(tag.strip() for tag in text_of(row, "tags").split(",") if 0 < len(tag.strip()) <= MAX_ENTRY)
            )
            is_guessed = any(tag.startswith(HARVESTED) for tag in tags)
            trust, status = ("tool", PENDING) if is_guessed else ("import", "active")
            place = text_of(row, "content_hash") or str(row.get("id"))
            at = milliseconds_of(row, "created_at")
            namespace = _NAMESPACES.get(kind, "learnings")
            reading.add(kind, place, content, at, None, tags=tags[:MAX_LIST], namespace=namespace, trust=trust, status=status)
    return reading
