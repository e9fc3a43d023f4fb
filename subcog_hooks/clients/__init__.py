"""Coding agents beside Claude Code: the table of their names. Each has a file that describes it."""

LEARNED = ("codex", "gemini", "qwen", "opencode", "copilot")  # Their sessions are read, too.
NAMES = (*LEARNED, "cursor", "droid", "windsurf", "windsurf-jetbrains", "claude-desktop", "zed", "amp", "goose")
