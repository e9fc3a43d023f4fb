"""Gemini CLI: a text can come with a prompt and after a tool.

At SessionStart it would become part of the prompt, and a resumed session would lose its first prompt. After `/compress` no
event asks for a new start.
"""

from __future__ import annotations

from subcog_hooks.clients import description
from subcog_hooks.clients.description import GROUPS, TO_BE_COMPACTED, Client, Contract, Place, Settings, all_files, read_texts
from subcog_hooks.core.files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SESSION_FILE = 64 * 1024 * 1024  # bytes, read once after a `/compress`
MAX_HEAD = 200  # bytes of a message with its id, its time and its type


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the GEMINI.md files that Gemini CLI puts before the model, and those with a name of its settings."""
    own = CLIENT.settings.folder_path
    names = ["GEMINI.md", *description.configured_names([own, *all_files([place.root, place.folder], [".gemini"])])]
    return read_texts(all_files([own, *place.folders_read()], names), place.root)


def was_compacted(payload: Mapping[str, object]) -> bool:
    """Return whether `/compress` has replaced the messages after the last one; True where the session's file cannot tell."""
    try:
        lines = read_regular(str(payload.get("transcript_path")), MAX_SESSION_FILE).split(b"\n")
    except (OSError, ValueError):
        return True
    for line in reversed(lines):
        if line.startswith(b'{"$set":{"messages":'):
            return True
        if any(kind in line[:MAX_HEAD] for kind in (b'"type":"gemini"', b'"type":"user"')):
            return False
    return True


CLIENT = Client(
    "gemini",
    "Gemini CLI",
    Settings(
        ".gemini",
        "settings.json",
        GROUPS,
        variable="GEMINI_CLI_HOME",
        below=".gemini",
        hook={"type": "command", "timeout": 5000},  # ms
        has_comments=True,
        next_step="It works in folders that you trust: start `gemini` there, which asks. `gemini -p` exits with 55 elsewhere",
        trust_file="trustedFolders.json",
    ),
    Contract(
        {
            "BeforeAgent": "UserPromptSubmit",
            "AfterTool": "PreToolUse",
            "PreCompress": TO_BE_COMPACTED,
            "SessionEnd": "SessionEnd",
        },
        tools={
            "replace": "Edit",
            "write_file": "Write",
            "read_file": "Read",
            "run_shell_command": "Bash",
            "search_file_content": "Grep",
            "glob": "Glob",
        },
        max_bytes=1_000_000,
        escapes=True,
        begins_at_prompt=True,
        announces_all=True,
        was_compacted=was_compacted,
        sees_person=description.has_terminal,
    ),
    "tmp/*/chats/session-*.jsonl",
    read_instructions=read_instructions,
)
