"""The address of an LLM: valid forms, and the hosts to which a key may travel."""

from pathlib import Path

import pytest

from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.paths import Home
from subcog_hooks.llm import providers
from tests.llm.asked import KEY, key_file, provider_with, settings

NO_ADDRESS = "llm.base_url is no address"


@pytest.mark.parametrize(
    ("base_url", "fact"),
    [
        ("localhost:8000", NO_ADDRESS),
        ("ftp://localhost", NO_ADDRESS),
        ("http://", NO_ADDRESS),
        ("http://a:b/v1", NO_ADDRESS),
        ("http://a/v1?x=1", NO_ADDRESS),
        ("http://a/\r\nX: y", NO_ADDRESS),
        ("https://me:secret@a/v1", "llm.base_url has a user or a password in it"),
    ],
)
def test_what_is_no_address_is_said_in_one_line(home: Home, base_url: str, fact: str) -> None:
    with pytest.raises(ConfigError) as raised:
        providers.provider_of(settings(provider="openai", model="m", base_url=base_url), home)
    assert raised.value.message.startswith(fact)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "base_url",
    [
        *("http://localhost:11434/v1", "http://127.0.0.2/v1", "http://[::1]:8000/v1", "http://llm.example.org/v1"),
        *("https://llm.example.org/v1", "https://api.openai.com.example.org/v1", "https://api.anthropic.com/v1"),
    ],
)
def test_a_key_of_the_environment_is_for_the_providers_own_host(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base_url: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    named = {"provider": "openai", "model": "m", "base_url": base_url}
    without_key = provider_with(home, **named)
    assert (without_key.base_url, without_key.key) == (base_url, "")
    anthropic = provider_with(home, provider="anthropic", base_url=f"{base_url}/")
    assert anthropic.base_url == base_url.removesuffix("/v1")
    if base_url != "http://llm.example.org/v1":
        assert provider_with(home, **named, key_file=key_file(tmp_path)).key == KEY


@pytest.mark.parametrize(
    "base_url", ["", "https://api.openai.com/v1", "HTTPS://API.openai.com/v1/", "https://api.openai.com:443"]
)
def test_its_own_host_is_given_the_environments(home: Home, monkeypatch: pytest.MonkeyPatch, base_url: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert provider_with(home, provider="openai", model="m", base_url=base_url).key == KEY


@pytest.mark.parametrize(
    "address", ["http://api.openai.com/v1", "http://llm.example.org/v1", "http://127.0.0.1.example.org/v1"]
)
def test_a_key_does_not_travel_in_the_clear(home: Home, tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match="the key would travel in the clear"):
        providers.provider_of(settings(provider="openai", model="m", base_url=address, key_file=key_file(tmp_path)), home)
