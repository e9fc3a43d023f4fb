"""Decisions of the hook, looked up and explained."""
