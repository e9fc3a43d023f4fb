"""A team's memory on PostgreSQL (DESIGN section 12): loaded by the commands that share, never by a hook."""
