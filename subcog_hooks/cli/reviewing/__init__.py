"""The person's word on what waits for it: memories, suggestions, and what is refused time and again."""
