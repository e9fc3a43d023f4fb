"""Qwen Code: a text can come with a prompt and after a tool. After each batch of tools it sends an empty prompt."""

from __future__ import annotations

import os

from subcog_hooks.clients.description import GROUPS, Client, Contract, Sessions, Settings

OF_ITS_SCREEN = "QWEN_CODE_MESSAGING_SOCKET"  # Qwen Code sets it for its hooks, but not in print mode.

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
        {
            "SessionStart": "SessionStart",
            "UserPromptSubmit": "UserPromptSubmit",
            "PostToolUse": "PreToolUse",
            "PostToolUseFailure": "PostToolUseFailure",
            "PreCompact": "PreCompact",
            "SessionEnd": "SessionEnd",
        },
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
        sees_person=lambda _: bool(os.environ.get(OF_ITS_SCREEN)),
    ),
    Sessions(".qwen", "projects/*/chats/*.jsonl", "qwen"),
)
