"""The Messages API on loopback: answers every request with one short text and keeps what was asked.

Nothing here knows about the client or the memories; it serves JSON and server-sent events.
"""

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self

ANSWER = "Understood."
IDLE_SECONDS = 60  # a connection that stays silent for so long is given up, so that close() always ends


class Request(NamedTuple):
    """One request as it came in; `body` is {} when there was no JSON object."""

    method: str
    path: str
    body: Mapping[str, object]

    @property
    def is_main(self) -> bool:
        """Whether this is a turn of the agent: titles and other side requests carry no tools."""
        return self.path.partition("?")[0] == "/v1/messages" and bool(self.body.get("tools"))

    @property
    def model_text(self) -> str:
        """All that the request puts in front of the model, its system prompt and its messages, one text a line."""
        return "\n".join([*_texts(self.body.get("system")), *_texts(self.body.get("messages"))])


def _texts(value: object) -> Iterator[str]:
    """The texts inside a message, a block, or a list of either."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(value.get("text"))
        yield from _texts(value.get("content"))


class MessagesAPI:
    """The server; `requests` holds all it was asked, in order. Use it as a context manager.

    listener: a listening loopback socket, which the server closes at the end. It may belong to another network
    namespace than this process.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.requests: list[Request] = []
        self._server = _Server(listener, self.requests)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close() then waits for the connections' threads

    def __init__(self, listener: socket.socket, requests: list[Request]) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.requests = requests


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client was ended in the middle of a request
            self.close_connection = True

    def do_HEAD(self) -> None:
        self._record("HEAD", b"")
        self._probe()

    def do_GET(self) -> None:
        self._record("GET", b"")
        self._probe()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = self._record("POST", raw)
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._send_json(200, {"input_tokens": len(raw) // 4 + 1})
        elif path != "/v1/messages":
            self._send_not_found()
        elif request.body.get("stream"):
            self._send(200, "text/event-stream; charset=utf-8", _event_stream(str(request.body.get("model"))))
        else:
            self._send_json(200, _message(str(request.body.get("model"))))

    def _record(self, method: str, raw: bytes) -> Request:
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        request = Request(method, self.path, body if isinstance(body, dict) else {})
        self.server.requests.append(request)
        return request

    def _probe(self) -> None:
        """The client asks for `/` to see whether the API can be reached."""
        if self.path.partition("?")[0] == "/":
            self._send_json(200, {})
        else:
            self._send_not_found()

    def _send_not_found(self) -> None:
        self._send_json(404, {"type": "error", "error": {"type": "not_found_error", "message": f"no {self.path}"}})

    def _send_json(self, status: int, body: Mapping[str, object]) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, content_type: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _message(model: str) -> dict[str, object]:
    return {
        "id": "msg_000000000000000000000001",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": ANSWER}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _event_stream(model: str) -> bytes:
    """The message above as the events of a streamed answer."""
    message = _message(model) | {"content": [], "stop_reason": None}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
