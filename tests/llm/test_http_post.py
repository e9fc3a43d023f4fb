"""One POST within its deadline, against real misbehaving servers, and with real certificates."""

import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from subcog_hooks.core.errors import ProviderError, ProviderTimeout
from subcog_hooks.intent import classifier
from subcog_hooks.intent.classifier import build_question
from subcog_hooks.llm import http_post
from subcog_hooks.llm.providers import Provider, ask_provider
from tests import llm_server
from tests.llm.asked import ENDED, KEY, SECONDS, provider_at
from tests.llm_server import Behaviour, LlmServer, says


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


def test_with_no_time_nothing_is_sent() -> None:
    with LlmServer(says("howto", 0.9)) as server:
        with pytest.raises(ProviderTimeout):
            ask_provider(provider_at(server), build_question(""), 0.0)
        assert server.requests == []


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
