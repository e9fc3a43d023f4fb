"""Vectors of texts in one space: the static encoder for the hook, and the neural embedder of documents."""
