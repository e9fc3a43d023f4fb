"""Session transcripts on disk, of all clients: files, and the sessions in the database of OpenCode."""

import errno
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from glob import iglob
from itertools import islice
from typing import BinaryIO

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import dict_value, milliseconds_value, text_value
from subcog_hooks.capture.sources.source_reading import SourceReading, read_settings
from subcog_hooks.clients.description import list_clients
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out
from subcog_hooks.core.repository_variables import is_users_own
from subcog_hooks.learn.transcript_rows import MESSAGE_ID, Row, answer_rows, call_row, result_row, typed_row, writer_of
from subcog_hooks.store import project

SUFFIX = ".jsonl"
AGENT_PREFIX, AGENTS_FOLDER = "agent-", "subagents"  # names of transcripts and folders of subagents
IDLE_MS = 3 * 3_600_000  # ms; a session that was quiet this long is complete for now
_TAILS = 65_536, 4_194_304  # bytes at the end that are searched for the last row's time
_TIME = re.compile(rb'"timestamp": ?"([0-9T:.+Z-]{10,40})"')
_DIGESTED_BYTES = 4_096  # bytes at the beginning and before the end that identify a file

MAX_SESSION_FILES = 50_000  # files of a client
LEARNED_CLIENTS = {client.name: client for client in list_clients() if client.sessions}


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript. size: bytes; changed: milliseconds since the epoch of its last row."""

    path: str
    size: int
    changed: int


def find_transcripts(folder: str, report_error: Callable[[OSError], None] = lambda _: None) -> list[TranscriptFile]:
    """Return the transcripts below a folder, oldest first. report_error: for unreadable folders."""
    paths: list[str] = []
    for parent, below, names in os.walk(folder, onerror=report_error):
        below[:] = [name for name in below if name != AGENTS_FOLDER]
        paths += [os.path.join(parent, name) for name in names if name.endswith(SUFFIX) and not name.startswith(AGENT_PREFIX)]
    return sorted(filter(None, map(transcript_at, paths)), key=lambda file: (file.changed, file.path))


def find_client_transcripts(clients: Collection[str], report_error: Callable[[OSError], None]) -> list[TranscriptFile]:
    """Return the sessions of other clients, oldest first. report_error: for an unreadable database."""
    found = [file for client in clients for path in find_session_files(client) for file in _sessions_in(path, report_error)]
    return sorted(found, key=lambda file: (file.changed, file.path))


def _sessions_in(path: str, report_error: Callable[[OSError], None]) -> list[TranscriptFile]:
    """Return the sessions in a file of another client. A subagent's, whose prompts are by an agent, are left out."""
    if os.path.basename(path) != DATABASE:
        file = transcript_at(path)
        return [file] if file else []
    try:
        with foreign_database.open_database(path, SourceReading("opencode"), os.path.dirname(path)) as opened:
            sizes = opened.sum_lengths("part", "data", "session_id")
            rows = list(opened.select_rows("session", _SESSION_COLUMNS))
    except (OSError, UsageError) as error:
        report_error(error if isinstance(error, OSError) else OSError(errno.EIO, str(error), path))
        return []
    sessions = []
    for row in rows:
        identifier = text_value(row, "id")
        if identifier and os.path.basename(identifier) == identifier and not row.get("parent_id"):
            changed = milliseconds_value(row, "time_updated", "time_created")
            sessions.append(TranscriptFile(os.path.join(path, identifier), sizes.get(identifier, 0), changed))
    return sessions


def transcript_at(path: str) -> TranscriptFile | None:
    """Return the transcript at a path, None if there is no regular file."""
    if database := database_of(path):
        return next((file for file in _sessions_in(database, lambda _: None) if file.path == path), None)
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not os.path.isfile(path):
        return None
    changed = status.st_mtime_ns // 1_000_000
    with suppress(OSError), open(path, "rb") as file:  # The reading reports the error.
        for tail in _TAILS:
            file.seek(max(0, status.st_size - tail))
            if times := _TIME.findall(file.read(tail)):
                changed = min(changed, parse_time_ms(times[-1].decode()) or changed)  # The file may have been copied since.
                break
    return TranscriptFile(path, status.st_size, changed)


def parse_time_ms(text: str) -> int:
    """Parse a row's time into milliseconds since the epoch, 0 for another text."""
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return 0


def has_transcript(path: str) -> bool:
    """Return whether there is a file that can hold the transcript at a path."""
    return os.path.isfile(database_of(path) or path)


def compute_digest(path: str, end: int) -> str:
    """Return a digest of a transcript's beginning and of the bytes before `end`. Raises OSError."""
    digest = hashlib.blake2b(digest_size=16)
    with open_session(path) as file:
        digest.update(file.read(min(end, _DIGESTED_BYTES)))
        file.seek(max(0, end - _DIGESTED_BYTES))
        digest.update(file.read(min(end, _DIGESTED_BYTES)))
    return digest.hexdigest()


