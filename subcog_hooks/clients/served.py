"""Agents that get no notes by a hook and start our server: they have no hooks, or theirs carry no text."""

from __future__ import annotations

import os
import sys

from subcog_hooks.clients.description import CONFIG_VARIABLE, SERVER, YAML, Client, Settings

_IS_WINDOWS = os.name == "nt"

_WINDSURF_JETBRAINS = Settings(".codeium", "mcp_config.json", SERVER, key="mcpServers")
_CLAUDE_DESKTOP = Settings(
    "Library/Application Support/Claude" if sys.platform == "darwin" else ".config/Claude",
    "claude_desktop_config.json",
    SERVER,
    variable=CONFIG_VARIABLE,
    below="Claude",
    key="mcpServers",
    next_step="quit Claude Desktop and start it again",
)
_ZED = Settings(
    ".config/zed",
    "settings.json",
    SERVER,
    variable=CONFIG_VARIABLE,
    below="Zed" if _IS_WINDOWS else "zed",
    has_comments=True,
    beside={"source": "custom"},
    key="context_servers",
)
_AMP = Settings(".config/amp", "settings.json", SERVER, has_comments=True, key="amp.mcpServers")  # the key has a dot
_GOOSE = Settings(
    ".config/goose",
    "config.yaml",
    YAML,
    variable="APPDATA" if _IS_WINDOWS else "",
    below="Block/goose/config",
    key="extensions",
)

CLIENTS = (
    Client("windsurf", "Windsurf", Settings(".codeium/windsurf", "mcp_config.json", SERVER, key="mcpServers"), is_tried=False),
    Client("windsurf-jetbrains", "Windsurf for JetBrains", _WINDSURF_JETBRAINS, is_tried=False),
    Client("claude-desktop", "Claude Desktop", _CLAUDE_DESKTOP, is_tried=False),
    Client("zed", "Zed", _ZED, is_tried=False),
    Client("amp", "Amp", _AMP, is_tried=False),
    Client("goose", "Goose", _GOOSE, is_tried=False),
)
