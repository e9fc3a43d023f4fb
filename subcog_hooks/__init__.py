"""Long-term memory for coding agents: a Claude Code hook and a command-line tool."""

__version__ = "0.1.0"
