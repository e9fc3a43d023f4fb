"""Coding agents beside Claude Code: how their hooks call ours, and what reaches their model. One file an agent."""
