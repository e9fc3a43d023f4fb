"""A team's store on PostgreSQL."""
