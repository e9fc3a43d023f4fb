"""Making the catalogue of secret patterns that redaction reads."""
