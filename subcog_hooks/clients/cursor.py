"""Cursor: a text can come at the start, with a prompt and after a tool.

From the hooks reference of cursor.com and readings of its client by others. The reference does not name the text with a prompt,
which newer versions take. A text of more than 10,000 characters is dropped.
"""

from __future__ import annotations

from subcog_hooks.clients import description
from subcog_hooks.clients.description import ENTRIES, Client, Contract, Place, Settings, all_files, read_texts, rule_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the AGENTS.md files and the rules that Cursor puts before the model in any case."""
    rules = rule_files(place.folders_read(), ".cursor/rules", ".mdc", lambda fields: fields.get("alwaysApply") == "true")
    return read_texts([*all_files(place.folders_read(), ["AGENTS.md"]), *all_files([place.root], [".cursorrules"]), *rules])


CLIENT = Client(
    "cursor",
    "Cursor",
    Settings(
        ".cursor",
        "hooks.json",
        ENTRIES,
        hook={"timeout": 5},  # seconds
        has_comments=True,
        beside={"version": 1},
    ),
    Contract(
        {
            "sessionStart": "SessionStart",
            "beforeSubmitPrompt": "UserPromptSubmit",
            "postToolUse": "PreToolUse",
            "preCompact": description.COMPACTED,
            "sessionEnd": "SessionEnd",
        },
        tools={"Shell": "Bash"},
        fields={"path": "file_path", "contents": "content"},
        form=description.SNAKE_CASE,
        max_bytes=10_000,
        begins_at_prompt=True,
        keeps_start=True,
    ),
    read_instructions=read_instructions,
    is_tried=False,
)
