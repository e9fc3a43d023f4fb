"""Ways into the store: remembering, the importers, near-duplicates."""
