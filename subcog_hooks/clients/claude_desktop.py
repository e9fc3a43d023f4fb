"""Claude Desktop: it has no hooks, so it starts our server. Its folder differs by the system."""

from __future__ import annotations

import sys

from subcog_hooks.clients.description import CONFIG_VARIABLE, SERVER, Client, Settings

CLIENT = Client(
    "claude-desktop",
    "Claude Desktop",
    Settings(
        "Library/Application Support/Claude" if sys.platform == "darwin" else ".config/Claude",
        "claude_desktop_config.json",
        SERVER,
        variable=CONFIG_VARIABLE,
        below="Claude",
        key="mcpServers",
        next_step="quit Claude Desktop and start it again",
    ),
    is_tried=False,
)
