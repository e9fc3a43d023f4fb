"""OpenCode: our plugin calls the hook, with the names of the plugin's events. It shows the answer to a typed note."""

from __future__ import annotations

import os

from subcog_hooks.clients import description
from subcog_hooks.clients.description import Client, Contract, Place, Settings, first_files, read_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the AGENTS.md files that OpenCode puts before the model, or the CLAUDE.md files in their place."""
    own = os.path.join(CLIENT.settings.folder_path, "AGENTS.md")
    claude = os.path.join(os.path.expanduser("~"), ".claude", "CLAUDE.md")
    return read_texts([own if os.path.isfile(own) else claude, *first_files(place.folders_read(), ("AGENTS.md", "CLAUDE.md"))])


CLIENT = Client(
    "opencode",
    "OpenCode",
    Settings(".config/opencode", "plugins/subcog.js", description.PLUGIN, variable="XDG_CONFIG_HOME", below="opencode"),
    Contract(
        {"chat.message": "UserPromptSubmit", "tool.execute.after": "PreToolUse", "session.compacted": description.COMPACTED},
        tools={"edit": "Edit", "write": "Write", "read": "Read", "bash": "Bash", "grep": "Grep", "glob": "Glob"},
        fields={"filePath": "file_path", "oldString": "old_string", "newString": "new_string"},
        max_bytes=300_000,
        begins_at_prompt=True,
        sees_person=description.has_terminal,
    ),
    "opencode.db",
    read_instructions=read_instructions,
    session_folder=description.Folder(".local/share/opencode", variable="XDG_DATA_HOME", below="opencode"),
)
