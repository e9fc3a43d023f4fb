"""Amp: it has no hooks, so it starts our server. A dot in the key of its servers is part of the name."""

from __future__ import annotations

from subcog_hooks.clients.description import SERVER, Client, Settings

CLIENT = Client(
    "amp", "Amp", Settings(".config/amp", "settings.json", SERVER, has_comments=True, key="amp.mcpServers"), is_tried=False
)
