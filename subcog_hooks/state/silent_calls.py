"""The last tool calls that the hook was silent at: read from a file beside state.db, for which no lock is waited.

The hook appends a line to it and puts it aside when it is long. Both files may be deleted at any time.
"""

from __future__ import annotations

import os

from subcog_hooks import wire
from subcog_hooks.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from subcog_hooks.paths import Home

MAX_CALL_BYTES = 128 * 1024  # bytes of each file; the hook goes on to a new one at a quarter of that
_BEFORE = ".before"
_LEFT = "left"  # the name of no tool: its session has gone on to another topic


class SilentCall:
    """A tool call at which nothing was handed over.

    at: milliseconds since the epoch; about: the file or the names that were looked up; given: ids of memories about them, which
    the session had been given before; () where nothing is remembered of them.
    """

    __slots__ = ("about", "at", "given", "session", "tool")

    def __init__(self, at: int, tool: str, about: tuple[str, ...], given: tuple[str, ...], session: str) -> None:
        self.at = at
        self.tool = tool
        self.about = about
        self.given = given
        self.session = session


def latest(home: Home, limit: int) -> list[SilentCall]:
    """Return the last silent calls, the newest first; none where nothing can be read."""
    lines = list(_lines(home))[-2 * limit :]
    found = [call for line in lines if (call := _call(line)) is not None and call.tool != _LEFT]
    return sorted(found, key=lambda call: -call.at)[:limit]


def _lines(home: Home) -> Iterator[bytes]:
    for path in (home.silent_calls + _BEFORE, home.silent_calls):
        try:
            with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                yield from file.read(MAX_CALL_BYTES).splitlines()
        except OSError:
            continue


def note_left(home: Home, session: str, at: int) -> None:
    """Note that a session has gone on to another topic, where state.db can not be written. A full disk is no failure."""
    row = wire.dumps({"at": at, "tool": _LEFT, "about": [], "given": [], "session": session})
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(home.silent_calls, flags, 0o600)
        os.write(descriptor, row.encode() + b"\n")
        os.close(descriptor)
    except OSError:
        pass


def has_left(home: Home, session: str, since: int) -> bool:
    """Return whether it was noted so since then."""
    calls = (_call(line) for line in _lines(home) if _LEFT.encode() in line)
    return any(call is not None and call.tool == _LEFT and call.session == session and call.at > since for call in calls)


def _call(line: bytes) -> SilentCall | None:
    """Return the call of a line, None where it is none: a line may be half written."""
    try:
        row = wire.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(row, dict) or not isinstance(at := row.get("at"), int) or not 0 < at < 10**15:
        return None
    return SilentCall(at, str(row.get("tool")), _texts(row.get("about")), _texts(row.get("given")), str(row.get("session")))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def forget(home: Home) -> None:
    """Delete what is kept of them. Raises StoreError."""
    for path in (home.silent_calls, home.silent_calls + _BEFORE):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"{path} can not be deleted: {error.strerror}", "delete it") from None
