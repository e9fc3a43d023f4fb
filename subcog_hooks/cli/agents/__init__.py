"""Agents, as `init` sets them up: settings files, our hook and skills in them, and the notes that Claude Code keeps itself."""
