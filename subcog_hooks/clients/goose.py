"""Goose: its hooks only observe, so it starts our server. Its settings are YAML."""

from __future__ import annotations

import os

from subcog_hooks.clients.description import YAML, Client, Settings

CLIENT = Client(
    "goose",
    "Goose",
    Settings(
        ".config/goose",
        "config.yaml",
        YAML,
        variable="APPDATA" if os.name == "nt" else "",
        below="Block/goose/config",
        key="extensions",
    ),
    is_tried=False,
)
