"""The address of an LLM, the hosts to which a key may travel, and one POST within its deadline."""

import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from subcog_hooks.core.errors import ConfigError, ProviderError, ProviderTimeout
from subcog_hooks.core.paths import Home
from subcog_hooks.intent import classifier
from subcog_hooks.intent.classifier import build_question
from subcog_hooks.llm import http_post, providers
from subcog_hooks.llm.providers import Provider, ask_provider
from tests import llm_server
from tests.llm.asked import ENDED, KEY, SECONDS, key_file, provider_at, provider_with, settings
from tests.llm_server import Behaviour, LlmServer, says

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


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_the_key_is_not_sent_on(status: int) -> None:
    with LlmServer(says("howto", 0.9)) as other, LlmServer(llm_server.redirects(other.url_v1, status)) as server:
        with pytest.raises(ProviderError, match=f"redirects \\({status}\\), which is not followed"):
            ask_provider(provider_at(server), build_question(""), SECONDS)
        assert len(server.requests) == 1
        assert other.requests == []


@pytest.mark.parametrize("tells_length", [True, False])
def test_a_flood_is_cut_off(tells_length: bool) -> None:
    flood = llm_server.floods(tells_length=tells_length)
    with LlmServer(flood) as server, pytest.raises(ProviderError, match="answered more than 64 KB"):
        ask_provider(provider_at(server), build_question(""), SECONDS)


def test_bytes_that_are_no_http_are_an_error() -> None:
    for data in (
        *(b"\x16\x03\x01 no HTTP \xff\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"x" * 100_000),
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200,
    ):
        server = LlmServer(llm_server.garbage(data))
        with server, pytest.raises(ProviderError, match="did not answer in HTTP") as raised:
            ask_provider(provider_at(server), build_question(""), SECONDS)
        assert type(raised.value) is ProviderError


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def answer_to_post(data: bytes) -> tuple[int, bytes]:
    """Return what a POST makes of these bytes from a server."""
    with LlmServer(llm_server.garbage(data)) as server:
        return http_post.post(server.url_v1, "/x", {}, {}, time.monotonic() + SECONDS)


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (CHUNKED + b'5;a=b\r\n{"a":\r\n3\r\n 1}\r\n0\r\n\r\n', b'{"a": 1}'),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\ncontent-LENGTH:  2\r\n\r\n{}ignored", b"{}"),
        (b"HTTP/1.1 200\r\n\r\nto the end", b"to the end"),
    ],
)
def test_a_body_is_read_in_each_form(data: bytes, body: bytes) -> None:
    assert answer_to_post(data) == (200, body)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (CHUNKED + b"-5\r\nabc", "did not answer in HTTP"),
        (CHUNKED + b"five\r\nhello\r\n", "did not answer in HTTP"),
        (CHUNKED + b"FFFFFFFF\r\n", "answered more than 64 KB"),
        (CHUNKED + b"5\r\nhel", "broke the connection"),
        (CHUNKED + b"5\r\nhello\r\n" * 14_000, "answered more than 64 KB"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "did not answer in HTTP"),
    ],
)
def test_a_body_of_a_wrong_form_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        answer_to_post(data)


@pytest.mark.parametrize("behaviour", [llm_server.never(), llm_server.drips(), says("howto", 0.9, delay_ms=60_000)])
def test_no_answer_in_time_is_a_timeout_even_while_bytes_arrive(behaviour: Behaviour) -> None:
    with LlmServer(behaviour) as server, pytest.raises(ProviderTimeout, match="did not answer in time"):
        ask_provider(provider_at(server), build_question(""), ENDED)


def test_a_server_that_is_not_there_or_speaks_no_tls_is_an_error() -> None:
    with LlmServer(llm_server.garbage()) as server:
        for address in (server.url_v1.replace("http:", "https:"), f"http://{'x' * 70}.invalid"):
            with pytest.raises(ProviderError):
                ask_provider(Provider("openai", address, "m", KEY), build_question(""), SECONDS)
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        with pytest.raises(ProviderError, match="cannot be reached: ") as raised:
            ask_provider(Provider("openai", address, "m", KEY), build_question(""), SECONDS)
    assert type(raised.value) is ProviderError


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, ssl.SSLContext]:
    """A certificate for 127.0.0.1, signed by itself, and a server's context with it."""
    key, path = str(tmp_path / "server.key"), str(tmp_path / "server.pem")
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("there is no openssl to make a certificate with")
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = [openssl, "req", "-x509", *kind, *names, "-keyout", key, "-out", path]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key)
    return path, context


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_https_works_with_a_certificate_that_is_trusted(
    certificate: tuple[str, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    with LlmServer(says("howto", 0.9), tls=certificate[1]) as server:
        answer = classifier.parse_answer(ask_provider(provider_at(server, name), build_question(""), SECONDS))
    assert answer is not None
    assert answer.type == "howto"


def test_https_keeps_its_time(certificate: tuple[str, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    with LlmServer(llm_server.drips(), tls=certificate[1]) as server, pytest.raises(ProviderTimeout):
        ask_provider(provider_at(server), build_question(""), ENDED)


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: tuple[str, ssl.SSLContext]) -> None:
    with LlmServer(says("howto", 0.9), tls=certificate[1]) as server:
        with pytest.raises(ProviderError, match=r"cannot be reached: .*certificate verify failed"):
            ask_provider(provider_at(server), build_question(""), SECONDS)
        assert server.requests == []
