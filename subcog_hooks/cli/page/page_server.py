"""A server for the report on this machine, which changes memories. It answers only its own page, which knows its token.

A page of another site cannot read or change a memory: the host and origin of each request are checked, so a name that is made
to point here (DNS rebinding) and a form that is sent here (CSRF) are refused. Nothing is fetched from anywhere.
"""

import hmac
import json
import secrets
import socketserver
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import NamedTuple

from subcog_hooks.cli import doctor_memories, embedding
from subcog_hooks.cli.agents import permission_rules
from subcog_hooks.cli.amendment import amend, apply_edits, mark_forgotten
from subcog_hooks.cli.doctor_memories import Inventory
from subcog_hooks.cli.page.report_page import Page, card_fields, make_cards
from subcog_hooks.cli.proposals import waiting
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core.errors import SubcogError, UsageError
from subcog_hooks.core.log import to_json, write_line
from subcog_hooks.store.memory import PENDING, Memory
from subcog_hooks.store.store import Store

IDLE_S = 600.0  # seconds without a request, after which the server ends
POLL_S = 0.5
MAX_BODY_BYTES = 10_000
TOKEN_BYTES = 32
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Build = Callable[[Inventory], Page]
Figures = Callable[[Inventory], list[tuple[str, str]]]


def serve(build: Build, figures: Figures) -> None:
    """Serve a report until Ctrl-C, or until no request came for IDLE_S. Raises UsageError, and NoMemory without a store.

    build: makes the page; figures: the names and values above it.
    """
    if author.is_agent():
        raise UsageError("the page changes memories, and an agent runs this command", "the person runs it in a terminal")
    build(doctor_memories.load_inventory())  # A store that cannot be read is told here, not in the browser.
    with _Server(build, figures) as server:
        terminal.result(server.origin + f"/{server.token}/")
        sys.stdout.flush()
        terminal.say(f"open it in a browser; it ends with Ctrl-C, or after {IDLE_S / 60:.0f} minutes without use")
        try:
            while time.monotonic() - server.used_s < IDLE_S:
                server.handle_request()
        except KeyboardInterrupt:
            pass
        with server.lock:  # A change under way is finished.
            terminal.say("the page is no longer served")


class _Server(socketserver.ThreadingTCPServer):
    """A server that answers each connection in its thread, as a browser opens some that it does not use."""

    daemon_threads = True
    timeout = POLL_S

    def __init__(self, build: Build, figures: Figures) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.build = build
        self.figures = figures
        self.lock = Lock()  # One request works at a time.
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.origin = f"http://{self.host}"
        self.used_s = time.monotonic()

    def handle_error(self, *_: object) -> None:
        """Name the failure in a line; a browser that has gone is none."""
        error = sys.exception()
        if not isinstance(error, OSError):
            terminal.complain(f"a request failed: {type(error).__name__}: {error}")


class _Answer(NamedTuple):
    """An answer to a request: its status, the type and text of its body, and the policy of its content."""

    status: HTTPStatus
    kind: str
    text: str
    policy: str = "default-src 'none'"


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10  # seconds, for a request to arrive
    server_version, sys_version = "subcog", ""

    def do_GET(self) -> None:
        """Answer with the page."""
        self._answer(is_change=False)

    def do_POST(self) -> None:
        """Make a change."""
        self._answer(is_change=True)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: an address has the token."""

    def _answer(self, *, is_change: bool) -> None:
        if refusal := self._find_refusal(is_change=is_change):
            self._send(_Answer(refusal, "text/plain", refusal.phrase))
            return
        try:
            change = self._read_body() if is_change else None  # A slow body holds no other request up.
            with self.server.lock:
                self.server.used_s = time.monotonic()
                answer = self._respond(self.path.split("/", 2)[2], change)
        except SubcogError as error:
            answer = _Answer(HTTPStatus.CONFLICT, "application/json", to_json({"error": str(error)}))
        except Exception as error:  # noqa: BLE001 - without an answer the page would say that it is no longer served
            failure = f"a request of the page failed: {type(error).__name__}: {error}"
            write_line(context.home(), failure)
            message = f"{failure}; load the page again to see whether the change was made"
            answer = _Answer(HTTPStatus.INTERNAL_SERVER_ERROR, "application/json", to_json({"error": message}))
        self._send(answer)

    def _find_refusal(self, *, is_change: bool) -> HTTPStatus | None:
        """Return the status that refuses this request, None for a request of the own page or of the person."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if hosts != [self.server.host] or ((origins or is_change) and origins != [self.server.origin]):
            return HTTPStatus.FORBIDDEN
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return HTTPStatus.FORBIDDEN
        parts = self.path.split("/", 2)
        token = parts[1] if len(parts) == 3 else ""
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return HTTPStatus.NOT_FOUND
        return None

    def _respond(self, path: str, change: dict[str, object] | None) -> _Answer:
        if change is not None and path == "changes":
            return _Answer(HTTPStatus.OK, "application/json", to_json(_change(change, self.server.figures)))
        if change is None and not path:
            page = self.server.build(doctor_memories.load_inventory())
            return _Answer(HTTPStatus.OK, "text/html", page.render(), f"{page.policy}; frame-ancestors 'none'")
        return _Answer(HTTPStatus.NOT_FOUND, "text/plain", HTTPStatus.NOT_FOUND.phrase)

    def _read_body(self) -> dict[str, object]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 10 and int(length) <= MAX_BODY_BYTES):
            raise UsageError(f"the change has no length, or more than {MAX_BODY_BYTES:,} bytes", "load the page again")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise UsageError("the change is no JSON", "load the page again") from error
        if self.headers.get_content_type() != "application/json" or not isinstance(body, dict):
            raise UsageError("the change is no JSON object", "load the page again")
        return body

    def _send(self, answer: _Answer) -> None:
        body = answer.text.encode("utf-8", "replace")
        self.send_response(answer.status)
        for name, value in {**_HEADERS, "Content-Security-Policy": answer.policy}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{answer.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _change(request: Mapping[str, object], figures: Figures) -> dict[str, object]:
    """Make a change as `forget` and `review` make it. Return a message, the changed cards and the figures."""
    id_ = request.get("id")
    if not isinstance(id_, str):
        raise UsageError("the change names no memory", "load the page again")
    with context.writing() as store:
        message = _make_change(store, store.get(id_), request)
    permission_rules.take_back_ended(context.home())
    embedding.start_background_jobs()
    contents = doctor_memories.load_inventory()
    with context.reading() as store:
        changed = list(store.by_ids([id_]).values()) if store else []
    cards = [card_fields(card) for card in make_cards(changed, contents)]
    return {"message": message, "cards": cards, "figures": [value for _, value in figures(contents)]}


def _make_change(store: Store, memory: Memory, request: Mapping[str, object]) -> str:
    """Make a change of a memory, and return the message for the person. Raises UsageError for an unknown change."""
    match request.get("action"):
        case "keep":
            waiting.accept(store, [waiting.find_pending(store, memory.id)])
            return "Kept. Your agents are given it from now on."
        case "drop":
            waiting.reject(store, [waiting.find_pending(store, memory.id)])
            return "Dropped."
        case "forget":
            mark_forgotten(store, [memory])
            return "Forgotten. No agent is given it any more."
        case "restore":
            status = PENDING if request.get("status") == PENDING else "active"
            if amend(memory, lambda stored: apply_edits(memory, stored, {"status": status}), store, []) is None:
                return "Nothing changed."
            context.update_index_and_vectors(store)
            return "Waits for review again." if status == PENDING else "Brought back."
    raise UsageError("the change is none that this page makes", "load the page again")
