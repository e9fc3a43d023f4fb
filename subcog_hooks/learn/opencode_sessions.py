"""OpenCode's sessions, which lie in one SQLite file, as transcripts: a session's path is the database's with its id behind it.

A session is written out in the rows of Claude Code's transcripts, a line for each part of a message, in the order of the parts.
OpenCode adds parts, and deletes the parts of undone turns, so an offset is valid as long as the rows before it are the same.
"""

import errno
import io
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import BinaryIO

from subcog_hooks.capture.sources.foreign_database import (
    ForeignDatabase,
    dict_value,
    milliseconds_value,
    open_database,
    text_value,
)
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.core.errors import UsageError
from subcog_hooks.learn import client_rows

DATABASE = "opencode.db"
MAX_PRINTED = 2_000  # characters of a tool's output
_SESSION_COLUMNS = ("id", "parent_id", "directory", "revert", "time_created", "time_updated")


def database_of(path: str) -> str:
    """Return the database that a session's path names, "" for the path of a file."""
    database = os.path.dirname(path)
    return database if os.path.basename(database) == DATABASE and os.path.isfile(database) else ""


def open_session(path: str) -> BinaryIO:
    """Open a transcript: a file, or a session of OpenCode. Raises OSError."""
    database = database_of(path)
    return io.BytesIO(_write_out(path, _version_of(database))) if database else open(path, "rb")


def list_sessions(database: str) -> Iterator[tuple[str, int, int]]:
    """Yield the path, the size in bytes and the last change in milliseconds of the sessions in a database. Raises OSError.

    The session of a subagent has prompts by an agent, and is left out.
    """
    try:
        with open_database(database, SourceReading("opencode"), os.path.dirname(database)) as opened:
            sizes = opened.sum_lengths("part", "data", "session_id")
            sessions = list(opened.select_rows("session", _SESSION_COLUMNS))
    except UsageError as error:
        raise OSError(errno.EIO, str(error), database) from error
    for session in sessions:
        identifier = text_value(session, "id")
        if identifier and os.path.basename(identifier) == identifier and not session.get("parent_id"):
            changed = milliseconds_value(session, "time_updated", "time_created")
            yield os.path.join(database, identifier), sizes.get(identifier, 0), changed


def _version_of(database: str) -> tuple[int, ...]:
    """Return numbers that change with a database."""
    files = [path for path in (database, f"{database}-wal") if os.path.exists(path)]
    return tuple(number for path in files for number in (os.stat(path).st_mtime_ns, os.stat(path).st_size))


@lru_cache(maxsize=4)
def _write_out(path: str, _version: tuple[int, ...]) -> bytes:
    """Write out a session. Raises OSError."""
    database, identifier = os.path.split(path)
    try:
        with open_database(database, SourceReading("opencode"), os.path.dirname(database)) as opened:
            rows = list(_read_session(opened, identifier))
    except UsageError as error:
        raise OSError(errno.EIO, str(error), database) from error
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _read_session(opened: ForeignDatabase, identifier: str) -> Iterator[client_rows.Row]:
    session = next(opened.select_rows("session", _SESSION_COLUMNS, ("id", (identifier,))), {})
    undone = text_value(dict_value(session, "revert"), "messageID")
    selected = ("session_id", (identifier,))
    authors = {
        text_value(message, "id"): text_value(dict_value(message, "data"), "role")
        for message in opened.select_rows("message", ("id", "data"), selected, by_index=True)
    }
    columns = ("id", "message_id", "time_created", "data")
    parts = []
    for part in opened.select_rows("part", columns, selected, by_index=True):
        message, time_ms, id_ = text_value(part, "message_id"), milliseconds_value(part, "time_created"), text_value(part, "id")
        moment = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat() if time_ms else ""
        located = {"cwd": text_value(session, "directory"), "timestamp": moment, client_rows.MESSAGE_ID: id_}
        if not undone or message < undone:
            parts.append((message, time_ms, id_, list(_read_part(dict_value(part, "data"), authors.get(message), located))))
    for *_, rows in sorted(parts, key=lambda part: part[:3]):
        yield from rows


def _read_part(part: Mapping[str, object], author: str | None, located: client_rows.Row) -> Iterator[client_rows.Row]:
    text, identifier = text_value(part, "text"), part.get("callID")
    if part.get("type") == "text" and author == "user" and not part.get("synthetic"):
        yield client_rows.typed_row(text, located)
    elif part.get("type") == "text" and author == "assistant":
        yield from client_rows.answer_rows(text[-MAX_PRINTED:], located)
    elif part.get("type") == "tool" and isinstance(state := part.get("state"), Mapping):
        yield client_rows.call_row(identifier, part.get("tool"), state.get("input"), located)
        metadata = state.get("metadata")
        exit_code = metadata.get("exit") if isinstance(metadata, Mapping) else None
        printed = (text_value(state, "output") or text_value(state, "error"))[:MAX_PRINTED]
        is_error = bool(exit_code) or state.get("status") == "error"
        yield client_rows.result_row(identifier, printed, located, is_error=is_error)
