"""Traces that a hook leaves in files beside state.db: runs that were cut off, and silent tool calls."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from subcog_hooks.core.paths import Home

MAX_CUT_OFF_BYTES = 128 * 1024  # bytes; the hook stops writing at half of that
KEPT_DAYS = 30

_DAY_MS = 86_400_000


class CutOff:
    """A run that was cut off. at: milliseconds since the epoch; event: the client's name of it."""

    __slots__ = ("at", "event")

    def __init__(self, at: int, event: str) -> None:
        self.at = at
        self.event = event


def read_cut_offs(home: Home, now_ms: int) -> list[CutOff]:
    """Return the runs of the last KEPT_DAYS that were cut off, the newest first; none where the file can not be read."""
    try:
        with open(home.cut_offs, "rb") as file:
            lines = file.read(MAX_CUT_OFF_BYTES).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        at, _, event = line.decode("ascii", "replace").partition(" ")
        if at.isdigit() and len(at) < 16 and event.isalpha() and now_ms - KEPT_DAYS * _DAY_MS <= int(at) <= now_ms:
            found.append(CutOff(int(at), event))
    return sorted(found, key=lambda cut_off: -cut_off.at)


def forget_cut_offs(home: Home) -> None:
    """Delete the trace. Raises StoreError."""
    import os

    try:
        os.unlink(home.cut_offs)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"{home.cut_offs} can not be deleted: {error.strerror}", "delete it") from None


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


def latest_silent_calls(home: Home, limit: int) -> list[SilentCall]:
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


def note_topic_left(home: Home, session: str, at: int) -> None:
    """Note that a session has gone on to another topic, where state.db can not be written. A full disk is no failure."""
    row = light_json.dumps({"at": at, "tool": _LEFT, "about": [], "given": [], "session": session})
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(home.silent_calls, flags, 0o600)
        os.write(descriptor, row.encode() + b"\n")
        os.close(descriptor)
    except OSError:
        pass


def has_topic_left(home: Home, session: str, since: int) -> bool:
    """Return whether it was noted so since then."""
    calls = (_call(line) for line in _lines(home) if _LEFT.encode() in line)
    return any(call is not None and call.tool == _LEFT and call.session == session and call.at > since for call in calls)


def _call(line: bytes) -> SilentCall | None:
    """Return the call of a line, None where it is none: a line may be half written."""
    try:
        row = light_json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(row, dict) or not isinstance(at := row.get("at"), int) or not 0 < at < 10**15:
        return None
    return SilentCall(at, str(row.get("tool")), _texts(row.get("about")), _texts(row.get("given")), str(row.get("session")))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def forget_silent_calls(home: Home) -> None:
    """Delete what is kept of them. Raises StoreError."""
    for path in (home.silent_calls, home.silent_calls + _BEFORE):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"{path} can not be deleted: {error.strerror}", "delete it") from None
