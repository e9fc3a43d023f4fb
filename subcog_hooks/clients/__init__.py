"""Coding agents beside Claude Code: the table of their names. Each with hooks has a file that describes it."""

LEARNED = ("codex", "gemini", "qwen", "opencode", "copilot")  # Their sessions are read, too.
SERVED = ("windsurf", "windsurf-jetbrains", "claude-desktop", "zed", "amp", "goose")  # all in one file
NAMES = (*LEARNED, "cursor", "droid", *SERVED)
