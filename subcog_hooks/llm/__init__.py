"""LLMs: the call with its circuit breaker, the providers and the questions."""
