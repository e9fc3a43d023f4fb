"""Work at rest: one process a home that does what is due when nobody waits, and how it keeps out of the way."""
