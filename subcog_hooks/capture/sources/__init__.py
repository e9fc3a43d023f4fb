"""Readers of other programs' memories, one for each kind of source. They change nothing, and know no store."""
