"""Factory Droid: Claude Code's contract with other names of tools, but a text comes after a call, not before it.

From the hooks reference of docs.factory.ai. A compaction begins a session with a new id.
"""

from __future__ import annotations

from subcog_hooks.clients.description import GROUPS, Client, Contract, Place, Settings, all_files, read_texts, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the AGENTS.md files that Droid puts before the model."""
    return read_texts(all_files([CLIENT.settings.folder_path, *place.folders_read()], ["AGENTS.md"]))


CLIENT = Client(
    "droid",
    "Factory Droid",
    Settings(
        ".factory",
        "settings.json",
        GROUPS,
        hook={"type": "command", "timeout": 5},  # seconds
        has_comments=True,
        instead="hooks.json",
    ),
    Contract(
        same("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd") | {"PostToolUse": "PreToolUse"},
        tools={"Execute": "Bash", "Create": "Write"},
        fields={"old_str": "old_string", "new_str": "new_string"},
        max_bytes=10_000,
    ),
    read_instructions=read_instructions,
    is_tried=False,
)
