"""One POST over HTTP/1.1, within one deadline. http.client is not used: loading it takes 30 of the 200 ms that a prompt has."""

from __future__ import annotations

import _socket
import os
import time

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import ProviderError, ProviderGone, ProviderTimeout
from subcog_hooks.llm.question import Address

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

MAX_BODY = 64 * 1024  # bytes of an answer; 200 tokens in either envelope are 2,000
MAX_HEAD = 16 * 1024  # bytes before an answer's body
_PIECE = 65_536  # bytes read at once


def _refuse_to_wait() -> float:
    raise TimeoutError


def post(
    base_url: str,
    path: str,
    headers: dict[str, str],
    content: dict[str, object],
    until: float,
    extend: Callable[[], float] = _refuse_to_wait,
) -> tuple[int, bytes]:
    """Send a request. Return status and body of the answer.

    A redirect is returned and not followed: the key would travel. until: the deadline in monotonic seconds. extend: called once
    where the deadline passes before the answer; returns another one, or raises TimeoutError. Raises ProviderTimeout,
    ProviderGone, or ProviderError; their messages hold nothing of the headers or of the answer.
    """
    try:
        return _send_request(Address(base_url), path, headers, content, until, extend)
    except TimeoutError:
        raise ProviderTimeout(f"{base_url} did not answer in time") from None
    except (ConnectionResetError, ConnectionAbortedError, BrokenPipeError):
        raise ProviderGone(f"{base_url} broke the connection") from None
    except OSError as error:
        raise ProviderError(f"{base_url} cannot be reached: {error.strerror or type(error).__name__}") from None
    except ValueError:
        raise ProviderError(f"{base_url} did not answer in HTTP, or answered more than {MAX_BODY // 1024} KB") from None


def _send_request(
    address: Address, path: str, headers: dict[str, str], content: dict[str, object], until: float, extend: Callable[[], float]
) -> tuple[int, bytes]:
    body = light_json.dumps(content).encode()  # type: ignore[arg-type]  # a schema is JSON
    host = f"[{address.host}]" if ":" in address.host else address.host
    every = {
        "Host": f"{host}:{address.port}",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [f"POST {address.path}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in (every | headers).items())]
    connection = _connect(address, until)
    try:
        connection.settimeout(_seconds_left(until))
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return _read_answer(_Incoming(connection, until, extend))
    finally:
        connection.close()


def _connect(address: Address, until: float) -> _socket.socket | ssl.SSLSocket:
    """Return a connection to the first address of the host that takes one. Raises OSError."""
    error = OSError("the host has no address")
    for family, kind, protocol, _, target in _socket.getaddrinfo(address.host, address.port, 0, _socket.SOCK_STREAM):
        connection = _socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_seconds_left(until))
            connection.connect(target)
            connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return _encrypt(connection, address.host, until) if address.is_secure else connection
        except OSError as failure:
            connection.close()
            error = failure
    raise error


def _encrypt(connection: _socket.socket, host: str, until: float) -> ssl.SSLSocket:
    from subcog_hooks.core import repository_variables  # needed only for TLS

    repository_variables.drop_set_variables(*repository_variables.FOR_TLS)
    import socket
    import ssl

    os.environ.pop("SSLKEYLOGFILE", None)  # ssl would write the connection's keys to this file
    context = ssl.create_default_context()
    verify_paths = ssl.get_default_verify_paths()
    if not verify_paths.cafile and not (verify_paths.capath and os.listdir(verify_paths.capath)):
        import certifi  # for a Python without the system's certificates

        context.load_verify_locations(certifi.where())
    plain = socket.socket(fileno=connection.detach())
    try:
        plain.settimeout(_seconds_left(until))
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


class _Incoming:
    """The bytes that arrive over a connection, with one deadline for all of them, which can be extended once."""

    __slots__ = ("_arrived", "_connection", "_extend", "_until")

    def __init__(self, connection: _socket.socket | ssl.SSLSocket, until: float, extend: Callable[[], float]) -> None:
        self._connection = connection
        self._until = until
        self._extend = extend
        self._arrived = b""

    def _receive(self) -> bool:
        """Wait for more bytes. Return whether any came before the end. Raises OSError."""
        try:
            self._connection.settimeout(_seconds_left(self._until))
            piece = self._connection.recv(_PIECE)
        except TimeoutError:
            extend, self._extend = self._extend, _refuse_to_wait
            self._until = extend()
            return self._receive()
        self._arrived += piece
        return bool(piece)

    def read_to(self, mark: bytes) -> bytes:
        """Return the bytes before a mark, which ends them. Raises ValueError for none within MAX_HEAD."""
        while mark not in self._arrived:
            if len(self._arrived) > MAX_HEAD:
                raise ValueError("no end of the head")
            if not self._receive():
                raise ValueError("half a head") if self._arrived else ConnectionResetError
        before, _, self._arrived = self._arrived.partition(mark)
        return before

    def read(self, size: int) -> bytes:
        """Return this number of bytes. Raises ConnectionResetError for fewer, ValueError."""
        if not 0 <= size <= MAX_BODY:
            raise ValueError("no size, or too large")
        while len(self._arrived) < size:
            if not self._receive():
                raise ConnectionResetError
        read, self._arrived = self._arrived[:size], self._arrived[size:]
        return read

    def read_all(self) -> bytes:
        """Return all bytes until the end. Raises ValueError for more than MAX_BODY."""
        while len(self._arrived) <= MAX_BODY:
            if not self._receive():
                return self._arrived
        raise ValueError("too large")


def _read_answer(incoming: _Incoming) -> tuple[int, bytes]:
    """Return status and body of an answer. Raises ValueError where it is not HTTP, OSError."""
    status = 100
    while 100 <= status < 200:  # an answer before the answer
        first, *lines = incoming.read_to(b"\r\n\r\n").split(b"\r\n")
        version, code, *_ = first.split()
        if not version.startswith(b"HTTP/1."):
            raise ValueError("another protocol")
        status = int(code)
    fields = {name.strip().lower(): value.strip().lower() for name, _, value in (line.partition(b":") for line in lines)}
    if fields.get(b"transfer-encoding") == b"chunked":
        body = b""
        while size := int(incoming.read_to(b"\r\n").partition(b";")[0], 16):
            body += incoming.read(size)
            if len(body) > MAX_BODY:
                raise ValueError("too large")
            incoming.read(len(b"\r\n"))
        return status, body
    length = fields.get(b"content-length")
    return status, incoming.read_all() if length is None else incoming.read(int(length))


def _seconds_left(until: float) -> float:
    """Return the seconds until then. Raises TimeoutError when none are left: a timeout of 0 would mean no waiting."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds
