"""Windsurf: its hooks carry no text, so it starts our server."""

from __future__ import annotations

from subcog_hooks.clients.description import SERVER, Client, Settings

CLIENT = Client(
    "windsurf", "Windsurf", Settings(".codeium/windsurf", "mcp_config.json", SERVER, key="mcpServers"), is_tried=False
)
