"""OpenAI's Codex CLI: Claude Code's contract, but edits are patches, and a text over 10,000 bytes is cut in its middle."""

from __future__ import annotations

from subcog_hooks.clients.translation import Client

CLIENT = Client(
    "codex",
    {
        "SessionStart": "SessionStart",
        "UserPromptSubmit": "UserPromptSubmit",
        "PreToolUse": "PreToolUse",
        "PreCompact": "PreCompact",
        "Stop": "Stop",
        "SessionEnd": "SessionEnd",
    },
    max_bytes=10_000,
    shows_messages=True,
)
