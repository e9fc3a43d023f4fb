"""HTML pages of reports: built, escaped and written."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

from subcog_hooks.cli.doctor_memories import Inventory
from subcog_hooks.cli.listing import cue_rows, priority_text
from subcog_hooks.cli.terminal.output import day, pluralize, redact_line, safe, terminal
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.log import to_json
from subcog_hooks.core.whole_files import WholeFile
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import PENDING, UNDATED, Memory
from subcog_hooks.text.sanitise import cut, one_line

MAX_MASKED = 4_000  # characters of a text that are searched for secrets; fewer are shown
MAX_CARD, MIN_CARD = 4_000, 120  # characters of a card's text: fewer where there are many cards
CARD_CHARACTERS = 1_600_000  # of the texts of all cards of a file
TITLE = "subcog report"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
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
        sentence = _DATE.sub(r"<time>\g<0></time>", html_text(about))
        pairs = "".join(f"<div><dt>{html_text(name)}</dt><dd>{html_text(value)}</dd></div>" for name, value in figures)
        max_chars = MAX_CARD if is_served else max(MIN_CARD, min(MAX_CARD, CARD_CHARACTERS // max(1, len(cards))))
        rows = [list(card_fields(card, max_chars).values()) for card in cards]
        data = to_json({"served": is_served, "names": Card._fields, "cards": rows}).replace("<", "\\u003c")
        self._body = (
            f"<header><h1>{TITLE}</h1><p>{sentence}</p></header>\n"
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
