"""Coding agents beside Claude Code, each described by a file of its own. `table` names them."""
