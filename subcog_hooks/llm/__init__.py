"""LLMs: the providers, the race against the deadline, the circuit breaker, kept answers, and what may be disclosed."""