class SessionFolders:
    """The folders of sessions, and their projects."""

    def __init__(self, left_out: Sequence[str]) -> None:
        named = [project.resolve_identity(os.path.expanduser(name)) for name in left_out]
        self._left_out = {*named, *(os.path.realpath(name) for name in named if os.path.isabs(name))}
        # a project's name can mean the end of a path
        ends = [os.path.normpath(name).casefold() for name in left_out if not os.path.isabs(os.path.expanduser(name))]
        self._ends = [os.path.join(os.sep, end, "") for end in ends]
        self._found: dict[str, project.Project | None] = {}
        self._is_left_out: dict[str, bool] = {}

    def owner_of(self, folder: str) -> str | None:
        """Return the identity of a folder's project, None outside of any; a missing folder's own path."""
        if not folder:
            return None
        if owner := self._project(folder):
            return owner.identity
        return None if os.path.isdir(folder) else os.path.normpath(folder)

    def root_of(self, folder: str) -> str | None:
        """Return the root of a folder's project, None outside of any or for a missing folder."""
        here = self._project(folder) if folder else None
        return here.root if here and os.path.isdir(folder) else None

    def is_excluded(self, folder: str) -> bool:
        """Return whether the person excludes a folder from learning."""
        if not folder or not self._left_out:
            return False
        if folder not in self._is_left_out:
            here = self._project(folder)
            names = {self.owner_of(folder), *(here.names if here else ())}
            paths = [os.path.join(path, "").casefold() for path in (os.path.normpath(folder), os.path.realpath(folder))]
            is_below = any(path.startswith(os.path.join(name, "").casefold()) for name in self._left_out for path in paths)
            has_end = any(end in path for end in self._ends for path in paths)
            self._is_left_out[folder] = is_below or has_end or not names.isdisjoint(self._left_out)
        return self._is_left_out[folder]

    def _project(self, folder: str) -> project.Project | None:
        if folder not in self._found:
            self._found[folder] = project.find_project(folder) if os.path.isabs(folder) else None
        return self._found[folder]


def find_session_files(client: str) -> Iterator[str]:
    """Yield the files that hold a client's sessions, without links out of its folder; none where a repository may set `~`."""
    folder, pattern = LEARNED_CLIENTS[client].data.folder_path, LEARNED_CLIENTS[client].sessions
    if not os.path.isdir(folder) or not is_users_own(os.path.expanduser("~")):
        return
    names = iglob(pattern.replace("/", os.sep), root_dir=folder)
    paths = (os.path.join(folder, name) for name in islice(names, MAX_SESSION_FILES))
    yield from (path for path in paths if os.path.isfile(path) and not leads_out(path, folder))


def name_session(path: str) -> str:
    """Return the name of the session that a transcript holds, which tells it from all others.

    >>> name_session("/home/me/.claude/projects/-shop/4f56.jsonl"), name_session(".copilot/session-state/a1/events.jsonl")
    ('4f56', 'a1')
    """
    folder, name = os.path.split(path)
    return os.path.basename(folder) if name == "events.jsonl" else name.removesuffix(".jsonl")


def client_of(path: str) -> str:
    """Return the name of the client whose session a transcript holds. Raises OSError."""
    if database_of(path):
        return OPENCODE
    with open(path, "rb") as file:
        for line in islice(file, MAX_ROWS_OF_CLIENT):
            with suppress(ValueError, RecursionError):
                row = json.loads(line)
                if isinstance(row, dict) and (name := writer_of(row)):
                    return name
    return CLAUDE


def find_folder(path: str) -> str:
    """Return the folder of a session of Gemini CLI, whose rows name none: its list of projects does; "" for other sessions."""
    chats = os.path.dirname(path)
    project = os.path.dirname(chats)
    if os.path.basename(chats) != "chats" or os.path.basename(os.path.dirname(project)) != "tmp":
        return ""
    folders = read_settings(os.path.join(project, "..", "..", "projects.json")).get("projects")
    names = folders.items() if isinstance(folders, dict) else ()
    return next((folder for folder, name in names if name == os.path.basename(project)), "")


CLAUDE, OPENCODE = "claude", "opencode"  # clients whose rows do not say so
MAX_ROWS_OF_CLIENT = 20  # rows that may tell the client
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
    if not database:
        return open(path, "rb")
    statuses = [os.stat(file) for file in (database, f"{database}-wal") if os.path.exists(file)]
    return io.BytesIO(_write_out(path, tuple((status.st_mtime_ns, status.st_size) for status in statuses)))


@lru_cache(maxsize=4)
def _write_out(path: str, _version: tuple[tuple[int, int], ...]) -> bytes:
    """Write out a session. _version: changes with its database. Raises OSError."""
    database, identifier = os.path.split(path)
    parts = []
    try:
        with foreign_database.open_database(database, SourceReading("opencode"), os.path.dirname(database)) as opened:
            session = next(opened.select_rows("session", _SESSION_COLUMNS, ("id", (identifier,))), {})
            undone = text_value(dict_value(session, "revert"), "messageID")
            selected = ("session_id", (identifier,))
            messages = opened.select_rows("message", ("id", "data"), selected, by_index=True)
            authors = {text_value(message, "id"): text_value(dict_value(message, "data"), "role") for message in messages}
            columns = ("id", "message_id", "time_created", "data")
            for part in opened.select_rows("part", columns, selected, by_index=True):
                message, time_ms = text_value(part, "message_id"), milliseconds_value(part, "time_created")
                moment = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat() if time_ms else ""
                id_ = text_value(part, "id")
                located = {"cwd": text_value(session, "directory"), "timestamp": moment, MESSAGE_ID: id_}
                if not undone or message < undone:
                    rows = [*_read_part(dict_value(part, "data"), authors.get(message), located)]
                    parts.append((message, time_ms, id_, rows))
    except UsageError as error:
        raise OSError(errno.EIO, str(error), database) from error
    parts.sort(key=lambda part: part[:3])
    return b"".join(json.dumps(row).encode() + b"\n" for *_, rows in parts for row in rows)


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
