"""The Messages API on loopback: gives the answers it was told, else one short text; keeps what was asked.

Nothing here knows about the client or the memories; it serves JSON and server-sent events.
"""

import itertools
import json
import socket
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self

ANSWER = "Understood."
IDLE_SECONDS = 60  # a connection that stays silent for so long is given up, so that close() always ends


class ToolCall(NamedTuple):
    """What the model asks a tool to do."""

    name: str
    given: Mapping[str, object]


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

    @property
    def results(self) -> list[tuple[str, bool]]:
        """What the tools have given so far, each as its text and whether it is an error."""
        blocks = [block for message in _list(self.body.get("messages")) for block in _list(message.get("content"))]
        return [
            ("\n".join(_texts(block.get("content"))), bool(block.get("is_error")))
            for block in blocks
            if block.get("type") == "tool_result"
        ]


def _list(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


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

    `answers` are the next ones to the agent, one a request: a tool's call or a text. When there are none, it is ANSWER.

    listener: a listening loopback socket, which the server closes at the end. It may belong to another network
    namespace than this process.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.requests: list[Request] = []
        self.answers: deque[ToolCall | str] = deque()
        self._server = _Server(listener, self.requests, self.answers)
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

    def __init__(self, listener: socket.socket, requests: list[Request], answers: deque[ToolCall | str]) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.requests = requests
        self.answers = answers
        self.numbers = itertools.count(1)


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
        else:
            answer = self.server.answers.popleft() if request.is_main and self.server.answers else ANSWER
            number = next(self.server.numbers)
            block = _block(answer, number)
            message = _message(str(request.body.get("model")), number, block)
            if request.body.get("stream"):
                self._send(200, "text/event-stream; charset=utf-8", _event_stream(message, block))
            else:
                self._send_json(200, message)

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


def _block(answer: ToolCall | str, number: int) -> dict[str, object]:
    """Return the content of an answer. number: the answer's, from which an id is made."""
    if isinstance(answer, str):
        return {"type": "text", "text": answer}
    return {"type": "tool_use", "id": f"toolu_{number:024}", "name": answer.name, "input": dict(answer.given)}


def _message(model: str, number: int, block: Mapping[str, object]) -> dict[str, object]:
    return {
        "id": f"msg_{number:024}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _event_stream(message: Mapping[str, object], block: Mapping[str, object]) -> bytes:
    """A message of one block as the events of a streamed answer."""
    empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block.get("text")}
    if block["type"] == "tool_use":
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
