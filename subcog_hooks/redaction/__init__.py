"""Secrets and private spans: found, masked, never stored, never sent."""
