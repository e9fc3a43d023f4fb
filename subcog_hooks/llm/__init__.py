"""LLMs: the call with its circuit breaker, the providers, the questions, and disclosure."""
