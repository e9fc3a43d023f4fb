"""Rows of other clients' sessions as rows of Claude Code's transcripts, so that one reader and one detector serve all.

A row says by its own fields which client wrote it. Only typed text becomes a typed prompt: the clients' contexts, the texts of
hooks and the prompts of agents do not. OpenCode's are rows of an SQLite file.
"""

import errno
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
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

Row = Mapping[str, object]

AGENT_SESSION = "agentSession"  # marks a row whose whole session has prompts by agents
MESSAGE_ID, REWOUND_TO = "messageId", "rewoundTo"  # A message replaces another with its id; a rewind drops it and all later.
TYPED_AS = "typedAs"  # The kind of a typed prompt's row: some versions of Codex write each prompt as two kinds.
_COMMANDS, _PATHS = ("command", "cmd"), ("file_path", "filePath", "path", "absolute_path")
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit Code:|<exited with exit code) ([1-9]\d{0,2})\b", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_IDE_REQUEST = "## My request for Codex:"  # editors put their context before it
_CONTEXTS = ("hook_context", "session_context")  # elements of Gemini CLI, also at the beginning of a prompt
_LOCATED = ("uuid", "parentUuid", "sessionId", "timestamp", "cwd")


def read_client_row(row: Row) -> Iterator[Row]:
    """Yield a row of any client as rows of Claude Code's transcripts. Never fails.

    >>> [typed["message"] for typed in read_client_row({"type": "user.message", "data": {"content": "use pnpm"}})]
    [{'role': 'user', 'content': 'use pnpm'}]
    >>> list(read_client_row({"type": "progress", "data": {}}))
    [{'type': 'progress', 'data': {}}]
    """
    return next((read(row) for wrote, read in READERS.values() if wrote(row)), iter((row,)))


def typed_row(text: str, located: Row) -> Row:
    """Return the row of a typed prompt. located: fields for the row's time, folder and position."""
    author = {"origin": {"kind": "human"}, "promptSource": "typed"}
    return {**located, "type": "user", **author, "message": {"role": "user", "content": text}}


