"""Claude Desktop: it has no hooks, so it starts our server. Its folder differs by the system."""

from __future__ import annotations

import os
import sys

from subcog_hooks.clients.description import SERVER, Client, Settings

CLIENT = Client(
    "claude-desktop",
    "Claude Desktop",
    Settings(
        "Library/Application Support/Claude" if sys.platform == "darwin" else ".config/Claude",
        "claude_desktop_config.json",
        SERVER,
        variable="APPDATA" if os.name == "nt" else "" if sys.platform == "darwin" else "XDG_CONFIG_HOME",
        below="Claude",
        key="mcpServers",
        next_step="quit Claude Desktop and start it again",
    ),
    is_tried=False,
)
