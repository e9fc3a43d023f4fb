"""The line about the last session in this project, from the client's transcript beside the session's own. Nothing is kept.

It takes 2 ms with 300 transcripts: of one, only the beginning and the end are read. An image in its prompt takes 2 ms a MB.
"""

from __future__ import annotations

import os

from subcog_hooks.core.light_json import loads
from subcog_hooks.core.regular_files import open_regular
from subcog_hooks.hook.block import make_harmless
from subcog_hooks.hook.payload import OF_CLIENT, text_of
from subcog_hooks.store import sessions
from subcog_hooks.text.sanitise import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.hook.call import HookCall

LAST_SESSION = "[last session "  # the beginning of the line
LAST_SESSION_SETTING = "surfacing.last_session"
MAX_LINE_UNITS = 400  # UTF-16 units of the whole line
MAX_PROMPT_UNITS = 120  # UTF-16 units of the prompt
MAX_FILES = 3  # edited files that are named
MAX_FILE_CHARACTERS = 60
MAX_BRANCH_CHARACTERS = 40
MAX_CANDIDATES = 5  # transcripts that are opened until one has a prompt
HEAD_BYTES, TAIL_BYTES = 65_536, 500_000  # of a transcript
MAX_ROW_BYTES = 8_000_000  # of the row at the end of the head, which may be a prompt with images
NO_MEMORY = "[nomem]"  # The person excludes a session that begins with it from memory.

_EDITS = (b'"name":"Edit","input":{', b'"name":"Write","input":{', b'"name":"MultiEdit","input":{')
_INJECTED = ("<", "/", "[Request interrupted", "Caveat: ", "This session is being continued from a previous conversation")
_OTHER_AUTHORS = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "toolUseResult", "agentId")


def describe_last_session(call: HookCall) -> str:
    """Return the line about the session here that was active last before this one began, "" for none. Raises StoreError.

    A resumed session gets the line that it began with, as long as that session has not gone on since.
    """
    transcript = text_of(call.payload, "transcript_path")
    if not call.settings[LAST_SESSION_SETTING] or OF_CLIENT in call.payload or not os.path.isabs(transcript):
        return ""
    session = sessions.find_session(call.state, call.session) if call.session else None
    began_ms = session.started_at if session else call.now_ms
    root = call.here.root if call.here else text_of(call.payload, "cwd")
    for path in _earlier_transcripts(transcript, call.session, began_ms):
        try:
            head, tail = _read_ends(path)
        except OSError:
            continue
        if prompt := _first_prompt(head):
            return "" if NO_MEMORY in prompt else _format_line(prompt, head + tail, root)
    return ""


def _earlier_transcripts(own: str, session: str, began_ms: int) -> list[str]:
    """Return the transcripts beside a session's own that were last written before it began, the newest first."""
    times: list[tuple[float, str]] = []
    try:
        with os.scandir(os.path.dirname(own)) as entries:
            for entry in entries:
                is_other = entry.name not in (os.path.basename(own), f"{session}.jsonl")
                is_session = entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
                if is_other and is_session and entry.is_file(follow_symlinks=False):
                    times.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    except OSError:
        return []
    return [path for time_s, path in sorted(times, reverse=True) if time_s * 1000 <= began_ms][:MAX_CANDIDATES]


def _read_ends(path: str) -> tuple[bytes, bytes]:
    """Return the beginning of a file, to the end of a row, and its end. Raises OSError."""
    with open(open_regular(path), "rb", buffering=HEAD_BYTES) as file:
        head = file.read(HEAD_BYTES)
        head += file.readline(MAX_ROW_BYTES)
        file.seek(max(len(head), os.fstat(file.fileno()).st_size - TAIL_BYTES))
        return head, file.read(TAIL_BYTES)


def _first_prompt(head: bytes) -> str:
    """Return the first prompt that a person typed, "" for none."""
    for line in head.split(b"\n"):
        if b'"type":"user"' not in line:
            continue
        try:
            row = loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and (text := _typed_text(row)):
            return text
    return ""


def _typed_text(row: dict[str, object]) -> str:
    message, origin = row.get("message"), row.get("origin")
    is_typed = origin is None or (isinstance(origin, dict) and origin.get("kind") == "human")
    is_programs = origin is None and str(row.get("entrypoint", "")).startswith(("sdk-py", "sdk-ts"))
    if not is_typed or is_programs or any(row.get(name) for name in _OTHER_AUTHORS) or not isinstance(message, dict):
        return ""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    typed = [text.strip() for text in texts if isinstance(text, str) and not text.lstrip().startswith(_INJECTED)]
    return " ".join(filter(None, typed))


def _format_line(prompt: str, rows: bytes, root: str) -> str:
    day = _shown_name(_last_field(rows, b"timestamp")[:10], 10)
    branch = _shown_name(_last_field(rows, b"gitBranch"), MAX_BRANCH_CHARACTERS)
    head = " ".join(filter(None, (day, branch and f"on {branch}")))
    files = ", ".join(_shown_name(name, MAX_FILE_CHARACTERS) for name in _most_edited(rows, root))
    first = cut(make_harmless(prompt), MAX_PROMPT_UNITS)
    return cut(f"{LAST_SESSION}{head}] It began with “{first}”" + (f" and edited {files}" if files else ""), MAX_LINE_UNITS)


def _shown_name(name: str, max_characters: int) -> str:
    """Return the end of a name from a repository, without signs that could end a header or begin a tag."""
    return "".join([letter for letter in name[-max_characters:] if letter.isalnum() or letter in " ._/+@~-"])


def _last_field(rows: bytes, name: bytes) -> str:
    """Return the last value of a field in a transcript, "" for none."""
    position = rows.rfind(b'"%s":"' % name)
    return _read_string(rows, position + len(name) + 3) if position >= 0 else ""


def _read_string(text: bytes, quote: int) -> str:
    """Return the JSON string whose opening quote stands at a position, "" for none."""
    end = text.find(b'"', quote + 1)
    while end > 0 and text[end - 1 : end] == b"\\":  # It belongs to the text.
        end = text.find(b'"', end + 1)
    try:
        value = loads(text[quote : end + 1].decode("utf-8", "replace"))
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _most_edited(rows: bytes, root: str) -> list[str]:
    """Return the files of a project that most calls of a transcript edited, with their paths from its root."""
    counts: dict[str, int] = {}
    folder = os.path.join(root, "")
    for mark in _EDITS:
        position = rows.find(mark)
        while position >= 0:
            field = rows.find(b'"file_path":"', position, (rows.find(b"\n", position) + 1 or len(rows) + 1) - 1)
            path = _read_string(rows, field + len(b'"file_path":')) if field >= 0 else ""
            if path.startswith(folder):
                name = path[len(folder) :].replace(os.sep, "/")
                counts[name] = counts.get(name, 0) + 1
            position = rows.find(mark, position + len(mark))
    return sorted(counts, key=lambda name: (-counts[name], name))[:MAX_FILES]
