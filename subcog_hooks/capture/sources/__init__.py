"""Readers of what is written already, elsewhere, one for each kind of source. They change nothing, and know no store."""
