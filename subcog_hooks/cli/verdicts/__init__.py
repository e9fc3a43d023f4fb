"""The hook's decisions, looked up and explained."""
