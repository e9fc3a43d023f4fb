"""One POST over http.client, all of it within one time. Importing this costs 30 ms: only where an LLM is asked."""

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
    """Send a request. Return status and body of the answer, a redirect's too: it is not followed, the key would travel.

    until: when to give up, in monotonic seconds. Raises ProviderTimeout, ProviderGone, or ProviderError; their messages hold
    nothing of the headers or of the answer.
    """
    try:
        return _posted(Address(base_url), path, headers, content, until)
    except TimeoutError:
        raise ProviderTimeout(f"{base_url} did not answer in time") from None
    except (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, IncompleteRead):
        raise ProviderGone(f"{base_url} broke the connection") from None
    except _TooLong:
        raise ProviderError(f"{base_url} answered more than {MAX_BODY // 1024} KB") from None
    except OSError as error:
        raise ProviderError(f"{base_url} can not be reached: {error.strerror or type(error).__name__}") from None
    except (HTTPException, ValueError):  # ValueError: a host name that can not be written in DNS
        raise ProviderError(f"{base_url} did not answer in HTTP") from None


class _TooLong(Exception):
    """The answer is not read to its end."""


def _posted(
    address: Address, path: str, headers: dict[str, str], content: dict[str, object], until: float
) -> tuple[int, bytes]:
    connection = _connection(address, _left(until))
    try:
        connection.connect()
        connection.sock = _Clocked(connection.sock, until)  # what http.client uses of a socket
        every = {"Content-Type": "application/json", "Connection": "close"}
        connection.request("POST", address.path + path, json.dumps(content).encode(), headers | every)
        response = connection.getresponse()
        try:
            return response.status, _body(response)
        finally:
            response.close()
    finally:
        connection.close()


def _connection(address: Address, seconds: float) -> HTTPConnection:
    if not address.is_secure:
        return HTTPConnection(address.host, address.port, timeout=seconds)
    from subcog_hooks.core import child_environment  # where a connection is encrypted

    child_environment.drop_set_variables(*child_environment.FOR_TLS)
    import ssl

    os.environ.pop("SSLKEYLOGFILE", None)  # ssl would write the connection's keys there, wherever that is
    context = ssl.create_default_context()
    known = ssl.get_default_verify_paths()
    if not known.cafile and not (known.capath and os.listdir(known.capath)):
        import certifi  # for a Python that does not know the system's certificates

        context.load_verify_locations(certifi.where())
    return HTTPSConnection(address.host, address.port, timeout=seconds, context=context)


def _body(response: HTTPResponse) -> bytes:
    body = b"" if (response.length or 0) > MAX_BODY else response.read(MAX_BODY + 1)
    if len(body) > MAX_BODY or (response.length or 0) > MAX_BODY:
        raise _TooLong
    if response.length:  # read with a size does not say so
        raise IncompleteRead(body, response.length)
    return body


class _Clocked(io.RawIOBase):
    """A socket as http.client uses it, of which every read and write ends at one time: a timeout counts from the last byte."""

    def __init__(self, inner: socket.socket, until: float) -> None:
        super().__init__()
        self._inner = inner
        self._until = until

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(_left(self._until))
        self._inner.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 - always "rb"
        return io.BufferedReader(_Incoming(self._inner, self._until))

    def close(self) -> None:
        self._inner.close()
        super().close()


class _Incoming(io.RawIOBase):
    """The reading side of a `_Clocked` socket, which it keeps open until it is closed itself."""

    def __init__(self, inner: socket.socket, until: float) -> None:
        super().__init__()
        self._inner = inner
        self._until = until
        self._file = inner.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]  # BufferedReader gives no other
        self._inner.settimeout(_left(self._until))
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def _left(until: float) -> float:
    """Return the seconds until then. Raises TimeoutError when there are none: a timeout of 0 would mean not to wait at all."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
