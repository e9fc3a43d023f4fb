"""The two databases: memories.db with its caches, and state.db."""
