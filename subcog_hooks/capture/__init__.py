"""Every way in: remember and the importers, redaction, near-duplicates."""
