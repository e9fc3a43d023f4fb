"""Plain modules that every other package may use."""
