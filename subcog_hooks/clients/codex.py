"""OpenAI's Codex CLI: Claude Code's contract, but edits are patches, and a text over 10,000 bytes is cut in its middle.

After a compaction it asks for a new start with the next prompt, but not where the session is ended before.
"""

from __future__ import annotations

from subcog_hooks.clients.description import GROUPS, TO_BE_COMPACTED, Client, Contract, Sessions, Settings

CLIENT = Client(
    "codex",
    "Codex CLI",
    Settings(
        ".codex",
        "hooks.json",
        GROUPS,
        variable="CODEX_HOME",
        # Codex cuts a longer limit of SessionEnd to 3 seconds, and its hash of the hook has the limit that counts.
        hook={"type": "command", "timeout": 3},
        next_step="Codex runs it once you trust it: start `codex` in a terminal, which asks. `codex exec` does not ask",
        has_trust=True,
    ),
    Contract(
        {
            "SessionStart": "SessionStart",
            "UserPromptSubmit": "UserPromptSubmit",
            "PreToolUse": "PreToolUse",
            "Stop": "Stop",
            "PreCompact": TO_BE_COMPACTED,
            "SessionEnd": "SessionEnd",
        },
        max_bytes=10_000,
        keeps_start=True,
        shows_messages=True,
    ),
    Sessions(".codex", "sessions/*/*/*/rollout-*.jsonl", "codex"),
)
