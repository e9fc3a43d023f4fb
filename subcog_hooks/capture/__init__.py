"""Every way in: remember, the importers, near-duplicates."""
