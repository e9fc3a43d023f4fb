"""Zed: it has no hooks, so it starts our server, which its settings call a context server."""

from __future__ import annotations

import os
import sys

from subcog_hooks.clients.description import SERVER, Client, Settings

CLIENT = Client(
    "zed",
    "Zed",
    Settings(
        ".config/zed",
        "settings.json",
        SERVER,
        variable="APPDATA" if os.name == "nt" else "" if sys.platform == "darwin" else "XDG_CONFIG_HOME",
        below="Zed" if os.name == "nt" else "zed",
        has_comments=True,
        key="context_servers",
    ),
    is_tried=False,
)
