"""Fixtures of the tests of LLMs: a state.db, and an environment without keys."""

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.llm import providers
from subcog_hooks.store.state import State


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 1_000)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in providers.VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
