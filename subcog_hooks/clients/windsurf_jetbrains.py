"""Windsurf as a plugin of JetBrains' editors: it starts our server, by a file of its own."""

from __future__ import annotations

from subcog_hooks.clients.description import SERVER, Client, Settings

CLIENT = Client(
    "windsurf-jetbrains",
    "Windsurf for JetBrains",
    Settings(".codeium", "mcp_config.json", SERVER, key="mcpServers"),
    is_tried=False,
)
