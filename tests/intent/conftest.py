"""Fixtures that the tests of intents share with the tests of LLMs: a state.db, and an environment without keys."""

from tests.llm.conftest import no_keys, state

__all__ = ["no_keys", "state"]
