"""mcp-memory-service: memories with tags and a type; automatic ones wait for review.

Columns and tags are as its version 12.4.0 writes them. It has no projects, so its memories hold in all of the person's.
"""

import os
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import dict_value, milliseconds_value, tags_value, text_value
from subcog_hooks.capture.sources.source_reading import BY_AGENT, BY_MACHINE, BY_PERSON, SourceReading, data_folder

MCP_MEMORY = "mcp-memory-service"
FILE = "sqlite_vec.db"

_HARVEST_TAGS = ("session-harvest", "harvest:")  # prefixes of the tags of memories that it extracted from sessions
_GENERATED_TAGS = ({"cluster", "compressed"}, {"association", "discovered"}, {"auto-generated"})  # tags of summaries and links
_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "convention": "patterns"}
_NAMESPACES |= {"reference": "context", "context": "context", "task": "progress"}
_COLUMNS = ("id", "content_hash", "content", "tags", "memory_type", "deleted_at", "superseded_by", "metadata")
_TIMES = ("created_at", "created_at_iso", "updated_at", "updated_at_iso")


def default_path(environment: Mapping[str, str]) -> str:
    """Return the path of its database on this system."""
    for name in ("MCP_MEMORY_SQLITE_PATH", "MCP_MEMORY_SQLITEVEC_PATH"):
        if file := environment.get(name):
            return file
    if folder := environment.get("MCP_MEMORY_BASE_DIR"):
        return os.path.join(folder, FILE)
    return os.path.join(data_folder({**environment, "XDG_DATA_HOME": ""}, "mcp-memory"), FILE)  # it knows no such variable


def read_mcp_memory(path: str) -> SourceReading:
    """Read its memories. Raises UsageError."""
    reading = SourceReading(MCP_MEMORY)
    with foreign_database.open_database(path, reading, os.path.dirname(default_path({}))) as database:
        database.require_table("memories", MCP_MEMORY)
        for row in database.select_rows("memories", (*_COLUMNS, *_TIMES)):
            tags = tuple(tag for tag in tags_value(row, "tags") if tag != "untagged")
            if reason := _exclusion_reason(row, tags):
                reading.left_out[reason] += 1
            else:
                _add_memory(row, tags, reading)
    return reading


def _exclusion_reason(row: Mapping[str, object], tags: tuple[str, ...]) -> str:
    if row.get("deleted_at") is not None:
        return "is deleted there"
    if text_value(row, "superseded_by") or dict_value(row, "metadata").get("superseded_by"):
        return "is superseded there"
    if "harvest-tracker" in tags:
        return "is a note of the program to itself"
    return "" if text_value(row, "content") else "is empty"


def _add_memory(row: Mapping[str, object], tags: tuple[str, ...], reading: SourceReading) -> None:
    is_guessed = any(tag.startswith(_HARVEST_TAGS) for tag in tags) or any(made <= set(tags) for made in _GENERATED_TAGS)
    is_agents = any(tag.startswith("agent:") for tag in tags)
    author = BY_MACHINE if is_guessed else BY_AGENT if is_agents else BY_PERSON
    kind = text_value(row, "memory_type") or "note"
    location = text_value(row, "content_hash") or str(row.get("id"))
    content, at_ms = text_value(row, "content"), milliseconds_value(row, *_TIMES)
    reading.add(kind, location, content, at_ms, None, tags=tags, namespace=_NAMESPACES.get(kind, "learnings"), **author)
