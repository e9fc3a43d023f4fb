"""The team's server, as the commands reach it."""
