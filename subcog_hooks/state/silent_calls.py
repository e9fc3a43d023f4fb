"""The last tool calls that the hook was silent at: read from a file beside state.db, for which no lock is waited.

The hook appends a line to it and puts it aside when it is long. Both files may be deleted at any time.
"""

import os

from subcog_hooks import wire
from subcog_hooks.errors import StoreError
from subcog_hooks.paths import Home

MAX_CALL_BYTES = 128 * 1024  # bytes of each file; the hook goes on to a new one at a quarter of that
_BEFORE = ".before"


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
    lines: list[bytes] = []
    for path in (home.silent_calls + _BEFORE, home.silent_calls):
        try:
            with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                lines += file.read(MAX_CALL_BYTES).splitlines()
        except OSError:
            continue
    found = [call for line in lines[-2 * limit :] if (call := _call(line)) is not None]
    return sorted(found, key=lambda call: -call.at)[:limit]


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
