"""The HTML page of a report, and a server on this machine, which changes memories and answers only its page's token.

A page of another site cannot read or change a memory: the host and origin of each request are checked, so a name that is made
to point here (DNS rebinding) and a form that is sent here (CSRF) are refused. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import socketserver
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import NamedTuple

from subcog_hooks.cli import doctor_memories, embedding
from subcog_hooks.cli.agents import claude_code
from subcog_hooks.cli.amendment import amend, apply_edits, mark_forgotten
from subcog_hooks.cli.doctor_memories import Inventory
from subcog_hooks.cli.listing import cue_rows, priority_text
from subcog_hooks.cli.review import accept, find_pending, reject
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import day, pluralize, redact_line, safe, terminal
from subcog_hooks.core.errors import SubcogError, UsageError
from subcog_hooks.core.files import WholeFile
from subcog_hooks.core.log import to_json, write_line
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import PENDING, UNDATED, Memory
from subcog_hooks.store.store import Store
from subcog_hooks.text.sanitise import cut, one_line

MAX_MASKED = 4_000  # characters of a text that are searched for secrets; fewer are shown
MAX_CARD, MIN_CARD = 4_000, 120  # characters of a card's text: fewer where there are many cards
CARD_CHARACTERS = 1_600_000  # of the texts of all cards of a file
TITLE = "subcog report"
_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Card(NamedTuple):
    """A memory on a page. about: sentences about it, without secrets; details: names and values of fields.

    created: milliseconds since the epoch; given: the number of sessions that received it.
    """

    id: str
    text: str
    about: str
    state: str
    project: str
    namespace: str
    created: int
    given: int
    details: Sequence[tuple[str, str]]


class Page:
    """The page of a report: a sentence, figures behind their names, and memories that the script draws, filters and opens.

    is_served: its memories are changed through the server that it comes from.
    """

    def __init__(
        self, about: str, figures: Sequence[tuple[str, str]], cards: Sequence[Card], *, is_served: bool = False
    ) -> None:
        self._is_served = is_served
        pairs = "".join(f"<div><dt>{html_text(name)}</dt><dd>{html_text(value)}</dd></div>" for name, value in figures)
        max_chars = MAX_CARD if is_served else max(MIN_CARD, min(MAX_CARD, CARD_CHARACTERS // max(1, len(cards))))
        rows = [list(card_fields(card, max_chars).values()) for card in cards]
        data = to_json({"served": is_served, "names": Card._fields, "cards": rows}).replace("<", "\\u003c")
        self._body = (
            f"<header><h1>{TITLE}</h1><p>{html_text(about)}</p></header>\n"
            f'<dl class="figures">{pairs}</dl>\n<h2>Memories</h2>\n'
            f'<section id="memories"></section><script type="application/json" id="data">{data}</script>'
        )

    @property
    def policy(self) -> str:
        """Return the content security policy of the page."""
        connect = "connect-src 'self'; " if self._is_served else ""
        return (
            f"default-src 'none'; style-src '{_csp_hash(_read_asset('page.css'))}'; "
            f"script-src '{_csp_hash(_read_asset('page.js'))}'; {connect}base-uri 'none'; form-action 'none'"
        )

    def render(self) -> str:
        """Return the page as HTML."""
        style, script = _read_asset("page.css"), _read_asset("page.js")
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{self.policy}">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="viewport" content="width=device-width">\n'
            f"<title>{TITLE}</title>\n<style>{style}</style>\n</head>\n<body>\n{self._body}\n"
            f"<script>{script}</script>\n</body>\n</html>\n"
        )


def html_text(text: str) -> str:
    """Return a text as escaped HTML: one visible line, without secrets.

    >>> html_text('<script>alert("1")</script>\\n&\\u202e')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp;'
    """
    return escape(redact_line(text))


def card_fields(card: Card, max_chars: int = MAX_CARD) -> dict[str, object]:
    """Return a card for the script of a page, without secrets. max_chars: length limit of its text."""
    lines = redact(card.text[:MAX_MASKED]).text.split("\n")
    with_indents = "\n".join(line[: len(line) - len(line.lstrip(" \t"))] + one_line(line) for line in lines)
    return {
        **card._asdict(),
        "text": cut(with_indents, max_chars),
        "details": [(name, cut(visible_text(value), max_chars)) for name, value in card.details],
        "project": visible_text(card.project),
        "namespace": visible_text(card.namespace),
    }


@lru_cache(maxsize=1_000)
def visible_text(text: str) -> str:
    """Return a text in one line. Ids and days take the quick path, without a search for all kinds of secrets."""
    searched = text[:MAX_MASKED]  # Masked before it is cut.
    return redact_line(searched) if " " in searched else safe(searched)


def _read_asset(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _csp_hash(text: str) -> str:
    """Return the source expression that lets a style or script run under the content policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_OWNERS = {"user": "all your projects", "org": "your organisation"}
