"""Gemini CLI: a text can come with a prompt and after a tool.

At SessionStart it would become part of the prompt, and a resumed session would lose its first prompt. After `/compress` no
event asks for a new start.
"""

from __future__ import annotations

from subcog_hooks.clients.description import COMPACTED, GROUPS, Client, Contract, Settings, has_terminal

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
    ),
    Contract(
        {"BeforeAgent": "UserPromptSubmit", "AfterTool": "PreToolUse", "PreCompress": COMPACTED, "SessionEnd": "SessionEnd"},
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
        sees_person=has_terminal,
    ),
    "tmp/*/chats/session-*.jsonl",
)
