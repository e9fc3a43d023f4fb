"""mcp-memory-service: memories with tags and a type; what it noted or made up by itself waits for review.

Columns and tags as its version 12.4.0 writes them. It knows no projects: its memories are for all of the person's.
"""

import os
import sys
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import milliseconds_of, tags_of, text_of
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.store.memory import AGENT, PENDING

MCP_MEMORY = "mcp-memory-service"
MCP_MEMORY_FOLDER = "MCP_MEMORY_BASE_DIR"  # the variable by which it is moved
MCP_MEMORY_FILES = ("MCP_MEMORY_SQLITE_PATH", "MCP_MEMORY_SQLITEVEC_PATH")  # and those by which its file is
FILE = "sqlite_vec.db"

_NO_TAG = "untagged"  # it puts where there is none
_OF_AGENT = "agent:"  # begins the tag with the name of an agent that stored a memory over HTTP
_HARVESTED = ("session-harvest", "harvest:")  # begin the tags of what it took from sessions by itself
_MADE_UP = ({"cluster", "compressed"}, {"association", "discovered"}, {"auto-generated"})  # tags of its summaries and links
_OWN = "harvest-tracker"  # tag of what it has noted for itself
_NAMESPACES = {
    "decision": "decisions",
    "pattern": "patterns",
    "convention": "patterns",
    "reference": "context",
    "context": "context",
    "task": "progress",
}
_COLUMNS = ("id", "content_hash", "content", "tags", "memory_type", "created_at", "deleted_at", "superseded_by")


def default_path(environment: Mapping[str, str]) -> str:
    """Return where its database is on this system."""
    home = os.path.expanduser("~")
    for name in MCP_MEMORY_FILES:
        if file := environment.get(name):
            return file
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
    with foreign_database.opened(path, reading, os.path.dirname(default_path({}))) as database:
        database.require("memories", MCP_MEMORY)
        for row in database.rows("memories", _COLUMNS):
            tags = tuple(tag for tag in tags_of(row, "tags") if tag != _NO_TAG)
            if reason := _reason_against(row, tags):
                reading.left_out[reason] += 1
            else:
                _add_memory(row, tags, reading)
    return reading


def _reason_against(row: Mapping[str, object], tags: tuple[str, ...]) -> str:
    """Return why a row is left out, "" where it is not."""
    if row.get("deleted_at") is not None:
        return "is deleted there"
    if text_of(row, "superseded_by"):
        return "is superseded there"
    if _OWN in tags:
        return "is a note of the program to itself"
    return "" if text_of(row, "content") else "is empty"


def _add_memory(row: Mapping[str, object], tags: tuple[str, ...], reading: SourceReading) -> None:
    is_guessed = any(tag.startswith(_HARVESTED) for tag in tags) or any(made <= set(tags) for made in _MADE_UP)
    is_agents = any(tag.startswith(_OF_AGENT) for tag in tags)
    trust, status = ("tool", PENDING) if is_guessed else (AGENT if is_agents else "import", "active")
    kind = text_of(row, "memory_type") or "note"
    reading.add(
        kind,
        text_of(row, "content_hash") or str(row.get("id")),
        text_of(row, "content"),
        milliseconds_of(row, "created_at"),
        None,
        tags=tags,
        namespace=_NAMESPACES.get(kind, "learnings"),
        trust=trust,
        status=status,
    )
