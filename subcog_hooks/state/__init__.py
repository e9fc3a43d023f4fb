"""state.db: what hooks write and may forget, a room for each matter, and the vocabulary of decisions."""
