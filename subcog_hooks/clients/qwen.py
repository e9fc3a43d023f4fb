"""Qwen Code: a text can come with a prompt and after a tool. After each batch of tools it sends an empty prompt.

On Node 20, npm installs Qwen Code 0.15.10, in whose print mode no SessionStart comes before the first prompt.
"""

from __future__ import annotations

import os

from subcog_hooks.clients import description
from subcog_hooks.clients.description import GROUPS, Client, Contract, Place, Settings, all_files, read_texts, rule_files, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Qwen Code 0.24.4 sets it for its hooks, but not in print mode.
HAS_SCREEN = bool(os.environ.get("QWEN_CODE_MESSAGING_SOCKET"))


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the QWEN.md and AGENTS.md files that Qwen Code puts before the model, and its rules."""
    own = CLIENT.settings.folder_path
    names = description.configured_names([own, *all_files([place.root, place.folder], [".qwen"])]) or ["QWEN.md", "AGENTS.md"]
    files = all_files([own, *place.folders()], names)
    rules = rule_files([place.root], ".qwen/rules", ".md", lambda fields: "paths" not in fields)
    return read_texts([*files, *rules], place.root)


CLIENT = Client(
    "qwen",
    "Qwen Code",
    Settings(
        ".qwen",
        "settings.json",
        GROUPS,
        variable="QWEN_HOME",
        hook={"type": "command", "timeout": 5000},  # ms: the client reads a number from 1000 as such
        has_comments=True,
    ),
    Contract(
        same("SessionStart", "UserPromptSubmit", "PostToolUseFailure", "PreCompact", "SessionEnd")
        | {"PostToolUse": "PreToolUse"},
        tools={
            "edit": "Edit",
            "write_file": "Write",
            "read_file": "Read",
            "run_shell_command": "Bash",
            "grep_search": "Grep",
            "glob": "Glob",
        },
        max_bytes=600_000,
        escapes=True,
        begins_at_prompt=not HAS_SCREEN,
        sees_person=lambda payload: HAS_SCREEN or description.has_terminal(payload),
    ),
    "projects/*/chats/*.jsonl",
    read_instructions=read_instructions,
)
