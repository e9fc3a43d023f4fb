"""The terminal itself, for every command: what it prints, reads and shows of progress, and the open store."""
