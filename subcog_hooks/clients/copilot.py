"""GitHub Copilot CLI: the text stands at the top of the output, and no event follows a compaction.

The hooks of SessionStart and of the first prompt run side by side, and a resumed session loses a text of SessionStart.
"""

from __future__ import annotations

import os

from subcog_hooks.clients.description import COMPACTED, ENTRIES, TOP_LEVEL, Client, Contract, Settings, has_terminal

CLIENT = Client(
    "copilot",
    "Copilot CLI",
    Settings(
        ".copilot",
        "hooks/subcog.json",
        ENTRIES,
        variable="COPILOT_HOME",
        hook={"type": "command", "timeoutSec": 10},
        command_key="powershell" if os.name == "nt" else "bash",
        beside={"version": 1},
    ),
    Contract(
        {
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
        heeds_permission=True,
        sees_person=has_terminal,
    ),
    "session-state/*/events.jsonl",
)
