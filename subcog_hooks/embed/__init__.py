"""Texts into vectors of one space: the static encoder that the hook can afford, and the neural embedder of documents."""
