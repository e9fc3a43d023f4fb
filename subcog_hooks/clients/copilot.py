"""GitHub Copilot CLI: the text stands at the top of the output, and no event follows a compaction."""

from __future__ import annotations

from subcog_hooks.clients.translation import COMPACTED, TOP_LEVEL, Client

CLIENT = Client(
    "copilot",
    {
        "SessionStart": "SessionStart",
        "UserPromptSubmit": "UserPromptSubmit",
        "PreToolUse": "PreToolUse",
        "PostToolUseFailure": "PostToolUseFailure",
        "PreCompact": COMPACTED,
        "SessionEnd": "SessionEnd",
    },
    fields={"path": "file_path", "old_str": "old_string", "new_str": "new_string", "file_text": "content"},
    form=TOP_LEVEL,
    max_bytes=900_000,
    begins_at_prompt=True,
)
