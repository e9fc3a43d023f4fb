"""The terminal: typer commands, one module a command, over the library that the hook uses."""