def answer_rows(text: str, located: Row) -> Iterator[Row]:
    """Yield the row of an agent's words, none without words."""
    if text.strip():
        yield {**located, "type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}


def call_row(identifier: object, name: object, arguments: object, located: Row) -> Row:
    """Return the row of a tool call, with the names of tools and arguments that Claude Code uses."""
    tool = "create_file" if name == "create" else _text(name)  # our reader knows by this name that it changes a file
    given = arguments if isinstance(arguments, Mapping) else {}
    command = next((given[field] for field in _COMMANDS if field in given), "")
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else [_text(command)]
    path = next((value for field in _PATHS if (value := _text(given.get(field)))), "")
    patched = _PATCHED.search(arguments) if isinstance(arguments, str) else None
    fields = {"command": words[-1] if words else "", "file_path": patched[1] if patched else path}
    block = {"type": "tool_use", "id": _text(identifier), "name": tool, "input": fields}
    return {**located, "type": "assistant", "message": {"content": [block]}}


def result_row(identifier: object, text: str, located: Row, *, is_error: bool) -> Row:
    """Return the row of a tool's result, which never holds the person's answer: its text is the tool's."""
    has_failed = is_error or _EXIT_CODE.search(text) is not None
    block = {"type": "tool_result", "tool_use_id": _text(identifier), "content": text, "is_error": has_failed}
    return {**located, "type": "user", "toolDenialKind": "", "message": {"content": [block]}}


def _read_codex(row: Row) -> Iterator[Row]:
    payload, located = _object(row, "payload"), {"timestamp": row.get("timestamp")}
    kind = payload.get("type") if row.get("type") in ("event_msg", "response_item") else row.get("type")
    if kind == "session_meta":
        source, thread = payload.get("source"), payload.get("thread_source") or "user"
        is_agents = isinstance(source, Mapping) or source == "mcp" or thread != "user"
        yield {**located, "type": "system", "cwd": payload.get("cwd"), AGENT_SESSION: is_agents}
    elif kind == "turn_context":
        yield {**located, "type": "system", "cwd": payload.get("cwd")}
    elif kind == "item_completed" and _object(payload, "item").get("type") == "UserMessage":
        yield typed_row(_without_ide_context(_joined_texts(_object(payload, "item"))), {**located, TYPED_AS: kind})
    elif kind == "user_message" and payload.get("kind") in (None, "plain"):  # older versions
        yield typed_row(_without_ide_context(_text(payload.get("message"))), {**located, TYPED_AS: kind})
    elif kind == "message" and payload.get("role") == "assistant":
        yield from answer_rows(_joined_texts(payload), located)
    elif kind in ("function_call", "custom_tool_call"):
        arguments = payload.get("arguments", payload.get("input"))
        yield call_row(payload.get("call_id"), payload.get("name"), _parsed_arguments(arguments), located)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        text = _text(payload.get("output"))
        yield result_row(payload.get("call_id"), text, located, is_error=text.startswith("Command blocked by"))


def _without_ide_context(text: str) -> str:
    return (text.partition(_IDE_REQUEST)[2] or text).strip()


def _parsed_arguments(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) and arguments.startswith("{") else arguments
    except (ValueError, RecursionError):
        return {}


def _read_gemini(row: Row) -> Iterator[Row]:
    located = {"timestamp": row.get("timestamp"), MESSAGE_ID: row.get("id")}
    if "projectHash" in row:
        yield {"type": "system", AGENT_SESSION: row.get("kind", "main") != "main"}
    elif "$rewindTo" in row:
        yield {"type": "system", REWOUND_TO: row["$rewindTo"]}
    elif row.get("type") == "user":
        yield typed_row(_typed_in_gemini(row), located)
    elif row.get("type") == "gemini":
        yield from answer_rows(_text(row.get("content")), located)
        for call in list_blocks(row.get("toolCalls")):
            yield call_row(call.get("id"), call.get("name"), call.get("args"), located)
            responses = (_object(_object(result, "functionResponse"), "response") for result in list_blocks(call.get("result")))
            printed = "\n".join(_text(response.get("error", response.get("output"))) for response in responses)
            yield result_row(call.get("id"), printed, located, is_error=call.get("status") == "error")


def _typed_in_gemini(row: Row) -> str:
    content = row.get("displayContent", row.get("content"))
    parts = [{"text": content}] if isinstance(content, str) else list(list_blocks(content))
    if any("functionResponse" in part for part in parts):
        return ""
    return next((text for part in parts if (text := _without_context(_text(part.get("text"))))), "")


def _without_context(text: str) -> str:
    """Return a text without the contexts at its beginning.

    >>> _without_context("<hook_context>x</hook_context> use pnpm"), _without_context("<session_context>x")
    ('use pnpm', '')
    """
    text = text.strip()
    while name := next((name for name in _CONTEXTS if text.startswith(f"<{name}>")), ""):
        text = text.partition(f"</{name}>")[2].strip()
    return text


def _read_qwen(row: Row) -> Iterator[Row]:
    located = {name: row[name] for name in _LOCATED if name in row}
    parts = list(list_blocks(_object(row, "message").get("parts")))
    yield {**located, "type": "system"}  # it is a node of the tree, also without words
    if row.get("type") == "user" and row.get("provenance") == "real_user":
        shown = _text(_object(row, "systemPayload").get("displayText"))
        yield typed_row(shown or next((_text(part.get("text")) for part in parts), ""), located)
    elif row.get("type") == "assistant":
        yield from answer_rows(
            "\n".join(_text(part["text"]) for part in parts if "text" in part and not part.get("thought")), located
        )
        for call in (_object(part, "functionCall") for part in parts if "functionCall" in part):
            yield call_row(call.get("id"), call.get("name"), call.get("args"), located)
    elif row.get("type") == "tool_result":
        is_error = _object(row, "toolCallResult").get("status") == "error"
        for result in (_object(part, "functionResponse") for part in parts):
            response = _object(result, "response")
            printed = _text(response.get("error", response.get("output")))
            yield result_row(result.get("id"), printed, located, is_error=is_error)


def _read_copilot(row: Row) -> Iterator[Row]:
    data, located = _object(row, "data"), {"timestamp": row.get("timestamp")}
    kind = _text(row.get("type"))
    if row.get("agentId"):  # an event of a subagent
        return
    if kind in ("session.start", "session.resume"):
        yield {**located, "type": "system", "cwd": _object(data, "context").get("cwd")}
    elif kind == "user.message" and data.get("source", "user") in ("", "user", None):
        yield typed_row(_text(data.get("content")), located)
    elif kind == "assistant.message":
        yield from answer_rows(_text(data.get("content")), located)
        for call in list_blocks(data.get("toolRequests")):
            yield call_row(call.get("toolCallId"), call.get("name"), call.get("arguments"), located)
    elif kind == "tool.execution_complete":
        is_error = data.get("success") is False
        printed = _object(data, "error").get("message") if is_error else _object(data, "result").get("content")
        yield result_row(data.get("toolCallId"), _text(printed), located, is_error=is_error)


_COPILOT_EVENTS = ("session.", "user.", "assistant.", "tool.", "hook.", "system.", "subagent.", "skill.", "permission.")
READERS: dict[str, tuple[Callable[[Row], bool], Callable[[Row], Iterator[Row]]]] = {  # whether a client wrote a row; its reader
    "codex": (lambda row: isinstance(row.get("payload"), Mapping) and "message" not in row, _read_codex),
    "copilot": (lambda row: "data" in row and _text(row.get("type")).startswith(_COPILOT_EVENTS), _read_copilot),
    "qwen": (lambda row: "provenance" in row or "parts" in _object(row, "message"), _read_qwen),
    "gemini": (
        lambda row: (
            not {"projectHash", "$rewindTo", "$set"}.isdisjoint(row)
            or (row.get("type") in ("user", "gemini") and "message" not in row)
        ),
        _read_gemini,
    ),
}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(fields: Row, name: str) -> Row:
    value = fields.get(name)
    return value if isinstance(value, Mapping) else {}


def list_blocks(value: object) -> Iterator[Row]:
    """Yield the objects of a list, such as the blocks of a message's content; none for a text."""
    return (entry for entry in value if isinstance(entry, Mapping)) if isinstance(value, list) else iter(())


def _joined_texts(fields: Row) -> str:
    return "\n".join(text for part in list_blocks(fields.get("content")) if (text := _text(part.get("text"))))


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


def _read_session(opened: ForeignDatabase, identifier: str) -> Iterator[Row]:
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
        located = {"cwd": text_value(session, "directory"), "timestamp": moment, MESSAGE_ID: id_}
        if not undone or message < undone:
            parts.append((message, time_ms, id_, list(_read_part(dict_value(part, "data"), authors.get(message), located))))
    for *_, rows in sorted(parts, key=lambda part: part[:3]):
        yield from rows


def _read_part(part: Mapping[str, object], author: str | None, located: Row) -> Iterator[Row]:
    text, identifier = text_value(part, "text"), part.get("callID")
    if part.get("type") == "text" and author == "user" and not part.get("synthetic"):
        yield typed_row(text, located)
    elif part.get("type") == "text" and author == "assistant":
        yield from answer_rows(text[-MAX_PRINTED:], located)
    elif part.get("type") == "tool" and isinstance(state := part.get("state"), Mapping):
        yield call_row(identifier, part.get("tool"), state.get("input"), located)
        metadata = state.get("metadata")
        exit_code = metadata.get("exit") if isinstance(metadata, Mapping) else None
        printed = (text_value(state, "output") or text_value(state, "error"))[:MAX_PRINTED]
        is_error = bool(exit_code) or state.get("status") == "error"
        yield result_row(identifier, printed, located, is_error=is_error)
