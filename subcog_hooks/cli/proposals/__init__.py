"""Proposals of memories and changes, until a person accepts or refuses them."""
