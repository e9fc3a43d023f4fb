"""Past sessions: their turns become episodes, which can be searched and shown."""
