"""The things that the terminal's commands share: rendering, the open store, settings.json, amendments. No command is here."""
