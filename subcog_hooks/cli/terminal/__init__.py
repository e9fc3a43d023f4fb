"""The terminal, for every command: output, input, progress bars, and the open store."""
