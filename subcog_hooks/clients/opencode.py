"""OpenCode: our plugin calls the hook, with the names of the plugin's events."""

from __future__ import annotations

from subcog_hooks.clients.description import COMPACTED, PLUGIN, Client, Contract, Folder, Settings

CLIENT = Client(
    "opencode",
    "OpenCode",
    Settings(".config/opencode", "plugins/subcog.js", PLUGIN, variable="XDG_CONFIG_HOME", below="opencode"),
    Contract(
        {"chat.message": "UserPromptSubmit", "tool.execute.after": "PreToolUse", "session.compacted": COMPACTED},
        tools={"edit": "Edit", "write": "Write", "read": "Read", "bash": "Bash", "grep": "Grep", "glob": "Glob"},
        fields={"filePath": "file_path", "oldString": "old_string", "newString": "new_string"},
        max_bytes=300_000,
        begins_at_prompt=True,
    ),
    "opencode.db",
    session_folder=Folder(".local/share/opencode", variable="XDG_DATA_HOME", below="opencode"),
)
