"""Background jobs while the machine idles."""
