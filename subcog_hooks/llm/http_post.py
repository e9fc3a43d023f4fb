"""One POST over http.client, within one deadline. Importing it costs 30 ms, so only a call of an LLM does."""

from __future__ import annotations

import io
import json
import os
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead

from subcog_hooks.core.errors import ProviderError, ProviderGone, ProviderTimeout
from subcog_hooks.llm.address import Address

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

MAX_BODY = 64 * 1024  # bytes of an answer; 200 tokens in either envelope are 2,000


def post(base_url: str, path: str, headers: dict[str, str], content: dict[str, object], until: float) -> tuple[int, bytes]:
    """Send a request. Return status and body of the answer.

    A redirect is returned and not followed: the key would travel. until: the deadline in monotonic seconds. Raises
    ProviderTimeout, ProviderGone, or ProviderError; their messages hold nothing of the headers or of the answer.
    """
    try:
        return _send_request(Address(base_url), path, headers, content, until)
    except TimeoutError:
        raise ProviderTimeout(f"{base_url} did not answer in time") from None
    except (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, IncompleteRead):
        raise ProviderGone(f"{base_url} broke the connection") from None
    except _TooLong:
        raise ProviderError(f"{base_url} answered more than {MAX_BODY // 1024} KB") from None
    except OSError as error:
        raise ProviderError(f"{base_url} cannot be reached: {error.strerror or type(error).__name__}") from None
    except (HTTPException, ValueError):  # ValueError: a host name that cannot be written in DNS
        raise ProviderError(f"{base_url} did not answer in HTTP") from None


class _TooLong(Exception):
    """The answer exceeds MAX_BODY, and is not read to its end."""


def _send_request(
    address: Address, path: str, headers: dict[str, str], content: dict[str, object], until: float
) -> tuple[int, bytes]:
    connection = _make_connection(address, _seconds_left(until))
    try:
        connection.connect()
        connection.sock = _DeadlineSocket(connection.sock, until)  # with all methods of a socket that http.client calls
        every = {"Content-Type": "application/json", "Connection": "close"}
        connection.request("POST", address.path + path, json.dumps(content).encode(), headers | every)
        response = connection.getresponse()
        try:
            return response.status, _read_body(response)
        finally:
            response.close()
    finally:
        connection.close()


def _make_connection(address: Address, seconds: float) -> HTTPConnection:
    if not address.is_secure:
        return HTTPConnection(address.host, address.port, timeout=seconds)
    from subcog_hooks.core import child_environment  # needed only for TLS

    child_environment.drop_set_variables(*child_environment.FOR_TLS)
    import ssl

    os.environ.pop("SSLKEYLOGFILE", None)  # ssl would write the connection's keys to this file
    context = ssl.create_default_context()
    verify_paths = ssl.get_default_verify_paths()
    if not verify_paths.cafile and not (verify_paths.capath and os.listdir(verify_paths.capath)):
        import certifi  # for a Python without the system's certificates

        context.load_verify_locations(certifi.where())
    return HTTPSConnection(address.host, address.port, timeout=seconds, context=context)


def _read_body(response: HTTPResponse) -> bytes:
    body = b"" if (response.length or 0) > MAX_BODY else response.read(MAX_BODY + 1)
    if len(body) > MAX_BODY or (response.length or 0) > MAX_BODY:
        raise _TooLong
    if response.length:  # `read` with a size does not raise it
        raise IncompleteRead(body, response.length)
    return body


class _DeadlineSocket(io.RawIOBase):
    """A socket with one deadline for all reads and writes; a socket's own timeout would start again with each byte."""

    def __init__(self, inner: socket.socket, until: float) -> None:
        super().__init__()
        self._inner = inner
        self._until = until

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(_seconds_left(self._until))
        self._inner.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - always "rb"
        return io.BufferedReader(_Incoming(self._inner, self._until))

    def close(self) -> None:
        self._inner.close()
        super().close()


class _Incoming(io.RawIOBase):
    """The reading side of a `_DeadlineSocket`. It keeps the socket open until it is closed itself."""

    def __init__(self, inner: socket.socket, until: float) -> None:
        super().__init__()
        self._inner = inner
        self._until = until
        self._file = inner.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]  # BufferedReader gives no other
        self._inner.settimeout(_seconds_left(self._until))
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def _seconds_left(until: float) -> float:
    """Return the seconds until then. Raises TimeoutError when none are left: a timeout of 0 would mean no waiting."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds
