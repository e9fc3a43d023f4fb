"""The terminal: typer commands, one module a group, over the same library that the hook uses."""
