"""An LLM's server for tests: real HTTP on 127.0.0.1, both providers' answers, and every way to fail.

    with LlmServer(says("howto", 0.9, ["deploy"], delay_ms=20)) as server:
        ...  # settings: llm.base_url = server.url
    assert server.requests[0].json["model"] == "a-model"

Several behaviours are played one after another, the last one again and again; `play` sets others. Nothing sleeps: whatever
waits is let go when the server is left.
"""

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Behaviour = Callable[["Handler"], None]

DRIP_S = 0.05  # between two bytes


class Request:
    """What has been asked for. headers: by their names in lower case."""

    __slots__ = ("body", "headers", "method", "path")

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:  # of a test's own request
        return json.loads(self.body)


class LlmServer:
    """Serves inside a `with` block. url: for Anthropic; url_v1: for OpenAI's path."""

    __slots__ = ("_behaviours", "_lock", "_scheme", "_server", "_thread", "closing", "requests")

    def __init__(self, *behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        """tls: speak HTTPS."""
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._behaviours = list(behaviours)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def url_v1(self) -> str:
        return f"{self.url}/v1"

    def play(self, *behaviours: Behaviour) -> None:
        """From the next request on."""
        with self._lock:
            self._behaviours = list(behaviours)

    def next(self) -> Behaviour:
        with self._lock:
            return self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # 5 make the sixth client of a moment wait for a second
    owner: LlmServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that is gone is what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    """One request; what behaviours work with."""

    server: _Server
    body: bytes

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.requests.append(Request(self.command, self.path, headers, self.body))
        self.close_connection = True
        self.server.owner.next()(self)

    def do_GET(self) -> None:
        """What a followed redirect would be."""
        self.do_POST()

    @property
    def asked(self) -> str:
        """The last message of this request; others may have come in the meantime."""
        return str(json.loads(self.body)["messages"][-1]["content"])

    def wait(self, seconds: float) -> None:
        self.server.owner.closing.wait(seconds)

    def wait_for_the_end(self) -> None:
        self.server.owner.closing.wait()

    def answer(self, status: int, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.wfile.write(_http(status, body, headers))

    def log_message(self, format: str, *values: object) -> None:
        """Nothing on the tests' output."""


def _http(status: int, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def _wrapped(path: str, text: str, given: dict[str, Any] | None) -> bytes:
    """An answer as the provider whose path it is gives it. given: Anthropic's tool input; None: text."""
    if path.endswith("/messages"):
        block = (
            {"type": "text", "text": text}
            if given is None
            else {"type": "tool_use", "id": "t", "name": "intent", "input": given}
        )
        return json.dumps(
            {"id": "m", "type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use"}
        ).encode()
    message = {"role": "assistant", "content": text}
    return json.dumps({"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": message}]}).encode()


# behaviours


def says(intent_type: str, confidence: float, topics: Sequence[str] = (), *, delay_ms: float = 0.0) -> Behaviour:
    """A valid answer, after a while."""
    given = {"intent_type": intent_type, "confidence": confidence, "topics": list(topics)}

    def behave(handler: Handler) -> None:
        handler.wait(delay_ms / 1000.0)
        handler.answer(200, _wrapped(handler.path, json.dumps(given), given))

    return behave


def when(event: threading.Event, behaviour: Behaviour) -> Behaviour:
    """The same, once something has happened."""

    def behave(handler: Handler) -> None:
        event.wait()
        behaviour(handler)

    return behave


def unless(text: str, failure: Behaviour, otherwise: Behaviour) -> Behaviour:
    """Fails at questions with this text."""
    return lambda handler: (failure if text in handler.asked else otherwise)(handler)


def says_text(text: str) -> Behaviour:
    """A valid answer of the API whose text is whatever the model came up with."""
    return lambda handler: handler.answer(200, _wrapped(handler.path, text, None))


def says_raw(body: bytes, status: int = 200) -> Behaviour:
    """An HTTP answer with any body."""
    return lambda handler: handler.answer(status, body)


def fails(status: int, body: bytes = b'{"error": {"type": "an_error", "message": "no"}}') -> Behaviour:
    return says_raw(body, status)


def garbage(data: bytes = b"\x16\x03\x01 this is no HTTP at all \xff\xfe\r\n\r\n") -> Behaviour:
    """Bytes that are no HTTP."""

    def behave(handler: Handler) -> None:
        handler.wfile.write(data)

    return behave


def never() -> Behaviour:
    """Takes the request and is silent."""
    return lambda handler: handler.wait_for_the_end()


def hangs_up() -> Behaviour:
    """Takes the request and closes the connection in an orderly way."""
    return lambda _: None


def breaks_off(missing: int = 10) -> Behaviour:
    """Promises more bytes than it sends."""

    def behave(handler: Handler) -> None:
        whole = _http(200, _wrapped(handler.path, "{}", None))
        handler.wfile.write(whole[:-missing])

    return behave


def resets() -> Behaviour:
    """Takes the request and ends the connection with RST."""

    def behave(handler: Handler) -> None:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.rfile.close()  # it holds the socket open
        handler.connection.close()

    return behave


def drips(intent_type: str = "howto", confidence: float = 0.9, topics: Sequence[str] = ()) -> Behaviour:
    """A valid answer, one byte each 50 ms, from the status line on."""
    given = {"intent_type": intent_type, "confidence": confidence, "topics": list(topics)}

    def behave(handler: Handler) -> None:
        for byte in _http(200, _wrapped(handler.path, json.dumps(given), given)):
            if handler.server.owner.closing.is_set():
                return
            handler.wfile.write(bytes([byte]))
            handler.wait(DRIP_S)

    return behave


def floods(size: int = 10_000_000, *, tells_length: bool = True) -> Behaviour:
    """A body of 10 MB. tells_length: with Content-Length; else it ends with the connection."""

    def behave(handler: Handler) -> None:
        head = _http(200, b"").replace(
            b"Content-Length: 0\r\n", f"Content-Length: {size}\r\n".encode() if tells_length else b""
        )
        handler.wfile.write(head)
        piece = b'{"a": "' + b"x" * 65_529
        for _ in range(0, size, len(piece)):
            handler.wfile.write(piece)

    return behave


def redirects(location: str, status: int = 307) -> Behaviour:
    return lambda handler: handler.answer(status, b"", [("Location", location)])
