"""Settings for the tests of LLMs, and providers with a secret key."""

from pathlib import Path

from subcog_hooks.core.paths import Home
from subcog_hooks.llm import providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings.defaults import Settings
from tests.llm_server import LlmServer

KEY = "sk-ant-api03-ThisKeyMustNeverBeSeenAnywhere"
SECONDS = 20.0  # where the answer is expected; no test waits for so long
ENDED = 0.3  # where it is not


def settings(**values: str) -> Settings:
    return Settings({f"llm.{name}": value for name, value in values.items()})


def key_file(folder: Path, text: str = KEY + "\n", mode: int = 0o600) -> str:
    path = folder / "key"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def provider_at(server: LlmServer, name: str = "openai", key: str = KEY) -> Provider:
    return Provider(name, server.url if name == "anthropic" else server.url_v1, "a-model", key)


def provider_with(home: Home, **values: str) -> Provider:
    provider = providers.provider_of(settings(**values), home)
    assert provider is not None
    return provider
