"""The Memory model, the SQLite store that is the truth, the tantivy index that is its cache, and the sync between them."""
