"""What the tests of intents share: a state.db, and providers with a key that nobody else may see."""

from pathlib import Path

import pytest

from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.paths import Home
from subcog_hooks.settings import loading
from subcog_hooks.state.connection import State
from tests.llm_server import LlmServer

KEY = "sk-ant-api03-ThisKeyMustNeverBeSeenAnywhere"
SECONDS = 20.0  # where the answer is expected; no test waits for so long
ENDED = 0.3  # where it is not


@pytest.fixture
def state(home: Home) -> State:
    home.create()
    return State.open(home, 1_000)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in providers.VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


def settings(**values: str) -> loading.Settings:
    """Settings of the section `llm`."""
    return loading.Settings({f"llm.{name}": value for name, value in values.items()})


def key_file(folder: Path, text: str = KEY + "\n", mode: int = 0o600) -> str:
    path = folder / "key"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def provider_at(server: LlmServer, name: str = "openai", key: str = KEY) -> Provider:
    return Provider(name, server.url if name == "anthropic" else server.url_v1, "a-model", key)
