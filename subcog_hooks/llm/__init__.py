"""LLMs: the providers, the race against the deadline, the circuit breaker, cached answers, and disclosure."""
