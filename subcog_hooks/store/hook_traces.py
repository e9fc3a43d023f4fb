"""Traces that a hook leaves in files beside state.db: runs that were cut off, and silent tool calls."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import read_regular
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from subcog_hooks.core.paths import Home

MAX_CUT_OFF_BYTES = 128 * 1024  # bytes; the hook stops writing at half of that
KEPT_DAYS = 30

_DAY_MS = 86_400_000


@record
class CutOff:
    """A run that was cut off. at_ms: milliseconds since the epoch; event: the client's name of it."""

    at_ms: int
    event: str


def read_cut_offs(home: Home, now_ms: int) -> list[CutOff]:
    """Return the runs of the last KEPT_DAYS that were cut off, the newest first; [] for an unreadable file."""
    try:
        lines = read_regular(home.cut_offs, MAX_CUT_OFF_BYTES).splitlines()
    except OSError:
        return []
    cut_offs = []
    for line in lines:
        time_text, _, event = line.decode("ascii", "replace").partition(" ")
        if (
            time_text.isdigit()
            and len(time_text) < 16
            and event.isalpha()
            and now_ms - KEPT_DAYS * _DAY_MS <= int(time_text) <= now_ms
        ):
            cut_offs.append(CutOff(int(time_text), event))
    return sorted(cut_offs, key=lambda cut_off: -cut_off.at_ms)


MAX_CALL_BYTES = 128 * 1024  # bytes of each file; the hook starts a new one at a quarter of this
_BEFORE = ".before"


@record
class SilentCall:
    """A tool call at which nothing was handed over.

    at_ms: milliseconds since the epoch; about: the file or the names that were looked up. given: ids of memories about them
    that the session had been given before; lines: of the others, which had had a line, or which no line was left for.
    session: with a slash and the subagent, where one called.
    """

    at_ms: int
    tool: str
    about: tuple[str, ...]
    given: tuple[str, ...]
    lines: tuple[str, ...]
    session: str


def find_latest_silent_calls(home: Home, limit: int) -> list[SilentCall]:
    """Return the last silent calls, the newest first; [] for unreadable files."""
    lines = list(_silent_call_lines(home))[-limit:]
    calls = [call for line in lines if (call := _parse_call(line)) is not None]
    return sorted(calls, key=lambda call: -call.at_ms)[:limit]


def _silent_call_lines(home: Home) -> Iterator[bytes]:
    for path in (home.silent_calls + _BEFORE, home.silent_calls):
        try:
            yield from read_regular(path, MAX_CALL_BYTES).splitlines()
        except OSError:
            continue


def _parse_call(line: bytes) -> SilentCall | None:
    """Return the call of a line, None for a line that is half written."""
    try:
        row = light_json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(row, dict) or not isinstance(at_ms := row.get("at"), int) or not 0 < at_ms < 10**15:
        return None
    about, given, lines = (_strings_in(row.get(name)) for name in ("about", "given", "lines"))
    return SilentCall(at_ms, str(row.get("tool")), about, given, lines, str(row.get("session")))


def _strings_in(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def forget_silent_calls(home: Home) -> None:
    """Delete the files of silent calls. Raises StoreError."""
    for path in (home.silent_calls, home.silent_calls + _BEFORE):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"{path} cannot be deleted: {error.strerror}", "delete it") from None
