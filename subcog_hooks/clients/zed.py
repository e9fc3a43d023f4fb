"""Zed: it has no hooks, so it starts our server, which its settings call a context server."""

from __future__ import annotations

import os

from subcog_hooks.clients.description import CONFIG_VARIABLE, SERVER, Client, Settings

CLIENT = Client(
    "zed",
    "Zed",
    Settings(
        ".config/zed",
        "settings.json",
        SERVER,
        variable=CONFIG_VARIABLE,
        below="Zed" if os.name == "nt" else "zed",
        has_comments=True,
        beside={"source": "custom"},
        key="context_servers",
    ),
    is_tried=False,
)