_STATES = {PENDING: "waiting", "superseded": "replaced", "deleted": "forgotten"}
_UNUSED = "not used for a year"


def make_cards(memories: list[Memory], contents: Inventory) -> list[Card]:
    """Return a card for each memory."""
    unused = {memory.id for why, memory in contents.stale() if why == _UNUSED}
    cards = []
    for memory in memories:
        is_expired = memory.status == "active" and not memory.is_live(contents.now)
        state = _STATES.get(memory.status, memory.status)
        state = _UNUSED if memory.id in unused else "expired" if is_expired else state
        standing = "" if memory.standing is None else "yes" if memory.standing else "no"
        others = [("standing", standing), ("priority", priority_text(memory)), ("source", memory.source)]
        card = Card(
            id=memory.id,
            text=memory.content,
            about=_describe(memory, contents, state),
            state=state,
            project=memory.project or memory.scope,
            namespace=memory.namespace,
            created=memory.created_at,
            given=contents.sessions_of(memory),
            details=[row for row in (*cue_rows(memory), *others) if row[1]],
        )
        cards.append(card)
    return cards


def _describe(memory: Memory, contents: Inventory, state: str) -> str:
    date = "" if memory.created_at == UNDATED else f" on {day(memory.created_at)}"
    author = f", {memory.noted.removeprefix('noted ')}" if memory.noted else ""
    owner = memory.project or _OWNERS.get(memory.scope, memory.scope)
    sentences = [f"Noted{date} under {visible_text(memory.namespace)}, for {visible_text(owner)}{author}."]
    if state == "expired" and memory.expires_at is not None:
        sentences.append(f"Expired on {day(memory.expires_at)}.")
    if memory.superseded_by:
        sentences.append(f"Replaced by {memory.superseded_by}.")
    use = contents.use.by_id.get(memory.id)
    if use:
        sentences.append(f"Given to {pluralize(use.sessions, 'session')}, last on {day(use.last_at)}.")
    elif memory.is_live(contents.now):
        sentences.append("Not given to a session yet.")
    return " ".join(sentences)


def write_page(page: Page, path: str) -> None:
    """Write a page to a file, and say so; to standard output for "-". A link is followed. Raises UsageError."""
    if path == "-":
        terminal.raw(page.render())
        return
    if not os.path.basename(path) or (os.path.exists(path) and not os.path.isfile(path)):
        raise UsageError(f"{safe(path)!r} names no file", "name the file for the page, as --html page.html")
    text = page.render()
    try:
        with WholeFile(os.path.realpath(path)) as whole:
            whole.file.write(text)
    except OSError as error:
        raise UsageError(f"{safe(path)} cannot be written: {error.strerror}", "name another file") from error
    terminal.say(f"written to {safe(path)} ({len(text) / 1e6:.1f} MB); open it in a browser")


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
        terminal.flush()
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
                if change is None:
                    page = self.server.build(doctor_memories.load_inventory())
                    answer = _Answer(HTTPStatus.OK, "text/html", page.render(), f"{page.policy}; frame-ancestors 'none'")
                else:
                    answer = _Answer(HTTPStatus.OK, "application/json", to_json(_change(change, self.server.figures)))
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
        token, slash, name = self.path.removeprefix("/").partition("/")
        is_own = hmac.compare_digest(token.encode(), self.server.token.encode())
        return None if is_own and slash + name == ("/changes" if is_change else "/") else HTTPStatus.NOT_FOUND

    def _read_body(self) -> dict[str, object]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 10 and int(length) <= MAX_BODY_BYTES):
            raise UsageError(f"the change has no length, or more than {MAX_BODY_BYTES:,} bytes", "load the page again")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            body = None
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
    claude_code.take_back_ended(context.home())
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
            accept(store, [find_pending(store, memory.id)])
            return "Kept. Your agents are given it from now on."
        case "drop":
            reject(store, [find_pending(store, memory.id)])
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
