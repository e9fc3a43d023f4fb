"""The decisions of the hook: found, explained, counted, and what would change them."""
