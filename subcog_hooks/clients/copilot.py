"""GitHub Copilot CLI: the text stands at the top of the output, and no event follows a compaction.

The hooks of SessionStart and of the first prompt run side by side. A resumed session loses a text of SessionStart, and those of
its tool calls.
"""

from __future__ import annotations

import os

from subcog_hooks.clients import description
from subcog_hooks.clients.description import Client, Contract, Place, Settings, all_files, read_texts, rule_files, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the texts of the rule files of all tools that Copilot CLI puts before the model, and those of the person."""
    folders, own = place.folders_read(), CLIENT.settings.folder_path
    rules = [
        *rule_files([own], "instructions", ".instructions.md", lambda _: True),
        *rule_files(folders, ".github/instructions", ".instructions.md", lambda fields: fields.get("applyTo", "**") == "**"),
        *rule_files(folders, ".claude/rules", ".md", lambda fields: "paths" not in fields),
    ]
    yield from read_texts([*all_files(folders, ["GEMINI.md", ".github/copilot-instructions.md"]), *rules])
    yield from read_texts(all_files([own], ["copilot-instructions.md"]))
    yield from read_texts(all_files(folders, ["AGENTS.md", "CLAUDE.md"]), place.root)


CLIENT = Client(
    "copilot",
    "Copilot CLI",
    Settings(
        ".copilot",
        "hooks/subcog.json",
        description.ENTRIES,
        variable="COPILOT_HOME",
        hook={"type": "command", "timeoutSec": 10},
        command_key="powershell" if os.name == "nt" else "bash",
        beside={"version": 1},
        matchers={"PostToolUse": "Bash|PowerShell"},
    ),
    Contract(
        # A command that failed is a success with an exit code.
        same("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "SessionEnd")
        | {"PostToolUse": "PostToolUseFailure", "PreCompact": description.COMPACTED},
        fields={"path": "file_path", "old_str": "old_string", "new_str": "new_string", "file_text": "content"},
        form=description.TOP_LEVEL,
        max_bytes=900_000,
        begins_at_prompt=True,
        drops_calls=True,
        heeds_permission=True,
        sees_person=description.has_terminal,
    ),
    "session-state/*/events.jsonl",
    read_instructions=read_instructions,
)
